/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * near.h - may late packets (late.c) go to a peer? Pure.
 *
 * All packets to a queue pair of this machine may be late, and many packets as one may go to any
 * peer if the first device of the path cuts them. After a loss packets go singly for a while: the
 * device's queue may be too short, or the path not what it seems. To a peer on this machine they
 * have an ICRC until some packets of the peer came; after each loss it takes more of them.
 */
#ifndef PAVO_NEAR_H
#define PAVO_NEAR_H

#include <linux/types.h>

/** Packets of the peer to wait for, and packets to send singly, after the first loss. */
#define PAVO_NEAR_WAIT 32u
/** Losses after which the wait does not grow any more. */
#define PAVO_NEAR_LOSSES 8u

/**
 * struct pavo_near - what a side knows of losses on its path.
 * @losses: losses so far, at most PAVO_NEAR_LOSSES
 * @wait:   packets of a peer on this machine to come, until all packets to it may be late again
 * @single: packets to send until late ones may be left to a device again
 */
struct pavo_near {
	u8 losses;
	u32 wait;
	u32 single;
};

/** pavo_near_seen - a packet of the peer arrived. */
static inline void pavo_near_seen(struct pavo_near *near)
{
	if (near->wait)
		near->wait--;
}

/** pavo_near_all - may all packets be late? */
static inline bool pavo_near_all(const struct pavo_near *near, bool same_host)
{
	return same_host && !near->wait;
}

/** pavo_near_lost - a packet or its answer was lost, perhaps for being late. */
static inline void pavo_near_lost(struct pavo_near *near, bool same_host)
{
	u32 wait = PAVO_NEAR_WAIT << near->losses;
	bool all = pavo_near_all(near, same_host);

	if (!all && near->single)
		return;
	near->single = wait;
	if (all)
		near->wait = wait;
	if (near->losses < PAVO_NEAR_LOSSES)
		near->losses++;
}

/** pavo_near_leave - may the next packet be left to a device that cuts? */
static inline bool pavo_near_leave(struct pavo_near *near)
{
	if (!near->single)
		return true;
	near->single--;
	return false;
}

#endif /* PAVO_NEAR_H */
