/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * responder_side.h - state of the responder side (responder/ is the only writer).
 */
#ifndef PAVO_RESPONDER_SIDE_H
#define PAVO_RESPONDER_SIDE_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include "drr.h"
#include "qp/side.h"
#include "responder/expected_psn.h"
#include "rings/rq.h"

struct pavo_resource;

/* Bits of side.pending of a responder. */
enum pavo_resp_event {
	PAVO_RESP_SEND, /* responses that waited may be sent */
	PAVO_RESP_FLUSH, /* the QP moved to Error, or was posted to in Error */
};

/**
 * struct pavo_write_addr - WriteAddrTable entry (sources.md#engine-4-4-3): the address of the next
 * packet of a write, whose header has none.
 * @va:    address
 * @rkey:  R_Key of the write
 * @left:  bytes that are still to arrive
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
 * @rq:        queue of receive WQEs: @own, or an SRQ's. XRC targets: that of the current packet,
 *             valid in the RCU section that found it; NULL: no such SRQ
 * @srqn:      XRC targets: SRQN of the message in progress
 * @expected:  the expected PSN, and the ACK or NAK that is to be sent after @send_queue
 * @msn:       messages completed
 * @message:   kind of message in progress: 0, PAVO_KIND_SEND or PAVO_KIND_WRITE
 * @established: COMM_EST was raised
 * @last_wqe_notified: LAST_WQE_REACHED was raised
 * @failing:   a fatal NAK is to be sent. No request is executed any more, and the QP moves to Error
 *             when the NAK has been sent
 * @fatal_event: event to raise then
 * @write:     address of a write in progress
 * @resources: rd_atomic resources
 * @res_count: number of @resources: max_dest_rd_atomic, at least 1
 * @res_head:  index of the next new resource
 * @copy_reads: number of reads whose responses are still to be copied (responder/read_copy.h)
 * @generation: of data that is read now, likewise
 * @send_queue: indices of resources whose responses are to be sent
 * @send_head: first entry (free running)
 * @send_tail: behind the last entry (free running)
 * @drr:       DRR queue of the responses
 * @paused:    the interface refused a response; send none until @pause fires
 * @pause:     timer of that pause
 * @wqe:       private copy of the receive WQE in use
 */
struct pavo_responder {
	struct pavo_side side;
	struct pavo_rq own;
	struct pavo_rq *rq;
	u32 srqn;
	struct pavo_expected expected;
	u32 msn;
	u8 message;
	bool established;
	bool last_wqe_notified;
	bool failing;
	enum ib_event_type fatal_event;
	struct pavo_write_addr write;
	struct pavo_resource *resources;
	u32 res_count;
	u32 res_head;
	u32 copy_reads;
	u8 generation;
	u8 send_queue[PAVO_MAX_RD_ATOMIC];
	u8 send_head;
	u8 send_tail;
	struct pavo_drr_queue drr;
	bool paused;
	struct hrtimer pause;
	struct pavo_recv_wqe *wqe;
};

#endif /* PAVO_RESPONDER_SIDE_H */
