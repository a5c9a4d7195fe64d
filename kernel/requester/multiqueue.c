// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * multiqueue.c - outstanding requests, and the meaning of responses for them.
 *
 * Called by drr_queue.c (span) and response.c. Pure, see multiqueue.h.
 */
#include "multiqueue.h"
#include "../wire/psn.h"

void pavo_mq_release(struct pavo_mq *mq, u32 upsn)
{
	const struct pavo_mq_entry *entry;

	while ((entry = pavo_mq_find_oldest(mq)) &&
	       pavo_psn_is_passed(upsn, entry->first, entry->npkts))
		mq->head++;
}

u32 pavo_mq_span(const struct pavo_mq *mq, u32 from, u32 until)
{
	u32 i, begin, end, count = 0;

	for (i = mq->head; i != mq->tail; i++) {
		const struct pavo_mq_entry *entry = &mq->ring[i & mq->mask];

		begin = entry->first;
		end = pavo_psn_add(begin, entry->npkts);
		if (pavo_psn_diff(until, begin) <= 0)
			break;
		if (pavo_psn_diff(from, begin) > 0)
			begin = from;
		if (pavo_psn_diff(end, until) > 0)
			end = until;
		if (pavo_psn_diff(end, begin) > 0)
			count += pavo_psn_diff(end, begin);
	}
	return count;
}

u32 pavo_mq_find_next(const struct pavo_mq *mq, u32 from, u32 until)
{
	const struct pavo_mq_entry *entry;
	u32 at;

	for (at = mq->head; at != mq->tail; at++) {
		entry = &mq->ring[at & mq->mask];
		if (pavo_psn_diff(entry->first, until) >= 0)
			break;
		if (pavo_psn_diff(from, entry->first) <= 0)
			return pavo_psn_diff(entry->first, from);
		if (!pavo_psn_is_passed(from, entry->first, entry->npkts))
			return 0;
	}
	return pavo_psn_diff(until, from);
}

/* Set @psn to that of the oldest read's next response. Return: 0; -ENOENT: there is no read. */
static int find_next_response(const struct pavo_multiqueue *mq, u32 upsn,
			      u32 *psn)
{
	const struct pavo_mq_entry *read = pavo_mq_find_oldest(&mq->reads);

	if (!read)
		return -ENOENT;
	*psn = pavo_psn_diff(upsn, read->first) > 0 ? upsn : read->first;
	return 0;
}

static bool is_unacknowledged(u32 upsn, u32 sent, u32 rpsn)
{
	return pavo_psn_diff(rpsn, upsn) >= 0 && pavo_psn_diff(sent, rpsn) > 0;
}

enum pavo_ack_verdict pavo_multiqueue_ack(const struct pavo_multiqueue *mq,
					  u32 upsn, u32 sent, u32 rpsn,
					  u32 *until)
{
	u32 read;

	if (!is_unacknowledged(upsn, sent, rpsn))
		return PAVO_ACK_DROP;
	if (!find_next_response(mq, upsn, &read) &&
	    pavo_psn_diff(rpsn, read) >= 0) {
		*until = read;
		return PAVO_ACK_READ_LOST;
	}
	*until = pavo_psn_add(rpsn, 1);
	return PAVO_ACK_RELEASE;
}

enum pavo_ack_verdict pavo_multiqueue_response(const struct pavo_multiqueue *mq,
					       u32 upsn, u32 sent, u32 rpsn,
					       u32 *until)
{
	s32 ahead;

	if (!is_unacknowledged(upsn, sent, rpsn) ||
	    find_next_response(mq, upsn, until))
		return PAVO_ACK_DROP;
	ahead = pavo_psn_diff(rpsn, *until);
	if (ahead < 0)
		return PAVO_ACK_DROP;
	return ahead ? PAVO_ACK_READ_LOST : PAVO_ACK_RELEASE;
}
