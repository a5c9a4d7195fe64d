/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cwnd.h - the cwnd: how many packets of a QP may be in flight.
 *
 * The engine of sources.md#engine-3-4-1 has no cwnd and relies on a fabric that loses no
 * packets. Ethernet and a receiver's queues lose packets when too many are in flight. So
 * every loss halves the cwnd, and every cwnd of acknowledged packets widens it a little, as in
 * TCP (RFC 5681, 3.1: multiplicative decrease, additive increase). Pure.
 */
#ifndef PAVO_CWND_H
#define PAVO_CWND_H

#include <linux/types.h>

/** Largest cwnd, with which a QP begins. */
#define PAVO_CWND 128
/** Smallest cwnd: one chunk of a long read (PAVO_READ_CHUNK). */
#define PAVO_CWND_LEAST 32
/** Packets by which a cwnd grows. */
#define PAVO_CWND_STEP 4

/**
 * struct pavo_cwnd - the cwnd of a QP.
 * @size:  packets that may be in flight
 * @acked: packets acknowledged since @size changed last
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

/** pavo_cwnd_lost - shrink after a loss. */
static inline void pavo_cwnd_lost(struct pavo_cwnd *w)
{
	w->size /= 2;
	if (w->size < PAVO_CWND_LEAST)
		w->size = PAVO_CWND_LEAST;
	w->acked = 0;
}

/** pavo_cwnd_reduce - shrink after a loss without a timeout: to 0.7, as RFC 9438, 4.6. */
static inline void pavo_cwnd_reduce(struct pavo_cwnd *w)
{
	w->size = w->size * 7 / 10;
	if (w->size < PAVO_CWND_LEAST)
		w->size = PAVO_CWND_LEAST;
	w->acked = 0;
}

/** pavo_cwnd_acked - count @packets more that were acknowledged, and grow if due. */
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

/** pavo_cwnd_admits - true if @packets more may be sent beside @in_flight: always if that is 0. */
static inline bool pavo_cwnd_admits(const struct pavo_cwnd *w, u32 in_flight,
				    u32 packets)
{
	return !in_flight || in_flight + packets <= w->size;
}

/** pavo_cwnd_get_ack_req - packets after which AckReq is set. */
static inline u32 pavo_cwnd_get_ack_req(const struct pavo_cwnd *w)
{
	return w->size / 4;
}

#endif /* PAVO_CWND_H */
