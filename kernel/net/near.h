/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * near.h - may late packets (late.c) go to a peer? Pure.
 *
 * They may go whole to a near peer, an adapter of this machine. Each packet of pavo's carries a
 * mark in its skb that no wire carries on. A side whose peer's packets arrive with the mark has a
 * near peer. A packet without it, or a loss, ends that; after each loss it takes more marked
 * packets until the peer is near again.
 *
 * They may go to any peer if the first device of the path cuts them. After a loss packets go
 * singly for a while: the device's queue may be too short, or the path not what it seems.
 */
#ifndef PAVO_NEAR_H
#define PAVO_NEAR_H

#include <linux/types.h>

/** Marked packets to wait for, and packets to send singly, after the first loss. */
#define PAVO_NEAR_WAIT 32u
/** Losses after which the wait does not grow any more. */
#define PAVO_NEAR_LOSSES 8u

/**
 * struct pavo_near - what a side knows of its peer.
 * @on:     the peer is near
 * @losses: losses so far, at most PAVO_NEAR_LOSSES
 * @wait:   marked packets until the peer is near again
 * @single: packets to send until late ones may be left to a device again
 */
struct pavo_near {
	bool on;
	u8 losses;
	u32 wait;
	u32 single;
};

/** pavo_near_seen - a packet of the peer arrived, with or without the mark. */
static inline void pavo_near_seen(struct pavo_near *near, bool marked)
{
	if (!marked)
		near->on = false;
	else if (near->wait)
		near->wait--;
	else
		near->on = true;
}

/** pavo_near_lost - a packet or its answer was lost, perhaps for being late. */
static inline void pavo_near_lost(struct pavo_near *near)
{
	u32 wait = PAVO_NEAR_WAIT << near->losses;

	if (!near->on && near->single)
		return;
	near->single = wait;
	if (near->on)
		near->wait = wait;
	near->on = false;
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
