/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * near.h - is the peer near: an adapter of this machine, to which packets go whole and without
 * an ICRC (late.c)? Pure.
 *
 * Each packet of pavo's carries a mark in its skb that no wire carries on. A side whose peer's
 * packets arrive with the mark has a near peer. A packet without it, or a loss, ends that; after
 * each loss it takes more marked packets until the peer is near again.
 */
#ifndef PAVO_NEAR_H
#define PAVO_NEAR_H

#include <linux/types.h>

/** Marked packets to wait for after the first loss. */
#define PAVO_NEAR_WAIT 32u
/** Losses after which the wait does not grow any more. */
#define PAVO_NEAR_LOSSES 8u

/**
 * struct pavo_near - what a side knows of its peer.
 * @on:     the peer is near
 * @losses: losses so far, at most PAVO_NEAR_LOSSES
 * @wait:   marked packets until the peer is near again
 */
struct pavo_near {
	bool on;
	u8 losses;
	u32 wait;
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
	if (!near->on)
		return;
	near->on = false;
	near->wait = PAVO_NEAR_WAIT << near->losses;
	if (near->losses < PAVO_NEAR_LOSSES)
		near->losses++;
}

#endif /* PAVO_NEAR_H */
