/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gso_backoff.h - may late packets (deferred_icrc.c) go to a peer? Pure.
 *
 * All packets to a queue pair of this machine may be late, and many packets as one may go to any
 * peer if the first device of the path cuts them. After a loss packets go singly for a while: the
 * device's queue may be too short, or the path not what it seems. To a peer on this machine they
 * have an ICRC until some packets of the peer came; after each loss it takes more of them.
 */
#ifndef PAVO_GSO_BACKOFF_H
#define PAVO_GSO_BACKOFF_H

#include <linux/types.h>

/** Packets of the peer to wait for, and packets to send singly, after the first loss. */
#define PAVO_GSO_BACKOFF_PACKETS 32u
/** Losses after which the wait does not grow any more. */
#define PAVO_GSO_BACKOFF_LOSSES 8u

/**
 * struct pavo_gso_backoff - what a side knows of losses on its path.
 * @losses: losses so far, at most PAVO_GSO_BACKOFF_LOSSES
 * @wait:   packets of a peer on this machine to come, until all packets to it may be late again
 * @single: packets to send until late ones may be left to a device again
 */
struct pavo_gso_backoff {
	u8 losses;
	u32 wait;
	u32 single;
};

/** pavo_gso_backoff_seen - a packet of the peer arrived. */
static inline void pavo_gso_backoff_seen(struct pavo_gso_backoff *backoff)
{
	if (backoff->wait)
		backoff->wait--;
}

/** pavo_gso_backoff_over - may all packets be late? */
static inline bool pavo_gso_backoff_over(const struct pavo_gso_backoff *backoff,
					 bool same_host)
{
	return same_host && !backoff->wait;
}

/** pavo_gso_backoff_lost - a packet or its answer was lost, perhaps for being late. */
static inline void pavo_gso_backoff_lost(struct pavo_gso_backoff *backoff,
					 bool same_host)
{
	u32 wait = PAVO_GSO_BACKOFF_PACKETS << backoff->losses;
	bool all = pavo_gso_backoff_over(backoff, same_host);

	if (!all && backoff->single)
		return;
	backoff->single = wait;
	if (all)
		backoff->wait = wait;
	if (backoff->losses < PAVO_GSO_BACKOFF_LOSSES)
		backoff->losses++;
}

/** pavo_gso_backoff_pass - may the next packet be left to a device that cuts? */
static inline bool pavo_gso_backoff_pass(struct pavo_gso_backoff *backoff)
{
	if (!backoff->single)
		return true;
	backoff->single--;
	return false;
}

#endif /* PAVO_GSO_BACKOFF_H */
