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

#define PAVO_MAX_RESOURCES PAVO_MAX_RD_ATOMIC

/* Bits of side.pending of a responder. */
enum pavo_resp_event {
	PAVO_RESP_SEND, /* what answers waited for may be there */
	PAVO_RESP_FLUSH, /* the QP moved to Error, or was posted to in Error */
};

/**
 * struct pavo_write_addr - WriteAddrTable entry (sources.md#engine-4-4-3): where the
 * message being received goes on, for packets that carry no address.
 */
struct pavo_write_addr {
	u64 va;
	u32 rkey;
	u32 left;
	u32 total;
};

/**
 * struct pavo_responder - responder side.
 * @own:       the QP's receive queue; without a ring if it has none
 * @rq:        where receive WQEs are taken from: @own, or an SRQ's. XRC
 *             targets: that of the packet at hand, with number @srqn, valid no
 *             longer than the RCU section it was found in; NULL: there is none
 * @epsn:      expected PSN
 * @msn:       messages completed
 * @message:   kind of message in progress: 0, PAVO_OPF_SEND or PAVO_OPF_WRITE
 * @nak_sent:  a sequence error NAK went out for @epsn
 * @established: COMM_EST was raised
 * @last_wqe_told: LAST_WQE_REACHED was raised
 * @failing:   a fatal NAK is due; nothing more is executed, and when it is sent
 *             the QP goes to Error with @fatal_event
 * @resources: rd_atomic resources, @res_count = max_dest_rd_atomic of them;
 *             the next new one is @res_head
 * @send_queue, @send_head, @send_tail: indices of those to be answered
 * @ack_due, @ack_syndrome, @ack_psn: ACK or NAK to send behind them
 * @paused:    the interface refused an answer; none is tried until @pause fires
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

#endif /* PAVO_RESPONDER_SIDE_H */
