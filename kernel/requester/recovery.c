// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * recovery.c - loss recovery of a requester: its begin and end.
 *
 * Called by requester.c and complete.c. Pure, see recovery.h for the events.
 */
#include "requester/recovery.h"
#include "requester/recovery_sack.h"

static void forget_messages(struct pavo_multiqueue *outstanding)
{
	outstanding->reads.head = 0;
	outstanding->reads.tail = 0;
	outstanding->sends.head = 0;
	outstanding->sends.tail = 0;
}

void pavo_recovery_init(struct pavo_recovery *r, struct pavo_scoreboard *board,
			struct pavo_mq_entry *ring, u32 count)
{
	*r = (struct pavo_recovery){
		.board = board,
		.reread = PAVO_PSN_NONE,
		.ack_requested = PAVO_PSN_NONE,
	};
	pavo_mq_init(&r->outstanding.reads, ring, count);
	pavo_mq_init(&r->outstanding.sends, ring + count, count);
	pavo_cwnd_init(&r->cwnd);
	pavo_timer_init(&r->timer, 0, 0, 0);
}

void pavo_recovery_start(struct pavo_recovery *r, u32 psn)
{
	r->npsn = psn;
	pavo_recovery_skip(r);
}

void pavo_recovery_begin_sacks(struct pavo_recovery *r, u64 now)
{
	struct pavo_scoreboard *b = r->board;
	u32 n;

	if (r->next != r->sent || r->reads_resent || r->probing)
		return;
	pavo_board_init(b, r->upsn);
	/* When they were sent is unknown, so their answers are no measure of a round trip. */
	pavo_psn_set_add(&b->resent, r->upsn, pavo_psn_diff(r->sent, r->upsn));
	for (n = 0; n < b->size; n++)
		b->sent_at[n] = pavo_rack_get_time(now);
	r->cwnd.final = false;
	pavo_cwnd_set_most(&r->cwnd, b->size / 2);
	r->sacks = true;
	r->sacked = true;
}

unsigned int pavo_recovery_end_sacks(struct pavo_recovery *r)
{
	r->sacks = false;
	pavo_cwnd_set_most(&r->cwnd, PAVO_CWND);
	r->timer.repair = 0;
	r->probing = false;
	r->went_back = true;
	r->reads_out = 0;
	r->next = r->upsn;
	return PAVO_REC_SEEK | PAVO_REC_RETRANSMIT;
}

void pavo_recovery_set_mtu(struct pavo_recovery *r, u32 mtu)
{
	r->cwnd.rate = 4096 / mtu;
}

void pavo_recovery_set_limits(struct pavo_recovery *r, u64 timeout, u8 retries,
			      u8 rnr_retries)
{
	r->timer.timeout = timeout;
	r->timer.retry_limit = retries;
	r->timer.retries = retries;
	r->timer.rnr_limit = rnr_retries;
	r->timer.rnr_retries = rnr_retries;
}

void pavo_recovery_flush(struct pavo_recovery *r)
{
	pavo_timer_init(&r->timer, 0, 0, 0);
	forget_messages(&r->outstanding);
	r->next = r->npsn;
}
