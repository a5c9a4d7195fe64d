/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * multiqueue.h - MultiQueue (sources.md#engine-3-4-3): outstanding requests.
 *
 * Reads and atomics are in another queue than sends and writes, so that one test finds out
 * whether a read is outstanding. The document's MultiQueue has an element per packet in shared
 * pools. Here an element stands for a whole message, since a packet follows from its PSN. A
 * queue has as many elements as the SQ has WQEs, so it cannot overflow and needs no pool.
 *
 * Pure: no kernel objects; the owner of the requester side is the only user.
 */
#ifndef PAVO_MULTIQUEUE_H
#define PAVO_MULTIQUEUE_H

#include <linux/errno.h>
#include <linux/types.h>

/**
 * struct pavo_mq_entry - a message that has PSNs and is not yet released.
 * @wqe:   free-running number of its WQE
 * @first: its first PSN
 * @npkts: its PSNs; for a read those of the response
 */
struct pavo_mq_entry {
	u32 wqe;
	u32 first;
	u32 npkts;
};

/**
 * struct pavo_mq - a queue of messages.
 * @ring: the entries
 * @mask: entries less 1; their number is a power of two
 * @head: messages released so far (free running)
 * @tail: messages produced so far (free running)
 */
struct pavo_mq {
	struct pavo_mq_entry *ring;
	u32 mask;
	u32 head;
	u32 tail;
};

/**
 * struct pavo_multiqueue - the two queues of a QP.
 * @reads: reads and atomics (RPB)
 * @sends: sends and writes (SWPB)
 */
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

/** pavo_mq_find_oldest - the oldest message; NULL if the queue is empty. */
static inline const struct pavo_mq_entry *
pavo_mq_find_oldest(const struct pavo_mq *mq)
{
	return mq->head == mq->tail ? NULL : &mq->ring[mq->head & mq->mask];
}

/** pavo_mq_produce - add a message that has PSNs. Return: 0; -ENOSPC: the queue is full. */
static inline int pavo_mq_produce(struct pavo_mq *mq, u32 wqe, u32 first,
				  u32 npkts)
{
	struct pavo_mq_entry *entry = &mq->ring[mq->tail & mq->mask];

	if (mq->tail - mq->head > mq->mask)
		return -ENOSPC;
	entry->wqe = wqe;
	entry->first = first;
	entry->npkts = npkts;
	mq->tail++;
	return 0;
}

/** pavo_mq_release - remove all messages that lie wholly before PSN @upsn. */
void pavo_mq_release(struct pavo_mq *mq, u32 upsn);

/** pavo_mq_span - PSNs from @from to before @until that belong to messages of the queue. */
u32 pavo_mq_span(const struct pavo_mq *mq, u32 from, u32 until);

/**
 * pavo_mq_find_next - find the next PSN that belongs to a message of the queue.
 * @mq:    the queue
 * @from:  the first PSN to look at
 * @until: the first one not to look at
 *
 * Return: its distance from @from; that of @until: there is none.
 */
u32 pavo_mq_find_next(const struct pavo_mq *mq, u32 from, u32 until);

/* Meaning of an acknowledgment or response (sources.md#engine-3-4-5). */
enum pavo_ack_verdict {
	PAVO_ACK_DROP, /* a duplicate, or of a packet never sent */
	PAVO_ACK_RELEASE, /* acknowledges all packets up to and with its PSN */
	PAVO_ACK_READ_LOST, /* ... up to a read whose response was lost */
};

/**
 * pavo_multiqueue_ack - find the meaning of an ACK, or of the implied ACK of a NAK.
 * @mq: outstanding messages
 * @upsn: oldest unacknowledged PSN
 * @sent: PSN behind the last one ever sent
 * @rpsn: last PSN acknowledged
 * @until: set to the new UPSN (not with DROP)
 *
 * Return: the meaning.
 */
enum pavo_ack_verdict pavo_multiqueue_ack(const struct pavo_multiqueue *mq,
					  u32 upsn, u32 sent, u32 rpsn,
					  u32 *until);

/**
 * pavo_multiqueue_response - find the meaning of a read or atomic response.
 * @mq: outstanding messages
 * @upsn: oldest unacknowledged PSN
 * @sent: PSN behind the last one ever sent
 * @rpsn: PSN of the response
 * @until: set to the new UPSN (not with DROP)
 *
 * Return: PAVO_ACK_RELEASE: the response is the expected one, and @until its own PSN, since it
 * acknowledges all packets before it; PAVO_ACK_READ_LOST: responses from PSN @until on are
 * missing; PAVO_ACK_DROP.
 */
enum pavo_ack_verdict pavo_multiqueue_response(const struct pavo_multiqueue *mq,
					       u32 upsn, u32 sent, u32 rpsn,
					       u32 *until);

#endif /* PAVO_MULTIQUEUE_H */
