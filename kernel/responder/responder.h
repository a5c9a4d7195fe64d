/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * responder.h - interface of responder/: the side of a QP that executes requests.
 *
 * Flow of a request: execute.c checks and executes it, with receive WQEs of recv_queue.c and
 * memory of memory/. respond.c owns the queue of
 * responses (to reads and atomics, one ACK or NAK behind them) and sends them in
 * order, with pauses when the interface refuses a packet.
 */
#ifndef PAVO_RESPONDER_H
#define PAVO_RESPONDER_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include "qp/side.h"

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

int pavo_responder_init(struct pavo_qp *qp, struct pavo_mmap_info *info);
void pavo_responder_destroy(struct pavo_qp *qp);
void pavo_responder_reset(struct pavo_qp *qp);

/**
 * pavo_responder_ready - the QP enters RTR: take rq_psn, and call pavo_responder_resize().
 * @qp: the QP
 *
 * Return: as pavo_responder_resize().
 */
int pavo_responder_ready(struct pavo_qp *qp);

/**
 * pavo_responder_resize - allocate resources for max_dest_rd_atomic reads and atomics.
 * @qp: the QP
 *
 * Context: process, sleeps.
 * Return: 0; -ENOMEM; -EBUSY: operations of the peer were under way for a second.
 */
int pavo_responder_resize(struct pavo_qp *qp);

/** pavo_responder_post - ib_post_recv of kernel consumers. */
int pavo_responder_post(struct pavo_qp *qp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

/** pavo_responder_kick - user space posted to a QP in Error: flush it. */
void pavo_responder_kick(struct pavo_qp *qp);

/** pavo_responder_receive - receive a request; consumes @rx->skb. Context: softirq. */
void pavo_responder_receive(struct pavo_qp *qp, struct pavo_rx *rx);

/** pavo_responder_run - do pending work, unless the side has an owner. */
void pavo_responder_run(struct pavo_qp *qp);

/** pavo_responder_end - as pavo_requester_end(). */
void pavo_responder_end(struct pavo_qp *qp);

/** pavo_responder_flush - the QP is in Error: complete all receives as flushed. */
void pavo_responder_flush(struct pavo_qp *qp);

#endif /* PAVO_RESPONDER_H */
