/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * multiqueue.h - MultiQueue (sources.md#engine-3-4-3): outstanding requests.
 *
 * Reads and atomics are kept apart from sends and writes, so that "is a read
 * outstanding?" is one test. MultiQueue has one element per packet in shared
 * pools; here an element stands for the packets of a whole message,
 * since all of a packet follows from its PSN, and a queue has as many
 * elements as the SQ has WQEs: it cannot overflow and needs no pool.
 *
 * Pure: no kernel objects; the owner of the requester side is the only user.
 */
#ifndef PAVO_MULTIQUEUE_H
#define PAVO_MULTIQUEUE_H

#include <linux/types.h>

/**
 * struct pavo_mq_entry - a message that was numbered and is not yet released.
 * @wqe:   number of its WQE
 * @first: its first PSN
 * @npkts: its PSNs; for a read those of the response
 */
struct pavo_mq_entry {
	u32 wqe;
	u32 first;
	u32 npkts;
};

/**
 * struct pavo_mq - a queue of them.
 * @ring: entries, @mask + 1 of them
 * @head: released so far, @tail: produced so far (free running)
 */
struct pavo_mq {
	struct pavo_mq_entry *ring;
	u32 mask;
	u32 head;
	u32 tail;
};

/** struct pavo_multiqueue - the two queues of a QP (RPB and SWPB). */
struct pavo_multiqueue {
	struct pavo_mq reads;
	struct pavo_mq sends;
};

static inline void pavo_mq_init(struct pavo_mq *mq, struct pavo_mq_entry *ring,
				u32 count)
{
	mq->ring = ring;
	mq->mask = count - 1;
	mq->head = 0;
	mq->tail = 0;
}

/** pavo_mq_oldest - the head; NULL if the queue is empty. */
static inline const struct pavo_mq_entry *
pavo_mq_oldest(const struct pavo_mq *mq)
{
	return mq->head == mq->tail ? NULL : &mq->ring[mq->head & mq->mask];
}

/** pavo_mq_produce - a message was numbered; false if the queue is full. */
bool pavo_mq_produce(struct pavo_mq *mq, u32 wqe, u32 first, u32 npkts);

/** pavo_mq_release - drop all messages that lie wholly before PSN @upsn. */
void pavo_mq_release(struct pavo_mq *mq, u32 upsn);

/* What an acknowledgment means (sources.md#engine-3-4-5). */
enum pavo_ack_verdict {
	PAVO_ACK_DROP, /* duplicate, or of something never sent */
	PAVO_ACK_RELEASE, /* everything up to and with its PSN is done */
	PAVO_ACK_READ_LOST, /* ... up to a read whose answer did not come */
};

/**
 * pavo_multiqueue_ack - judge an ACK (or the implied ACK of a NAK).
 * @upsn: oldest unacknowledged PSN
 * @sent: PSN behind the last one ever sent
 * @rpsn: last PSN acknowledged
 * @until: result: the new UPSN (not with DROP)
 */
enum pavo_ack_verdict pavo_multiqueue_ack(const struct pavo_multiqueue *mq,
					  u32 upsn, u32 sent, u32 rpsn,
					  u32 *until);

/**
 * pavo_multiqueue_response - judge a read or atomic response.
 *
 * RELEASE: it is the one expected; @until is its own PSN: everything before it
 * is acknowledged by it. READ_LOST: responses from PSN @until on are missing.
 */
enum pavo_ack_verdict pavo_multiqueue_response(const struct pavo_multiqueue *mq,
					       u32 upsn, u32 sent, u32 rpsn,
					       u32 *until);

#endif /* PAVO_MULTIQUEUE_H */
