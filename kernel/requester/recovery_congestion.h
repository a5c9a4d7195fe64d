/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recovery_congestion.h - events of recovery.h that are signs of congestion but no losses: marks
 * of routers, CNPs, a full queue of the own interface. Pure.
 */
#ifndef PAVO_RECOVERY_CONGESTION_H
#define PAVO_RECOVERY_CONGESTION_H

#include <linux/errno.h>
#include "requester/recovery.h"

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
 * pavo_recovery_note_mark - event: an answer comes, whose other events follow.
 * @r:      the machine
 * @policy: its policy
 * @psn:    its PSN
 * @marked: it says that a router has marked packets, or was marked itself
 *
 * Return: 0; -ERANGE: @psn is of no request under way, so the mark does not count.
 */
static __always_inline int
pavo_recovery_note_mark(struct pavo_recovery *r,
			const struct pavo_recovery_policy *policy, u32 psn,
			bool marked)
{
	s32 ahead = pavo_psn_diff(psn, r->upsn);

	r->board->ecn.echoed = false;
	if (likely(!marked))
		return 0;
	if (ahead < -1 || ahead >= pavo_psn_diff(r->sent, r->upsn))
		return -ERANGE;
	policy->marked(r);
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
