/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cwnd.h - the cwnd: how many packets of a QP may be in flight. congestion.h changes it. Pure.
 *
 * The engine of sources.md#engine-3-4-1 has no cwnd and relies on a fabric that loses no packets.
 * Ethernet and a receiver's queues lose packets when too many are in flight.
 */
#ifndef PAVO_CWND_H
#define PAVO_CWND_H

#include <linux/types.h>

/** Largest cwnd towards a peer that sends no SACKs; and the least that @most can be. */
#define PAVO_CWND 128
/** The cwnd with which a QP begins: any queue on the path can hold that. */
#define PAVO_CWND_START 64
/** Smallest cwnd after losses: one chunk of a long read (PAVO_READ_CHUNK). */
#define PAVO_CWND_LEAST 32
/** Smallest cwnd where marks or round trips show a queue: a short path holds no more. */
#define PAVO_CWND_FLOOR 4
/** Largest cwnd: 16 MiB in packets of 4 KiB, 3 Gbit/s over 50 ms. */
#define PAVO_CWND_MOST 4096
/** Packets by which a cwnd grows in a round trip. */
#define PAVO_CWND_STEP 4
/** Likewise, while round trips are long or packets are marked: as TCP (RFC 8257, 3.3). */
#define PAVO_CWND_STEP_CAUTIOUS 1

/**
 * struct pavo_cwnd - the cwnd of a QP.
 * @size:      packets that may be in flight
 * @acked:     packets acknowledged since @size changed last
 * @most:      largest @size for the time being
 * @threshold: below it @size doubles in a round trip (slow start, RFC 5681, 3.1)
 * @rate:      packets that a path may carry in a microsecond: 4 KiB, 32 Gbit/s. More packets than
 *             so many for a round trip would wait in queues
 * @calm:      steps without a sign of congestion
 * @wanted:    @size would have grown beyond @most
 * @final:     @most does not change
 */
struct pavo_cwnd {
	u32 size;
	u32 acked;
	u32 most;
	u32 threshold;
	u8 rate;
	u8 calm;
	bool wanted;
	bool final;
};

static inline void pavo_cwnd_init(struct pavo_cwnd *w)
{
	*w = (struct pavo_cwnd){
		.size = PAVO_CWND_START,
		.most = PAVO_CWND,
		.threshold = PAVO_CWND_MOST,
		.rate = 1,
	};
}

/** pavo_cwnd_set_most - set @most; @size does not exceed it. */
static inline void pavo_cwnd_set_most(struct pavo_cwnd *w, u32 most)
{
	w->most = most;
	w->wanted = false;
	if (w->size > most)
		w->size = most;
}

/** pavo_cwnd_fills - true if the cwnd is as large as a round trip of @rtt microseconds needs. */
static inline bool pavo_cwnd_fills(const struct pavo_cwnd *w, u32 rtt)
{
	return w->size >= PAVO_CWND && w->size / w->rate >= rtt;
}

/** pavo_cwnd_grow - let @packets more be in flight, up to @most. */
static inline void pavo_cwnd_grow(struct pavo_cwnd *w, u32 packets)
{
	w->size += packets;
	w->acked = 0;
	if (w->size <= w->most)
		return;
	w->size = w->most;
	w->wanted = !w->final;
}

/** pavo_cwnd_shrink - let @size packets be in flight, at least @least, but no more than now. */
static inline void pavo_cwnd_shrink(struct pavo_cwnd *w, u32 size, u32 least)
{
	if (size < least)
		size = least;
	if (size < w->size)
		w->size = size;
	w->acked = 0;
	w->calm = 0;
}

/** pavo_cwnd_step - count @packets that were acknowledged. Return: true: a cwnd of them is. */
static inline bool pavo_cwnd_step(struct pavo_cwnd *w, u32 packets)
{
	w->acked += packets;
	return w->acked >= w->size;
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
	return (w->size < PAVO_CWND ? w->size : PAVO_CWND) / 4;
}

#endif /* PAVO_CWND_H */
