/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * round.h - DRR (drr.h) of an adapter: when a queue may send, and which is next.
 *
 * A queue pair is two queues, the requester's packets and the responder's read responses, and a
 * window is one. The sender of a queue calls these functions, unless they say otherwise. A queue
 * that DRR schedules is run by its @run: a queue pair in its work, on the CPU where it sent last,
 * since packets from two CPUs overtake each other; a window by the work manager.
 */
#ifndef PAVO_ROUND_H
#define PAVO_ROUND_H

#include "drr.h"

struct pavo_dev;

/**
 * pavo_round_take - take deficit and credits for packets, or for one read or atomic.
 * @dev:   adapter
 * @queue: of the sender
 * @pool:  credits that it needs
 * @want:  packets
 * @level: service level of these
 *
 * Return: number of packets that may be sent; 0: the queue waits, and is run later.
 */
u32 pavo_round_take(struct pavo_dev *dev, struct pavo_drr_queue *queue,
		    enum pavo_pool pool, u32 want, u8 level);

/** pavo_round_waits - true if the queue waits for a credit or its round. */
bool pavo_round_waits(struct pavo_dev *dev, const struct pavo_drr_queue *queue);

/** pavo_round_begin - begin the round of a scheduled queue. For the work that @run queues. */
void pavo_round_begin(struct pavo_dev *dev, struct pavo_drr_queue *queue);

/** pavo_round_end - end a visit. @more: the work that @run queues continues the round. */
void pavo_round_end(struct pavo_dev *dev, struct pavo_drr_queue *queue,
		    bool more);

/** pavo_round_leave - leave DRR, and give back all credits. */
void pavo_round_leave(struct pavo_dev *dev, struct pavo_drr_queue *queue);

/** pavo_rounds_changed - run queues that wait, after a change of the policy. Process context. */
void pavo_rounds_changed(struct pavo_dev *dev);

#endif /* PAVO_ROUND_H */
