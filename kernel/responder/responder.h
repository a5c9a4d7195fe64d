/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * responder.h - the door of responder/: the side of a QP that answers.
 *
 * Flow of a request: execute.c checks and executes it, with receive WQEs of recv_queue.c and
 * memory of translate/. respond.c owns the queue of
 * answers (reads, atomics, one ACK or NAK behind them) and sends them in
 * order, with pauses when the interface has no room.
 */
#ifndef PAVO_RESPONDER_H
#define PAVO_RESPONDER_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include "../side.h"

struct ib_recv_wr;
struct pavo_cq;
struct pavo_mmap;
struct pavo_mmap_info;
struct pavo_pd;
struct pavo_qp;
struct pavo_rx;
struct pavo_srq;
struct pavo_ucontext;

struct pavo_resource;
struct pavo_recv_wqe;

/** Most reads and atomics of a peer that can be unanswered at a time. */
#define PAVO_MAX_RESOURCES 128

/**
 * struct pavo_rq - a ring of receive WQEs: one QP's, or shared by QPs (SRQ).
 * @ring:      header and WQE slots, shared with the process or private to the kernel
 * @mmap:      memory of @ring
 * @wqe_size:  stride of WQE slots
 * @count:     number of WQE slots
 * @max_sge:   entries of a WQE at most
 * @head:      WQEs taken (free running)
 * @pd:        the WQEs name memory of this PD
 * @srq:       the SRQ; NULL: a QP's own ring, under the lock of its side
 * @cq:        XRC: WQEs complete here; NULL: in the QP's receive CQ
 * @lock:      SRQ: protects @head, limit and failure
 * @post_lock: protects posts of kernel consumers
 * @wr_id:     of kernel consumers, by WQE slot
 */
struct pavo_rq {
	struct pavo_rq_header *ring;
	struct pavo_mmap *mmap;
	u32 wqe_size;
	u32 count;
	u32 max_sge;
	u32 head;
	struct pavo_pd *pd;
	struct pavo_srq *srq;
	struct pavo_cq *cq;
	spinlock_t lock; /* SRQ: head, limit, failed; taken in a side, leaf */
	spinlock_t post_lock; /* posts of kernel consumers */
	u64 *wr_id;
};

/* Bits of side.pending of a responder. */
enum pavo_resp_event {
	PAVO_RESP_SEND, /* a wait of answers may be over */
	PAVO_RESP_FLUSH, /* the QP moved to Error, or was posted to in Error */
};

/**
 * struct pavo_write_addr - WriteAddrTable entry (sources.md#engine-4-4-3): the place of the
 * next packet of a write, which carries no address.
 * @va:    address
 * @rkey:  R_Key of the write
 * @left:  bytes to come
 * @total: bytes of the write
 */
struct pavo_write_addr {
	u64 va;
	u32 rkey;
	u32 left;
	u32 total;
};

/**
 * struct pavo_responder - responder side.
 * @side:      lock, pending bits and backlog
 * @own:       the QP's receive queue; without a ring if it has none
 * @rq:        receive WQEs are taken from here: @own, or an SRQ's. XRC
 *             targets: that of the packet at hand, valid in the RCU section
 *             that found it; NULL: no such SRQ
 * @srqn:      XRC targets: number of the SRQ of the message in progress
 * @epsn:      expected PSN
 * @msn:       messages completed
 * @message:   kind of message in progress: 0, PAVO_OPF_SEND or PAVO_OPF_WRITE
 * @nak_sent:  a sequence error NAK went out for @epsn
 * @established: COMM_EST was raised
 * @last_wqe_told: LAST_WQE_REACHED was raised
 * @failing:   a fatal NAK is due. No request is executed any more, and when the NAK
 *             is sent the QP goes to Error
 * @fatal_event: event to raise then
 * @write:     place of a write in progress
 * @resources: rd_atomic resources
 * @res_count: number of @resources: max_dest_rd_atomic, at least 1
 * @res_head:  index of the next new resource
 * @send_queue: indices of resources to be answered
 * @send_head: first entry (free running)
 * @send_tail: behind the last entry (free running)
 * @ack_due:   an ACK or NAK is to be sent behind them
 * @ack_syndrome: its syndrome
 * @ack_psn:   its PSN
 * @paused:    the interface refused an answer; send none until @pause fires
 * @pause:     timer of that pause
 * @wqe:       private copy of the receive WQE in use
 */
struct pavo_responder {
	struct pavo_side side;
	struct pavo_rq own;
	struct pavo_rq *rq;
	u32 srqn;
	u32 epsn;
	u32 msn;
	u16 message;
	bool nak_sent;
	bool established;
	bool last_wqe_told;
	bool failing;
	enum ib_event_type fatal_event;
	struct pavo_write_addr write;
	struct pavo_resource *resources;
	u32 res_count;
	u32 res_head;
	u8 send_queue[PAVO_MAX_RESOURCES];
	u8 send_head;
	u8 send_tail;
	bool ack_due;
	u8 ack_syndrome;
	u32 ack_psn;
	bool paused;
	struct hrtimer pause;
	struct pavo_recv_wqe *wqe;
};

/** pavo_rq_init - make a ring of at least @max_wr WQE slots; the rest of @rq is zero. */
int pavo_rq_init(struct pavo_rq *rq, struct pavo_ucontext *uctx, u32 max_wr,
		 u32 max_sge, struct pavo_mmap_info *info);
void pavo_rq_destroy(struct pavo_rq *rq);
void pavo_rq_reset(struct pavo_rq *rq);

/** pavo_rq_post - write work requests of kernel consumers to the ring. */
int pavo_rq_post(struct pavo_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr);

int pavo_responder_init(struct pavo_qp *qp, struct pavo_mmap_info *info);
void pavo_responder_destroy(struct pavo_qp *qp);
void pavo_responder_reset(struct pavo_qp *qp);

/** pavo_responder_ready - the QP enters RTR: take rq_psn, and pavo_responder_resize(). */
int pavo_responder_ready(struct pavo_qp *qp);

/**
 * pavo_responder_resize - make room for max_dest_rd_atomic reads and atomics. Sleeps.
 * @qp: the QP
 *
 * Return: 0; -ENOMEM; -EBUSY: operations of the peer were under way for a second.
 */
int pavo_responder_resize(struct pavo_qp *qp);

/** pavo_responder_post - ib_post_recv of kernel consumers. */
int pavo_responder_post(struct pavo_qp *qp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

/** pavo_responder_kick - user space posted to a QP in Error: flush it. */
void pavo_responder_kick(struct pavo_qp *qp);

/** pavo_responder_receive - receive a request; softirq; consumes @rx->skb. */
void pavo_responder_receive(struct pavo_qp *qp, struct pavo_rx *rx);

/** pavo_responder_run - do pending work, unless the side has an owner. */
void pavo_responder_run(struct pavo_qp *qp);

/** pavo_responder_end - as pavo_requester_end(). */
void pavo_responder_end(struct pavo_qp *qp);

/** pavo_responder_flush - the QP is in Error: complete all receives as flushed. */
void pavo_responder_flush(struct pavo_qp *qp);

#endif /* PAVO_RESPONDER_H */
