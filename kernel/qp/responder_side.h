/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * responder_side.h - what the responder knows of its peer (responder/ owns all of it).
 */
#ifndef PAVO_RESPONDER_SIDE_H
#define PAVO_RESPONDER_SIDE_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include "qp/side.h"
#include "rings/rq.h"

struct pavo_resource;

/* Bits of side.pending of a responder. */
enum pavo_resp_event {
	PAVO_RESP_SEND, /* what answers waited for may be there */
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
 * @far_psns:  requests with a PSN that no loss explains (pavo_psn_far())
 * @msn:       messages completed
 * @dropped:   behind the furthest request that was dropped since a NAK is due
 * @message:   kind of message in progress: 0, PAVO_KIND_SEND or PAVO_KIND_WRITE
 * @nak_sent:  a sequence error NAK, or an RNR NAK, is due or went out for @epsn
 * @established: COMM_EST was raised
 * @last_wqe_notified: LAST_WQE_REACHED was raised
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
	u32 far_psns;
	u32 msn;
	u32 dropped;
	u8 message;
	bool nak_sent;
	bool established;
	bool last_wqe_notified;
	bool failing;
	enum ib_event_type fatal_event;
	struct pavo_write_addr write;
	struct pavo_resource *resources;
	u32 res_count;
	u32 res_head;
	u8 send_queue[PAVO_MAX_RD_ATOMIC];
	u8 send_head;
	u8 send_tail;
	bool ack_due;
	u8 ack_syndrome;
	u32 ack_psn;
	bool paused;
	struct hrtimer pause;
	struct pavo_recv_wqe *wqe;
};

#endif /* PAVO_RESPONDER_SIDE_H */
