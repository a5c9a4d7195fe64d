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
#include "qp/side.h"
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
