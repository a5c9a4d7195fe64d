/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * responder_private.h - declarations for the files of responder/; no other folder includes it.
 *
 * These functions run with side.lock held, BH disabled, in an RCU read-side
 * section, unless said otherwise.
 */
#ifndef PAVO_RESPONDER_PRIVATE_H
#define PAVO_RESPONDER_PRIVATE_H

#include "memory/memory.h"
#include "memory/payload.h"
#include "net/xmit.h"
#include "qp/qp.h"
#include "qp/comp_cntr.h"
#include "round.h"
#include "responder/read_copy.h"
#include "responder/responder.h"

/* Packets and bytes of responses that one visit sends; each request that arrives causes a visit. */
#define PAVO_RESPOND_PACKETS 64
#define PAVO_RESPOND_BYTES (1024 * 1024)

/**
 * struct pavo_resource - a read or atomic that was accepted, kept so that its response
 * can be retransmitted (IBA 9.7.5.1.2: RDMA read/atomic resources).
 * @first:   its first PSN
 * @npkts:   its PSNs
 * @kind:    enum pavo_kind of the request. The response to an atomic is @orig; that to a read is
 *           memory; that to an atomic write or a flush, a read response without payload
 * @ext:     the response has @request_id as well
 * @queued:  on the send queue
 * @replay:  the response is a retransmission: payload is copied
 * @answered: all of the response was sent once
 * @begun:   a packet of the present response was sent
 * @msn:     MSN of its response
 * @psn:     next PSN of the response
 * @rkey:    R_Key of a read's memory
 * @srqn:    XRC: the memory is of the PD of this SRQ
 * @request_id: of an extended atomic
 * @left:    bytes of the read from @va on that are not sent
 * @va:      address of the next byte
 * @orig:    old value of an atomic's memory
 * @start:   address of a read's first byte
 * @done:    bytes of the read, from there on, that were sent at least once
 * @generation: of these (read_copy.h)
 * @renewed: pavo_read_copy_renew() was called for the present response
 * @copied:  these are in @copy
 * @copy:    memory for a copy; NULL: none was needed
 */
struct pavo_resource {
	u32 first;
	u32 npkts;
	u8 kind;
	bool ext;
	bool queued;
	bool replay;
	bool answered;
	bool begun;
	u32 msn;
	u32 psn;
	u32 rkey;
	u32 srqn;
	u32 request_id;
	u32 left;
	u64 va;
	u64 orig;
	u64 start;
	u32 done;
	u8 generation;
	bool renewed;
	bool copied;
	struct pavo_read_copy *copy;
};

/* recv_queue.c */
struct pavo_rq *pavo_xrc_rq(struct pavo_qp *qp, u32 srqn);
enum pavo_status pavo_rq_take(struct pavo_qp *qp);
enum pavo_status pavo_rq_scatter(struct pavo_qp *qp, struct sk_buff *skb,
				 u32 from, u32 len);
enum pavo_status pavo_rq_write(struct pavo_qp *qp, const void *data, u32 len);
void pavo_rq_complete(struct pavo_qp *qp, struct pavo_cqe *cqe, bool solicited);
void pavo_rq_fail(struct pavo_qp *qp, enum pavo_status status);
void pavo_rq_fail_key(struct pavo_qp *qp, enum pavo_status status);
void pavo_rq_rewind(struct pavo_qp *qp);
unsigned int pavo_rq_flush(struct pavo_qp *qp, unsigned int budget);

/* execute.c */
typedef enum pavo_status pavo_request_handler(struct pavo_qp *qp,
					      struct pavo_rx *rx);

/* by enum pavo_kind */
extern pavo_request_handler *const pavo_request_handlers[];

enum pavo_status pavo_execute(struct pavo_qp *qp, struct pavo_rx *rx);
bool pavo_fits_message(struct pavo_qp *qp, const struct pavo_pkt *pkt);
void pavo_complete_recv(struct pavo_qp *qp, const struct pavo_pkt *pkt, u8 op,
			u32 len);
void pavo_request_done(struct pavo_qp *qp, const struct pavo_pkt *pkt);
void pavo_request_answer(struct pavo_qp *qp, const struct pavo_pkt *pkt,
			 struct pavo_resource *res, u32 npkts);

/*
 * execute_*.c: a handler for each of PAVO_REQUEST_KINDS, called with a packet that fits the message
 * in progress. They continue a deferred packet at side.stage.
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: the packet is deferred; PAVO_ST_NOT_READY: no receive WQE;
 * or why the peer's request failed.
 */
#define PAVO_HANDLER(NAME, name) pavo_request_handler pavo_execute_##name;
PAVO_REQUEST_KINDS(PAVO_HANDLER)
#undef PAVO_HANDLER

/* unreliable.c, datagram.c */
enum pavo_status pavo_execute_unreliable(struct pavo_qp *qp,
					 struct pavo_rx *rx);
enum pavo_status pavo_datagram(struct pavo_qp *qp, struct pavo_rx *rx);

/* respond.c */
bool pavo_resource_is_free(struct pavo_qp *qp);
struct pavo_resource *pavo_resource_new(struct pavo_qp *qp,
					const struct pavo_pkt *pkt);
unsigned int pavo_read_get_slot(const struct pavo_qp *qp,
				const struct pavo_resource *res);
int pavo_read_find_srq(struct pavo_qp *qp, const struct pavo_resource *res);
enum pavo_status pavo_read_begin(struct pavo_qp *qp, struct pavo_resource *res,
				 const struct pavo_pkt *pkt);
struct pavo_resource *pavo_resource_find(struct pavo_qp *qp, u32 psn);
void pavo_resource_send(struct pavo_qp *qp, struct pavo_resource *res);
void pavo_respond_fatal(struct pavo_qp *qp, u32 psn, u8 syndrome,
			enum ib_event_type event);
void pavo_respond_init(struct pavo_qp *qp);
bool pavo_respond(struct pavo_qp *qp, struct pavo_budget *slice);
void pavo_respond_now(struct pavo_qp *qp);

#endif /* PAVO_RESPONDER_PRIVATE_H */
