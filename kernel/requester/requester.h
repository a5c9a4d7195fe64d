/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * requester.h - the door of requester/: the side of a QP that asks.
 *
 * Flow of a send: doorbell.c takes doorbells -> scheduler.c orders them and
 * follows chains -> parser.c makes a private, checked copy of each WQE ->
 * transmit.c admits, segments, numbers and sends -> multiqueue.c remembers
 * what is outstanding -> response.c acts on responses -> complete.c writes the
 * completions. timers.c brings lost packets back.
 *
 * Everything behind side.lock. See side.h for when an owner enters.
 */
#ifndef PAVO_REQUESTER_H
#define PAVO_REQUESTER_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include "../side.h"
#include "../wire/psn.h"
#include "multiqueue.h"
#include "parser.h"
#include "timer_logic.h"
#include "cwnd.h"

struct ib_send_wr;
struct pavo_qp;
struct pavo_rx;
struct pavo_ucontext;
struct sk_buff;

/* Bits of side.pending of a requester. */
enum pavo_req_event {
	PAVO_REQ_DOORBELL, /* the doorbell FIFO is not empty */
	PAVO_REQ_TIMER, /* a deadline has passed */
	PAVO_REQ_FLUSH, /* the QP moved to Error or SQE */
};

/**
 * struct pavo_tx_cursor - what is sent next.
 * @wqe: free-running number of the WQE
 * @pkt: packet of that WQE
 * @sge, @sge_off: where in its SGL that packet's payload begins
 */
struct pavo_tx_cursor {
	u32 wqe;
	u32 pkt;
	u32 sge;
	u32 sge_off;
};

/**
 * struct pavo_requester - requester side.
 * @sq, @sq_mmap:     send queue ring, shared with the process or private
 * @wqe_size, @count: stride and number of slots
 * @doorbells:  taken but unparsed doorbells, count entries; db_head is moved
 *              by whoever drains the page (under db_lock), db_tail by the side
 * @chain:      doorbell form of the next WQE of a chain; valid if @in_chain
 *              (the indicator, sources.md#engine-2-4-4); @chained counts its
 *              WQEs
 * @wqes:       private copies, count entries of wqe_stride bytes
 * @head:       WQEs parsed (free running)
 * @last_local: the last of them that sends nothing but changes keys
 * @numbered:   WQEs that have PSNs, @tail: oldest not completed
 * @cursor:     next packet to send; behind what was sent when resending
 * @scatter:    next packet of read data that is expected
 * @npsn:       Next PSN: first never sent
 * @upsn:       oldest unacknowledged PSN
 * @sent:       high-water mark: PSN behind the last one ever sent
 * @outstanding: MultiQueue
 * @window:     how much may be in flight
 * @reads_out:  read and atomic requests sent and unanswered
 * @reread:     PSN of the last read request that began inside a chunk, if it
 *              is still UPSN, which it was then; else PAVO_PSN_NONE
 * @unasked:    packets sent since the last AckReq
 * @asked:      end of what was sent when it had to be asked for by sending again
 * @probing:    after a timeout only the oldest packet is sent, until answered
 * @went_back:  the cursor went back for UPSN; once is enough
 * @ready:      sq_psn was taken (RTS reached since RESET)
 * @tell_drained: SQ_DRAINED is owed when nothing is under way any more
 * @again:      a clone of a packet that was sent again. It shares the packet's data until
 *              that has left the queues of this machine; NULL: no such packet
 * @pause:      ns until which the interface is given time; 0: none
 * @post_lock, @wr_id, @posted: posts of kernel consumers
 */
struct pavo_requester {
	struct pavo_side side;
	void *sq;
	struct pavo_mmap *sq_mmap;
	u32 wqe_size;
	u32 count;
	spinlock_t db_lock; /* db_head and the FIFO behind it */
	u64 *doorbells;
	u32 db_head;
	u32 db_tail;
	u64 chain;
	u32 chained;
	bool in_chain;
	void *wqes;
	u32 wqe_stride;
	u32 head;
	u32 last_local;
	u32 numbered;
	u32 tail;
	struct pavo_tx_cursor cursor;
	struct pavo_tx_cursor scatter;
	u32 npsn;
	u32 upsn;
	u32 sent;
	struct pavo_multiqueue outstanding;
	struct pavo_cwnd cwnd;
	u32 reads_out;
	u32 reread;
	u32 unasked;
	u32 asked;
	bool probing;
	bool went_back;
	bool ready;
	bool tell_drained;
	struct sk_buff *again;
	u64 pause;
	struct pavo_timer_state timer;
	struct hrtimer hrtimer;
	spinlock_t post_lock; /* posts of kernel consumers */
	u64 *wr_id;
	u32 posted;
};

/** pavo_requester_init - rings and private copies for @cap; may sleep. */
int pavo_requester_init(struct pavo_qp *qp, struct pavo_mmap_info *info);
void pavo_requester_destroy(struct pavo_qp *qp);

/** pavo_requester_reset - as after creation; QP in RESET, side not entered. */
void pavo_requester_reset(struct pavo_qp *qp);

/** pavo_requester_ready - QP came to RTS: take sq_psn, limits and timers. */
void pavo_requester_ready(struct pavo_qp *qp);

/** pavo_requester_patience - take timeout and retry counts; side locked. */
void pavo_requester_patience(struct pavo_qp *qp);

/**
 * pavo_requester_recover - QP leaves SQE, side locked: what was posted up to
 * now is flushed, whoever posts later finds a working queue.
 */
void pavo_requester_recover(struct pavo_qp *qp);

/**
 * pavo_requester_drain - take all doorbells of a context's page and run the
 * QPs they name. The kick of user space; process context.
 */
void pavo_requester_drain(struct pavo_dev *dev, struct pavo_ucontext *uctx);

/** pavo_requester_post - ib_post_send of kernel consumers. */
int pavo_requester_post(struct pavo_qp *qp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad_wr);

/** pavo_requester_receive - a response packet; softirq; consumes rx->skb. */
void pavo_requester_receive(struct pavo_qp *qp, struct pavo_rx *rx);

/** pavo_requester_run - do what is pending unless another owner is at it. */
void pavo_requester_run(struct pavo_qp *qp);

/**
 * pavo_requester_end - the QP is in Error, and the responder is not entered: complete all
 * as flushed if that was not done. The CPU that saw the error does so, because the owner
 * of a completion queue may poll without end and let no work run.
 */
void pavo_requester_end(struct pavo_qp *qp);

/** pavo_requester_idle - nothing outstanding and nothing to send (SQD). */
bool pavo_requester_idle(struct pavo_qp *qp);

#endif /* PAVO_REQUESTER_H */
