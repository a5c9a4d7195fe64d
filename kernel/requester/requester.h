/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * requester.h - interface of requester/: the side of a QP that sends requests.
 *
 * Flow of a send: doorbell.c takes doorbells -> scheduler.c orders them,
 * follows chains and copies each WQE -> parser.c checks the copy ->
 * transmit.c assigns PSNs and sends -> recovery.h and multiqueue.c keep outstanding
 * messages -> response.c acts on responses, as recovery.h says -> complete.c writes the
 * completions. timers.c starts the retransmission of lost packets.
 *
 * side.lock protects the fields; qp/requester_side.h names the exceptions. See side.h for
 * owners.
 */
#ifndef PAVO_REQUESTER_H
#define PAVO_REQUESTER_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include "qp/side.h"
#include "../wire/psn.h"
#include "parser.h"
#include "recovery.h"

struct ib_send_wr;
struct pavo_dev;
struct pavo_qp;
struct pavo_rx;
struct pavo_ucontext;
struct sk_buff;

/**
 * pavo_requester_init - allocate rings and private copies for @qp->cap.
 * @qp:   the QP; its capabilities are set to what was allocated
 * @info: set: where the process maps the ring
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM.
 */
int pavo_requester_init(struct pavo_qp *qp, struct pavo_mmap_info *info);
void pavo_requester_destroy(struct pavo_qp *qp);

/** pavo_requester_reset - set the side to its initial state; the QP is in RESET, no CPU owns it. */
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

/** pavo_requester_has_doorbells - true if the page of @uctx has doorbells that were not taken. */
bool pavo_requester_has_doorbells(const struct pavo_ucontext *uctx);

/**
 * pavo_requester_drain - take all doorbells of a ucontext's page and run the
 * QPs that they name. Called for a kick, and by a doorbell worker.
 * @dev:  the adapter
 * @uctx: the ucontext
 *
 * Context: process.
 */
void pavo_requester_drain(struct pavo_dev *dev, struct pavo_ucontext *uctx);

/** pavo_requester_takes - true if a doorbell of @uctx is valid now; a db_ counter says why not. */
bool pavo_requester_takes(struct pavo_dev *dev, struct pavo_ucontext *uctx,
			  u64 doorbell);

/**
 * pavo_requester_ring - take all doorbells of a ucontext's page, then one from a system call.
 * @dev:      the adapter
 * @uctx:     the ucontext
 * @doorbell: comes after those of the page, as its WQEs were written after theirs
 *
 * Context: process.
 */
void pavo_requester_ring(struct pavo_dev *dev, struct pavo_ucontext *uctx,
			 u64 doorbell);

/** pavo_requester_post - ib_post_send of kernel consumers. */
int pavo_requester_post(struct pavo_qp *qp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad_wr);

/** pavo_requester_receive - receive a response; consumes @rx->skb. Context: softirq. */
void pavo_requester_receive(struct pavo_qp *qp, struct pavo_rx *rx);

/** pavo_requester_run - do pending work, unless the side has an owner. */
void pavo_requester_run(struct pavo_qp *qp);

/**
 * pavo_requester_end - complete all WQEs as flushed, if that is pending.
 * @qp: the QP
 *
 * The owner of the responder side calls it after it has seen the QP in Error and unlocked its
 * side. A work would not do: a consumer may poll its completion queue without end and let no
 * work run.
 */
void pavo_requester_end(struct pavo_qp *qp);

/** pavo_requester_idle - true if all WQEs that have PSNs are completed (SQD). */
bool pavo_requester_idle(struct pavo_qp *qp);

#endif /* PAVO_REQUESTER_H */
