/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * requester.h - the door of requester/: the side of a QP that asks.
 *
 * Flow of a send: doorbell.c takes doorbells -> scheduler.c orders them,
 * follows chains and copies each WQE -> parser.c checks the copy ->
 * transmit.c numbers, admits and sends -> multiqueue.c remembers outstanding
 * messages -> response.c acts on responses -> complete.c writes the
 * completions. timers.c has lost packets sent again.
 *
 * side.lock protects the fields, with exceptions named below. See side.h for owners.
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
struct pavo_dev;
struct pavo_qp;
struct pavo_rx;
struct pavo_ucontext;
struct sk_buff;

/** pavo_requester_init - allocate rings and private copies for @qp->cap; may sleep. */
int pavo_requester_init(struct pavo_qp *qp, struct pavo_mmap_info *info);
void pavo_requester_destroy(struct pavo_qp *qp);

/** pavo_requester_reset - set the side back to creation; QP in RESET, no owner. */
void pavo_requester_reset(struct pavo_qp *qp);

/** pavo_requester_ready - the QP enters RTS: take sq_psn, timeout and retry counts. */
void pavo_requester_ready(struct pavo_qp *qp);

/** pavo_requester_set_timeouts - take timeout and retry counts; side locked. */
void pavo_requester_set_timeouts(struct pavo_qp *qp);

/**
 * pavo_requester_recover - the QP leaves SQE: flush all WQEs that were posted up to
 * now. The side is locked.
 * @qp: the QP
 */
void pavo_requester_recover(struct pavo_qp *qp);

/** pavo_requester_has_doorbells - are there doorbells that were not taken from the page? */
bool pavo_requester_has_doorbells(const struct pavo_ucontext *uctx);

/**
 * pavo_requester_drain - take all doorbells of a ucontext's page and run the
 * QPs that they name. For a kick, and for a worker; process context.
 * @dev:  the adapter
 * @uctx: the ucontext
 */
void pavo_requester_drain(struct pavo_dev *dev, struct pavo_ucontext *uctx);

/** pavo_requester_takes - would a doorbell of @uctx be taken? If not, that is counted. */
bool pavo_requester_takes(struct pavo_dev *dev, struct pavo_ucontext *uctx,
			  u64 doorbell);

/**
 * pavo_requester_ring - take all doorbells of a ucontext's page, and one that came by a call.
 * @dev:      the adapter
 * @uctx:     the ucontext
 * @doorbell: behind those of the page, as the process wrote its WQEs after theirs
 *
 * Context: process.
 */
void pavo_requester_ring(struct pavo_dev *dev, struct pavo_ucontext *uctx,
			 u64 doorbell);

/** pavo_qp_drr_begin - the work of @qp runs: if it was called, its turn begins. */
void pavo_qp_drr_begin(struct pavo_qp *qp);

/**
 * pavo_qp_drr_changed - run queue pairs that waited by the policy of before. Process context.
 * @dev: the adapter, whose turns were changed
 */
void pavo_qp_drr_changed(struct pavo_dev *dev);

/** pavo_requester_post - ib_post_send of kernel consumers. */
int pavo_requester_post(struct pavo_qp *qp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad_wr);

/** pavo_requester_receive - receive a response; softirq; consumes @rx->skb. */
void pavo_requester_receive(struct pavo_qp *qp, struct pavo_rx *rx);

/** pavo_requester_run - do pending work, unless the side has an owner. */
void pavo_requester_run(struct pavo_qp *qp);

/**
 * pavo_requester_end - the responder's owner has seen the QP in Error and let go: complete
 * all WQEs as flushed, if that is pending. The CPU that saw the error does so, because a
 * consumer may poll its completion queue without end and let no work run.
 * @qp: the QP
 */
void pavo_requester_end(struct pavo_qp *qp);

/** pavo_requester_idle - are all numbered WQEs completed (SQD)? */
bool pavo_requester_idle(struct pavo_qp *qp);

#endif /* PAVO_REQUESTER_H */
