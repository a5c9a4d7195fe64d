/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * responder_private.h - what the files of responder/ share; no other folder includes it.
 *
 * These functions run with side.lock held, BH disabled, in an RCU read-side
 * section, unless said otherwise.
 */
#ifndef PAVO_RESPONDER_PRIVATE_H
#define PAVO_RESPONDER_PRIVATE_H

#include "../device.h"

/* Packets of answers that one visit sends, and receives that it flushes. */
#define PAVO_RESPOND_BUDGET 64
#define PAVO_FLUSH_BUDGET 512
/* Payload of answers up to this is copied; beyond, pages are attached. */
#define PAVO_RESPOND_COPYBREAK 256

/**
 * struct pavo_resource - a read or atomic that was accepted, kept so that it
 * can be answered again (IBA 9.7.5.1.2: RDMA read/atomic resources).
 * @first:   its first PSN
 * @npkts:   number of its PSNs
 * @atomic:  the answer is @orig, else memory
 * @ext:     the answer has @request_id as well
 * @store:   an atomic write: the answer is an empty read response
 * @queued:  on the send queue
 * @replay:  answered again: payload is copied
 * @answered: all of the answer was sent once
 * @begun:   a packet of the present answer was sent
 * @msn:     MSN of its answer
 * @psn:     next PSN to answer
 * @rkey:    R_Key of a read's memory
 * @srqn:    XRC: the memory is of the PD of this SRQ
 * @request_id: of an extended atomic
 * @left:    bytes of the read from @va on that are not sent
 * @va:      address of the next byte
 * @orig:    old value of an atomic's memory
 */
struct pavo_resource {
	u32 first;
	u32 npkts;
	bool atomic;
	bool ext;
	bool store;
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
};

/**
 * struct pavo_recv_wqe - private copy of the receive WQE in use.
 * @active:  taken and not completed
 * @number:  free-running number
 * @wr_id:   of an SRQ's WQE
 * @length:  bytes that fit in its entries
 * @done:    bytes written so far
 * @num_sge: number of entries
 * @i:       entry of the next byte
 * @off:     its offset in that entry
 * @sge:     the entries
 */
struct pavo_recv_wqe {
	bool active;
	u32 number;
	u64 wr_id;
	u32 length;
	u32 done;
	u32 num_sge;
	u32 i;
	u32 off;
	struct pavo_data_seg sge[PAVO_MAX_SGE];
};

/*
 * Ask for missing pages that the packet in hand needs, and handle the
 * packet again when they are there. False: the pager cannot bring them in.
 */
static inline bool pavo_fault_hold(struct pavo_qp *qp,
				   const struct pavo_region *region, u64 va,
				   u64 len, bool write)
{
	struct pavo_side *side = &qp->resp.side;

	const bool hold = pavo_fault_ask(qp, side, region, va, len, write);

	WRITE_ONCE(side->hold, hold);
	return hold;
}

/* rq.c; its other functions are in responder.h */
enum pavo_rq_status {
	PAVO_RQ_OK,
	PAVO_RQ_EMPTY, /* "Invalid WQE" (sources.md#engine-7-1-6): RNR */
	PAVO_RQ_BAD, /* an impossible index or WQE */
};

enum pavo_rq_status pavo_rq_pop(struct pavo_rq *rq, struct pavo_recv_wqe *wqe);

/* recv_queue.c */
struct pavo_rq *pavo_xrc_rq(struct pavo_qp *qp, u32 srqn);
enum pavo_rq_status pavo_rq_take(struct pavo_qp *qp);
enum pavo_vendor_err pavo_rq_scatter(struct pavo_qp *qp, struct sk_buff *skb,
				     u32 from, u32 len);
enum pavo_vendor_err pavo_rq_write(struct pavo_qp *qp, const void *data,
				   u32 len);
void pavo_rq_complete(struct pavo_qp *qp, struct pavo_cqe *cqe, bool solicited);
void pavo_rq_fail(struct pavo_qp *qp, enum ib_wc_status status,
		  enum pavo_vendor_err vendor);
void pavo_rq_rewind(struct pavo_qp *qp);
unsigned int pavo_rq_flush(struct pavo_qp *qp, unsigned int budget);

/* execute.c */
void pavo_execute(struct pavo_qp *qp, struct pavo_rx *rx);
void pavo_execute_send(struct pavo_qp *qp, struct pavo_rx *rx);
void pavo_execute_write(struct pavo_qp *qp, struct pavo_rx *rx);
bool pavo_fits_message(struct pavo_qp *qp, const struct pavo_pkt *pkt);

/* unreliable.c, datagram.c */
void pavo_execute_unreliable(struct pavo_qp *qp, struct pavo_rx *rx);
void pavo_unreliable_refuse(struct pavo_qp *qp, u8 syndrome);
void pavo_message_drop(struct pavo_qp *qp);
void pavo_datagram(struct pavo_qp *qp, struct pavo_rx *rx);

/* respond.c */
struct pavo_resource *pavo_resource_new(struct pavo_qp *qp);
enum pavo_xlate pavo_read_begin(struct pavo_qp *qp, struct pavo_resource *res,
				const struct pavo_pkt *pkt);
struct pavo_resource *pavo_resource_find(struct pavo_qp *qp, u32 psn);
void pavo_resource_send(struct pavo_qp *qp, struct pavo_resource *res);
void pavo_respond_ack(struct pavo_qp *qp, u32 psn, u8 syndrome);
void pavo_respond_fatal(struct pavo_qp *qp, u32 psn, u8 syndrome,
			enum ib_event_type event);
void pavo_respond_init(struct pavo_qp *qp);
bool pavo_respond(struct pavo_qp *qp, unsigned int budget);

#endif /* PAVO_RESPONDER_PRIVATE_H */
