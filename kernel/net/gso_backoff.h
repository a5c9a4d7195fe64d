/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gso_backoff.h - a side backs off from deferred ICRCs (deferred_icrc.c) after losses. Pure.
 *
 * All packets to a same-host peer may have their ICRC deferred. GSO super-packets may go to any
 * peer if they are segmented for the first device of the path. After a loss the side sends single
 * packets for a while, because the queue of the device may be too short, or a device on the path
 * may drop such packets. To a same-host peer it sends packets with an ICRC until some packets of
 * that peer have arrived; their number doubles with each loss.
 */
#ifndef PAVO_GSO_BACKOFF_H
#define PAVO_GSO_BACKOFF_H

#include <linux/types.h>

/** Packets of the peer to wait for, and single packets to send, after the first loss. */
#define PAVO_GSO_BACKOFF_PACKETS 32u
/** Number of losses from which on the wait does not grow. */
#define PAVO_GSO_BACKOFF_LOSSES 8u

/**
 * struct pavo_gso_backoff - losses of a side, and its present backoff.
 * @losses: losses so far, at most PAVO_GSO_BACKOFF_LOSSES
 * @wait:   packets of a same-host peer to receive before ICRCs to it are deferred again
 * @single: packets to send singly before super-packets are sent again
 */
struct pavo_gso_backoff {
	u8 losses;
	u32 wait;
	u32 single;
};

/** pavo_gso_backoff_seen - count a packet that has arrived from the peer. */
static inline void pavo_gso_backoff_seen(struct pavo_gso_backoff *backoff)
{
	if (backoff->wait)
		backoff->wait--;
}

/** pavo_gso_backoff_is_over - true if all packets may have their ICRC deferred. */
static inline bool
pavo_gso_backoff_is_over(const struct pavo_gso_backoff *backoff, bool same_host)
{
	return same_host && !backoff->wait;
}

/** pavo_gso_backoff_lost - back off: a packet or its answer was lost. */
static inline void pavo_gso_backoff_lost(struct pavo_gso_backoff *backoff,
					 bool same_host)
{
	u32 wait = PAVO_GSO_BACKOFF_PACKETS << backoff->losses;
	bool all = pavo_gso_backoff_is_over(backoff, same_host);

	if (!all && backoff->single)
		return;
	backoff->single = wait;
	if (all)
		backoff->wait = wait;
	if (backoff->losses < PAVO_GSO_BACKOFF_LOSSES)
		backoff->losses++;
}

/** pavo_gso_backoff_pass - true if the next packet may be a super-packet; counts it otherwise. */
static inline bool pavo_gso_backoff_pass(struct pavo_gso_backoff *backoff)
{
	if (!backoff->single)
		return true;
	backoff->single--;
	return false;
}

#endif /* PAVO_GSO_BACKOFF_H */
