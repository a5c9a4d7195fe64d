/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rack.h - RACK-TLP (RFC 8985): a packet is lost if one that was sent later has arrived, and a
 * reordering window has passed since. Pure.
 *
 * Times are in units of 1,024 ns and wrap after 73 minutes.
 */
#ifndef PAVO_RACK_H
#define PAVO_RACK_H

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
/** Least time that a tail loss probe waits beyond what round trips explain. */
#define PAVO_RACK_PROBE_SLACK 256u

/**
 * struct pavo_rack - round trips, and the latest transmission that has arrived.
 * @at:        when the packet was sent that was sent last, of those that have arrived
 * @psn:       its PSN
 * @rtt:       its round trip
 * @srtt:      smoothed round trip (RFC 6298), 0: none was measured
 * @rttvar:    its variation
 * @min_rtt:   the shortest smoothed round trip of the last 10 to 20 s
 * @next_min:  the shortest one since @min_since
 * @min_since: when @next_min began
 * @steps:     quarters of @srtt in the reordering window
 * @calm:      recoveries since @steps changed
 * @valid:     @at, @psn and @rtt are set
 * @reordered: a packet has arrived behind one that was sent later
 */
struct pavo_rack {
	u32 at;
	u32 psn;
	u32 rtt;
	u32 srtt;
	u32 rttvar;
	u32 min_rtt;
	u32 next_min;
	u32 min_since;
	u8 steps;
	u8 calm;
	bool valid;
	bool reordered;
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
 * The shortest smoothed round trip: a packet that overtakes others says little of the path. Older
 * ones are forgotten, because a path may change.
 */
static inline void pavo_rack_note_min(struct pavo_rack *rack, u32 now)
{
	if (rack->srtt < rack->next_min)
		rack->next_min = rack->srtt;
	if (rack->srtt < rack->min_rtt)
		rack->min_rtt = rack->srtt;
	if (now - rack->min_since < PAVO_RACK_MIN_AGE)
		return;
	rack->min_rtt = rack->next_min;
	rack->next_min = rack->srtt;
	rack->min_since = now;
}

/** pavo_rack_measure - take a round trip into account: RFC 6298, 2.2 and 2.3. */
static inline void pavo_rack_measure(struct pavo_rack *rack, u32 rtt, u32 now)
{
	u32 off = rtt > rack->srtt ? rtt - rack->srtt : rack->srtt - rtt;

	if (!rtt)
		rtt = 1;
	if (!rack->srtt) {
		rack->srtt = rtt;
		rack->rttvar = rtt / 2;
		rack->min_rtt = rtt;
		rack->next_min = rtt;
		rack->min_since = now;
		return;
	}
	rack->rttvar = (3 * rack->rttvar + off) / 4;
	rack->srtt = (7 * rack->srtt + rtt + 7) / 8;
	pavo_rack_note_min(rack, now);
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

/** pavo_rack_widen - a retransmission was needless: its packet was only late. */
static inline void pavo_rack_widen(struct pavo_rack *rack)
{
	rack->reordered = true;
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

/** pavo_rack_is_delayed - true if round trips show a queue: a loss is one of congestion. */
static inline bool pavo_rack_is_delayed(const struct pavo_rack *rack)
{
	return rack->srtt > 2 * rack->min_rtt;
}

/** pavo_rack_get_probe_wait - how long a tail loss probe waits after the last transmission. */
static inline u32 pavo_rack_get_probe_wait(const struct pavo_rack *rack)
{
	return 2 * rack->srtt + 4 * rack->rttvar + PAVO_RACK_PROBE_SLACK;
}

#endif /* PAVO_RACK_H */
