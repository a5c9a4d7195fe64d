/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rack.h - RACK-TLP (RFC 8985): a packet is lost if one that was sent later has arrived, and a
 * reordering window has passed since. Pure.
 *
 * Times are in units of 1,024 ns and wrap after 73 minutes.
 */
#ifndef PAVO_RACK_H
#define PAVO_RACK_H

#include <linux/math64.h>
#include <linux/types.h>
#include "wire/psn.h"

/** Packets behind a gap that show a loss without a wait, as long as none was seen to overtake. */
#define PAVO_RACK_THRESHOLD 3
/** The reordering window is @steps quarters of a round trip, at most so many. */
#define PAVO_RACK_STEPS_MAX 32
/** Recoveries without a needless retransmission after which the window is one quarter again. */
#define PAVO_RACK_CALM 16
/** How long @min_rtt is remembered: about ten seconds. */
#define PAVO_RACK_MIN_AGE (10u * 1000 * 1000)
/** Round trips of which the mean is taken: of so many, and all of a round. */
#define PAVO_RACK_SAMPLES 4
/** Likewise, if packets overtake others: their round trips differ. */
#define PAVO_RACK_SAMPLES_REORDERED 64
/** A queue counts from so much delay on: less is noise of machines. */
#define PAVO_RACK_QUEUE 500u
/** Rounds with little in flight after that, so that a queue of this sender's own is not in it. */
#define PAVO_RACK_DRAIN 2
/*
 * Probes without an answer, from the third on each after twice the wait. Then only the loss timer
 * is left.
 */
#define PAVO_RACK_PROBES_MAX 7
/** Least time that a tail loss probe waits beyond what round trips explain. */
#define PAVO_RACK_PROBE_SLACK 256u

/**
 * struct pavo_rack - round trips, and the latest transmission that has arrived.
 * @at:        when the packet was sent that was sent last, of those that have arrived
 * @psn:       its PSN
 * @rtt:       its round trip
 * @srtt:      smoothed round trip (RFC 6298), 0: none was measured
 * @rttvar:    its variation: the largest @mdev of a round, which is forgotten by and by
 * @mdev:      smoothed distance of round trips from @srtt
 * @mdev_max:  largest @mdev of this round
 * @sum:       of the round trips of this round: the packets that were in flight when it began
 * @count:     how many they are
 * @least:     shortest one of this round
 * @min_rtt:   the shortest one of the last 10 to 20 s; 0: no round has ended. Where packets
 *             overtake others, the shortest mean of a round
 * @mean:      of the last round
 * @next_min:  the shortest one since @min_since
 * @min_since: when @next_min began
 * @drain:     rounds in which little is to be in flight
 * @steps:     quarters of @srtt in the reordering window
 * @calm:      recoveries since @steps changed
 * @valid:     @at, @psn and @rtt are set
 * @reordered: a packet has arrived behind one that was sent later
 * @anew:      @min_rtt is to be forgotten when the round ends
 * @doubted:   the loss timer expired since @min_rtt was measured
 * @delayed:   the mean of the last round was twice @min_rtt and PAVO_RACK_QUEUE: a queue has
 *             grown
 */
struct pavo_rack {
	u32 at;
	u32 psn;
	u32 rtt;
	u32 srtt;
	u32 rttvar;
	u32 mdev;
	u32 mdev_max;
	u64 sum;
	u32 count;
	u32 least;
	u32 min_rtt;
	u32 mean;
	u32 next_min;
	u32 min_since;
	u8 steps;
	u8 calm;
	u8 drain;
	bool valid;
	bool reordered;
	bool anew;
	bool doubted;
	bool delayed;
};

/** pavo_rack_get_time - the time in the units of this file. */
static inline u32 pavo_rack_get_time(u64 ns)
{
	return (u32)(ns >> 10);
}

/** pavo_rack_to_ns - a duration of this file in ns. */
static inline u64 pavo_rack_to_ns(u32 duration)
{
	return (u64)duration << 10;
}

static inline void pavo_rack_init(struct pavo_rack *rack)
{
	*rack = (struct pavo_rack){ .steps = 1 };
}

/*
 * Take the distance of a round trip from the smoothed one into account. Packets of one request or
 * super-packet have nearly the same round trip, so a round would forget what the one before varied
 * by (RFC 6298 has one measurement for each).
 */
static inline void pavo_rack_note_deviation(struct pavo_rack *rack, u32 off)
{
	rack->mdev = (3 * rack->mdev + off) / 4;
	if (rack->mdev > rack->mdev_max)
		rack->mdev_max = rack->mdev;
	if (rack->mdev > rack->rttvar)
		rack->rttvar = rack->mdev;
}

/** pavo_rack_measure - take a round trip into account: RFC 6298, 2.2 and 2.3. */
static inline void pavo_rack_measure(struct pavo_rack *rack, u32 rtt)
{
	u32 off = rtt > rack->srtt ? rtt - rack->srtt : rack->srtt - rtt;

	if (!rtt)
		rtt = 1;
	if (!rack->count || rtt < rack->least)
		rack->least = rtt;
	rack->sum += rtt;
	rack->count++;
	if (!rack->srtt) {
		rack->srtt = rtt;
		rack->rttvar = rtt / 2;
		rack->mdev = rtt / 2;
		return;
	}
	pavo_rack_note_deviation(rack, off);
	rack->srtt = (7 * rack->srtt + rtt + 7) / 8;
}

/* The shortest round trip. Older rounds are forgotten, because a path may change. */
static inline void pavo_rack_note_min(struct pavo_rack *rack, u32 rtt, u32 now)
{
	if (!rack->min_rtt) {
		rack->min_since = now;
		rack->next_min = rtt;
		rack->min_rtt = rtt;
	}
	if (rtt < rack->next_min)
		rack->next_min = rtt;
	if (rtt < rack->min_rtt)
		rack->min_rtt = rtt;
	if (now - rack->min_since < PAVO_RACK_MIN_AGE)
		return;
	rack->min_rtt = rack->next_min;
	rack->next_min = rtt;
	rack->min_since = now;
	rack->drain = PAVO_RACK_DRAIN;
}

/*
 * The packets that were in flight when the round began were answered. A round with few round trips
 * goes on.
 */
static inline void pavo_rack_end_round(struct pavo_rack *rack, u32 now)
{
	u32 mean;

	if (rack->count <
	    (rack->reordered ? PAVO_RACK_SAMPLES_REORDERED : PAVO_RACK_SAMPLES))
		return;
	if (rack->mdev_max < rack->rttvar)
		rack->rttvar -= (rack->rttvar - rack->mdev_max) / 4;
	rack->mdev_max = 0;
	mean = (u32)div_u64(rack->sum, rack->count);
	if (rack->drain)
		rack->drain--;
	if (rack->anew)
		rack->min_rtt = 0;
	rack->anew = false;
	rack->doubted = false;
	pavo_rack_note_min(rack, rack->reordered ? mean : rack->least, now);
	rack->mean = mean;
	rack->delayed = mean > 2 * rack->min_rtt + PAVO_RACK_QUEUE;
	rack->sum = 0;
	rack->count = 0;
}

/**
 * pavo_rack_was_sent_before - true if a packet was sent before the latest one that has arrived.
 * @rack: the state
 * @at:   when it was sent last
 * @psn:  its PSN, which decides between packets of one time
 */
static inline bool pavo_rack_was_sent_before(const struct pavo_rack *rack,
					     u32 at, u32 psn)
{
	if (!rack->valid)
		return false;
	if (at != rack->at)
		return (s32)(rack->at - at) > 0;
	return pavo_psn_diff(rack->psn, psn) > 0;
}

/**
 * pavo_rack_arrived - a packet has arrived.
 * @rack: the state
 * @at:   when it was sent last
 * @psn:  its PSN
 * @now:  when its answer came
 */
static inline void pavo_rack_arrived(struct pavo_rack *rack, u32 at, u32 psn,
				     u32 now)
{
	if (pavo_rack_was_sent_before(rack, at, psn))
		return;
	rack->at = at;
	rack->psn = psn;
	rack->rtt = now - at;
	rack->valid = true;
}

/**
 * pavo_rack_get_window - the reordering window.
 * @rack:   the state
 * @behind: packets that are known to have arrived behind a gap
 */
static inline u32 pavo_rack_get_window(const struct pavo_rack *rack, u32 behind)
{
	u32 window = rack->srtt / 4 * rack->steps;
	u32 most = rack->srtt + 4 * rack->rttvar;

	if (!rack->reordered && behind >= PAVO_RACK_THRESHOLD)
		return 0;
	return window < most ? window : most;
}

/** pavo_rack_note_reordering - a packet has overtaken others: forget round trips without that. */
static inline void pavo_rack_note_reordering(struct pavo_rack *rack)
{
	if (rack->reordered)
		return;
	rack->reordered = true;
	rack->anew = true;
	rack->sum = 0;
	rack->count = 0;
}

/**
 * pavo_rack_mark_doubted - the loss timer expired: the path may be shorter now, until round trips
 * are measured again. The shortest one stays, as a queue may have grown as well.
 * @rack: the state
 */
static inline void pavo_rack_mark_doubted(struct pavo_rack *rack)
{
	rack->doubted = true;
}

/**
 * pavo_rack_is_too_soon - true if an answer to a retransmission comes far sooner than any round
 * trip: it is one to an earlier transmission.
 * @rack: the state
 * @rtt:  time since the retransmission
 */
static inline bool pavo_rack_is_too_soon(const struct pavo_rack *rack, u32 rtt)
{
	return rtt < rack->min_rtt / 2 && !rack->doubted;
}

/** pavo_rack_widen - a retransmission was needless: its packet was late, or the news of it. */
static inline void pavo_rack_widen(struct pavo_rack *rack)
{
	rack->calm = 0;
	if (rack->steps < PAVO_RACK_STEPS_MAX)
		rack->steps++;
}

/** pavo_rack_recovered - a recovery begins. */
static inline void pavo_rack_recovered(struct pavo_rack *rack)
{
	if (++rack->calm < PAVO_RACK_CALM)
		return;
	rack->calm = 0;
	rack->steps = 1;
}

/**
 * pavo_rack_get_probe_wait - how long a probe waits after the last transmission: a tail loss probe,
 * for two round trips, or one and what they vary by if that is more; the second one as long, since
 * a tail loss probe backs no timeout off (RFC 8985, 7.3); then a retransmission timeout that
 * doubles (RFC 6298, 5.5).
 * @rack:   the state
 * @probes: how many were sent without an answer
 */
static inline u32 pavo_rack_get_probe_wait(const struct pavo_rack *rack,
					   u8 probes)
{
	u32 wait = 4 * rack->rttvar;

	if (wait < rack->srtt)
		wait = rack->srtt;
	wait += rack->srtt + PAVO_RACK_PROBE_SLACK;
	return probes > 1 ? wait << (probes - 1) : wait;
}

#endif /* PAVO_RACK_H */
