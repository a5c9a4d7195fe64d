/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * responder.h - the door of responder/: the half of a QP that answers.
 *
 * Flow of a request: execute.c checks and executes it -> recv_queue.c hands
 * out receive WQEs -> translate/ -> memory; respond.c owns the queue of
 * answers (reads, atomics, one ACK or NAK behind them) and sends them in
 * order under transmit flow control.
 */
#ifndef PAVO_RESPONDER_H
#define PAVO_RESPONDER_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include "../half.h"

struct ib_recv_wr;
struct pavo_mmap;
struct pavo_mmap_info;
struct pavo_qp;
struct pavo_rx;

struct pavo_resource;
struct pavo_recv_wqe;

/** Most reads and atomics of a peer that can be unanswered at a time. */
#define PAVO_MAX_RESOURCES 128

/* Bits of half.pending of a responder. */
enum pavo_resp_event {
	PAVO_RESP_SEND, /* answers wait for transmit room */
	PAVO_RESP_FLUSH, /* the QP moved to Error, or was posted to in Error */
};

/**
 * struct pavo_write_addr - WriteAddrTable entry: where the message being
 * received goes on, for packets that carry no address.
 */
struct pavo_write_addr {
	u64 va;
	u32 rkey;
	u32 left;
	u32 total;
};

/**
 * struct pavo_responder - responder half.
 * @rq, @rq_mmap, @wqe_size, @count: receive queue ring
 * @head:      receive WQEs taken (free running)
 * @epsn:      expected PSN
 * @msn:       messages completed
 * @message:   kind of message in progress: 0, PAVO_OPF_SEND or PAVO_OPF_WRITE
 * @nak_sent:  a sequence error NAK went out for @epsn
 * @established: COMM_EST was raised
 * @failing:   a fatal NAK is due; nothing more is executed, and when it is sent
 *             the QP goes to Error with @fatal_event
 * @resources: rd_atomic resources, @res_count = max_dest_rd_atomic of them;
 *             the next new one is @res_head
 * @send_queue, @send_head, @send_tail: indices of those to be answered
 * @ack_due, @ack_syndrome, @ack_psn: ACK or NAK to send behind them
 * @wqe:       private copy of the receive WQE in use
 * @post_lock, @wr_id: posts of kernel consumers
 */
struct pavo_responder {
	struct pavo_half half;
	struct pavo_rq_header *rq;
	struct pavo_mmap *rq_mmap;
	u32 wqe_size;
	u32 count;
	u32 head;
	u32 epsn;
	u32 msn;
	u16 message;
	bool nak_sent;
	bool established;
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
	struct pavo_recv_wqe *wqe;
	spinlock_t post_lock; /* posts of kernel consumers */
	u64 *wr_id;
};

int pavo_responder_init(struct pavo_qp *qp, struct pavo_mmap_info *info);
void pavo_responder_destroy(struct pavo_qp *qp);
void pavo_responder_reset(struct pavo_qp *qp);

/** pavo_responder_ready - QP came to RTR: take rq_psn; may sleep. */
int pavo_responder_ready(struct pavo_qp *qp);

/** pavo_responder_post - ib_post_recv of kernel consumers. */
int pavo_responder_post(struct pavo_qp *qp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

/** pavo_responder_kick - user space posted to a QP in Error: flush it. */
void pavo_responder_kick(struct pavo_qp *qp);

/** pavo_responder_receive - a request packet; softirq; consumes rx->skb. */
void pavo_responder_receive(struct pavo_qp *qp, struct pavo_rx *rx);

/** pavo_responder_run - do what is pending unless somebody else is at it. */
void pavo_responder_run(struct pavo_qp *qp);

/** pavo_responder_flush - the QP is in Error: complete all as flushed. */
void pavo_responder_flush(struct pavo_qp *qp);

#endif /* PAVO_RESPONDER_H */
