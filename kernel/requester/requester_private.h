/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * requester_private.h - declarations for the files of requester/; no other folder includes it.
 *
 * These functions run with side.lock held, BH disabled, in an RCU read-side
 * section, unless said otherwise.
 */
#ifndef PAVO_REQUESTER_PRIVATE_H
#define PAVO_REQUESTER_PRIVATE_H

#include "memory/memory.h"
#include "memory/payload.h"
#include "net/xmit.h"
#include "qp/qp.h"
#include "round.h"
#include "requester/requester.h"

/* Position in a scatter/gather list. */
struct pavo_sgl_pos {
	u32 sge;
	u32 off;
};

static inline struct pavo_swqe *pavo_get_swqe(struct pavo_requester *req, u32 n)
{
	return req->wqes + (size_t)(n & (req->count - 1)) * req->wqe_stride;
}

/* scheduler.c */
unsigned int pavo_schedule(struct pavo_qp *qp, unsigned int budget);

/* sgl.c */
void pavo_sgl_advance(const struct pavo_swqe *wqe, struct pavo_sgl_pos *pos,
		      u32 len);
enum pavo_status pavo_sgl_check(struct pavo_qp *qp, struct pavo_swqe *wqe);
enum pavo_status pavo_sgl_claim(struct pavo_qp *qp, struct pavo_swqe *wqe);
void pavo_sgl_release(struct pavo_qp *qp, const struct pavo_swqe *wqe);
enum pavo_status pavo_sgl_gather(struct pavo_qp *qp,
				 const struct pavo_swqe *wqe,
				 struct pavo_sgl_pos *pos, u32 len,
				 struct pavo_xmit *x);
enum pavo_status pavo_sgl_scatter(struct pavo_qp *qp,
				  const struct pavo_swqe *wqe,
				  struct pavo_sgl_pos *pos, struct sk_buff *skb,
				  u32 from, u32 len);
enum pavo_status pavo_sgl_store(struct pavo_qp *qp, const struct pavo_swqe *wqe,
				const void *data, u32 len);

/* transmit.c */
unsigned int pavo_transmit(struct pavo_qp *qp, unsigned int budget);
void pavo_transmit_seek(struct pavo_qp *qp, u32 psn);

/* drr_queue.c */

/* pavo_qp_drr_init - initialize the requester's DRR queue. */
void pavo_qp_drr_init(struct pavo_qp *qp);
/* pavo_qp_drr_settle - give back the credits of requests that were answered. */
void pavo_qp_drr_settle(struct pavo_qp *qp);

/* local.c */
enum pavo_status pavo_local_execute(struct pavo_qp *qp, struct pavo_swqe *wqe);
enum pavo_status pavo_local_end_read(struct pavo_qp *qp, struct pavo_swqe *wqe);

/* packet.c */
enum pavo_status pavo_request_send(struct pavo_qp *qp, struct pavo_swqe *wqe,
				   struct pavo_xmit *x, u32 pkt,
				   struct pavo_sgl_pos *pos, u32 npkts,
				   bool ack_req);
enum pavo_status pavo_datagram_send(struct pavo_qp *qp, struct pavo_swqe *wqe);

/* scoreboard.c */

/* pavo_board_create - a scoreboard of the least size. Return: 0 or -ENOMEM. Sleeps. */
int pavo_board_create(struct pavo_scoreboard **made);
/* pavo_board_destroy - free the scoreboard of the QP, which is not used any more. */
void pavo_board_destroy(struct pavo_qp *qp);
/*
 * pavo_board_double - let the scoreboard of the QP have twice as many PSNs.
 *
 * Return: 0; -EDQUOT: it has as many as it may, or those of the user or the adapter have; -ENOMEM.
 */
int pavo_board_double(struct pavo_qp *qp);

/* response.c */
enum pavo_status pavo_requester_handle(struct pavo_qp *qp, struct pavo_rx *rx);
void pavo_requester_timeout(struct pavo_qp *qp);
void pavo_requester_repair(struct pavo_qp *qp);

/* The time in ns of the visit, for many packets that are sent at once. */
static inline u64 pavo_requester_get_time(struct pavo_requester *req)
{
	if (!req->time)
		req->time = ktime_get_ns();
	return req->time;
}

/* complete.c */
void pavo_complete_acked(struct pavo_qp *qp);
void pavo_complete_bad(struct pavo_qp *qp);
void pavo_complete_fatal(struct pavo_qp *qp, u32 psn, enum pavo_status status);
unsigned int pavo_complete_flush(struct pavo_qp *qp, unsigned int budget);

/* timers.c */
void pavo_timers_init(struct pavo_qp *qp);
void pavo_timers_arm(struct pavo_qp *qp);
void pavo_timers_check(struct pavo_qp *qp);

#endif /* PAVO_REQUESTER_PRIVATE_H */
