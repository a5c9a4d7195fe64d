/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recovery_congestion.h - events of recovery.h that are signs of congestion but no losses: marks
 * of routers, CNPs, a full queue of the own interface. Pure.
 */
#ifndef PAVO_RECOVERY_CONGESTION_H
#define PAVO_RECOVERY_CONGESTION_H

#include <linux/errno.h>
#include "requester/recovery.h"
#include "wire/wire.h"

/*
 * A sign of congestion that is no loss shrinks the cwnd, but once in a round trip. Return: true: it
 * is the first one.
 */
static inline bool pavo_recovery_begin_cut(struct pavo_recovery *r)
{
	if (pavo_psn_diff(r->upsn, r->cut) < 0)
		return false;
	r->cut = r->sent;
	return true;
}

/**
 * pavo_recovery_handle_cnp - event: a CNP has come. It has no PSN, so any packet with the addresses
 * of the peer is believed: peers that send SACKs echo marks in answers instead.
 * @r:      the machine
 * @policy: its policy
 *
 * Return: 0; -EALREADY: it is not the first one in this round trip; -ENOENT: nothing is in flight;
 * -EPROTO: the peer sends SACKs.
 */
static __always_inline int
pavo_recovery_handle_cnp(struct pavo_recovery *r,
			 const struct pavo_recovery_policy *policy)
{
	if (r->sacks)
		return -EPROTO;
	if (r->upsn == r->sent)
		return -ENOENT;
	if (!pavo_recovery_begin_cut(r))
		return -EALREADY;
	policy->notified(r);
	return 0;
}

/**
 * pavo_recovery_note_marks - event: an answer of a peer that sends SACKs comes, whose other events
 * follow.
 * @r:      the machine
 * @policy: its policy
 * @pkt:    the answer. BECN or its count of marks may say that routers have marked requests
 * @marked: a router has marked the answer
 *
 * Return: 0; -ERANGE: the answer is of no request under way, so its marks do not count.
 */
static __always_inline int
pavo_recovery_note_marks(struct pavo_recovery *r,
			 const struct pavo_recovery_policy *policy,
			 const struct pavo_pkt *pkt, bool marked)
{
	bool counts = pkt->info->kind != PAVO_KIND_READ;
	s32 ahead = pavo_psn_diff(pkt->psn, r->upsn);
	struct pavo_ecn *e = &r->board->ecn;
	u32 marks = marked ? pkt->npkts : 0;

	if (likely(!marked && !pkt->becn &&
		   (!counts || pkt->attempt == e->peer)))
		return 0;
	if (ahead < -1 || ahead >= pavo_psn_diff(r->sent, r->upsn))
		return -ERANGE;
	if (counts)
		marks += pavo_ecn_note_count(e, pkt->attempt);
	policy->marked(r, marks);
	return 0;
}

/** pavo_recovery_note_congestion - event: the queue of the own interface is full. */
static __always_inline void
pavo_recovery_note_congestion(struct pavo_recovery *r,
			      const struct pavo_recovery_policy *policy)
{
	if (r->sacks)
		policy->congested(r);
}

#endif /* PAVO_RECOVERY_CONGESTION_H */
