/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * requester_side.h - what the requester has sent and is owed (requester/ owns all of it).
 */
#ifndef PAVO_REQUESTER_SIDE_H
#define PAVO_REQUESTER_SIDE_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include "qp/side.h"
#include "requester/cwnd.h"
#include "requester/multiqueue.h"
#include "requester/parser.h"
#include "requester/timer_logic.h"
#include "wire/psn.h"

struct pavo_mmap;
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

#endif /* PAVO_REQUESTER_SIDE_H */
