/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * requester_side.h - state of the requester side (requester/ is the only writer).
 */
#ifndef PAVO_REQUESTER_SIDE_H
#define PAVO_REQUESTER_SIDE_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include "qp/side.h"
#include "requester/parser.h"
#include "requester/recovery.h"
#include "drr.h"

struct pavo_mmap;
struct sk_buff;

/* Bits of side.pending of a requester. */
enum pavo_req_event {
	PAVO_REQ_DOORBELL, /* the doorbell FIFO is not empty */
	PAVO_REQ_TIMER, /* a timer has expired */
	PAVO_REQ_FLUSH, /* the QP moved to Error or SQE */
};

/**
 * struct pavo_tx_cursor - position of a packet in the send queue.
 * @wqe: number of the WQE (free running)
 * @pkt: index of the packet in that WQE
 * @sge: entry of its SGL in which the packet's payload begins
 * @sge_off: offset in that entry, bytes
 */
struct pavo_tx_cursor {
	u32 wqe;
	u32 pkt;
	u32 sge;
	u32 sge_off;
};

/**
 * struct pavo_requester - requester side.
 * @side:       lock, pending bits and backlog
 * @sq:         send queue ring, shared with the process or private
 * @sq_mmap:    its memory
 * @wqe_size:   stride of WQE slots in @sq
 * @count:      number of WQE slots
 * @db_lock:    protects @db_head and the doorbells behind it
 * @doorbells:  FIFO of doorbells that are not parsed yet, @count entries
 * @db_head:    doorbells queued (free running), under @db_lock (kernel consumers: @post_lock)
 * @db_tail:    doorbells dequeued (free running), by the owner
 * @chain:      doorbell form of the next WQE of a chain; valid if @in_chain
 * @chained:    number of WQEs of the chain so far
 * @in_chain:   a chain is being followed (the indicator, sources.md#engine-2-4-4)
 * @wqes:       private copies of WQEs, @count entries
 * @wqe_stride: bytes of an entry
 * @head:       WQEs parsed (free running)
 * @last_local: number of the last parsed WQE that changes keys and sends no packet
 * @numbered:   WQEs that have PSNs (free running)
 * @tail:       oldest WQE that is not completed (free running)
 * @cursor:     next packet to send: the one of PSN @recovery.next
 * @scatter:    next packet of read data that is expected
 * @recovery:   PSNs, what is outstanding, and the timers
 * @messages:   entries of its MultiQueue, 2 * @count
 * @board:      its scoreboard; NULL: the QP offers no SACKs
 * @time:       the time in ns, read once in a visit (pavo_requester_get_time()); 0: not yet
 * @ready:      @recovery begins with sq_psn (RTS reached since RESET)
 * @far:        a response had an implausible PSN since then, so none is held (out_of_order.h)
 * @notify_drained: raise SQ_DRAINED when no request is outstanding
 * @pause:      time in ns until which no packet is sent, after the interface refused one; 0: none
 * @drr:        its DRR queue and credits (requester/drr_queue.c)
 * @departure:  when the packet behind those that were sent last may leave, ns (pacing.h)
 * @hrtimer:    fires at the deadlines of the timers and at the end of @pause
 * @post_lock:  protects posts of kernel consumers
 * @wr_id:      of kernel consumers, by WQE slot
 * @posted:     WQEs that a kernel consumer has posted (free running)
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
	struct pavo_recovery recovery;
	struct pavo_mq_entry *messages;
	struct pavo_scoreboard *board;
	u64 time;
	bool ready;
	bool far;
	bool notify_drained;
	u64 pause;
	u64 departure;
	struct pavo_drr_queue drr;
	struct hrtimer hrtimer;
	spinlock_t post_lock; /* posts of kernel consumers */
	u64 *wr_id;
	u32 posted;
};

#endif /* PAVO_REQUESTER_SIDE_H */
