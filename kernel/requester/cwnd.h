/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cwnd.h - how many packets of a QP may be in flight.
 *
 * The engine of sources.md#engine-3-4-1 has no window and leaves it to the fabric to
 * lose nothing; Ethernet and a receiver's queues do lose when too much is under way. So
 * every loss halves the window, and every window that comes through makes it a little
 * wider again, as TCP has it (RFC 5681, 3.1: multiplicative decrease, additive increase). Pure.
 */
#ifndef PAVO_CWND_H
#define PAVO_CWND_H

#include <linux/types.h>

/** Packets in flight at most; what a QP begins with. */
#define PAVO_CWND 128
/** And at least: one request for a piece of a long read (PAVO_READ_CHUNK). */
#define PAVO_CWND_LEAST 32
/** By so many it grows. */
#define PAVO_CWND_STEP 4

/**
 * struct pavo_cwnd - of one QP.
 * @size:  packets that may be in flight
 * @acked: packets acknowledged since it changed last
 */
struct pavo_cwnd {
	u32 size;
	u32 acked;
};

static inline void pavo_cwnd_init(struct pavo_cwnd *w)
{
	w->size = PAVO_CWND;
	w->acked = 0;
}

/** pavo_cwnd_lost - something has to be sent again. */
static inline void pavo_cwnd_lost(struct pavo_cwnd *w)
{
	w->size /= 2;
	if (w->size < PAVO_CWND_LEAST)
		w->size = PAVO_CWND_LEAST;
	w->acked = 0;
}

/** pavo_cwnd_acked - @packets more have come through. */
static inline void pavo_cwnd_acked(struct pavo_cwnd *w, u32 packets)
{
	if (w->size == PAVO_CWND)
		return;
	w->acked += packets;
	if (w->acked < w->size)
		return;
	w->size += PAVO_CWND_STEP;
	if (w->size > PAVO_CWND)
		w->size = PAVO_CWND;
	w->acked = 0;
}

/** pavo_cwnd_admits - @packets more beside the @in_flight that are. */
static inline bool pavo_cwnd_admits(const struct pavo_cwnd *w, u32 in_flight,
				    u32 packets)
{
	return !in_flight || in_flight + packets <= w->size;
}

/** pavo_cwnd_ask - ask for an acknowledgment after so many packets. */
static inline u32 pavo_cwnd_ask(const struct pavo_cwnd *w)
{
	return w->size / 4;
}

#endif /* PAVO_CWND_H */
