/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pacing.h - when packets leave: as many in a round trip as the cwnd has and a quarter more,
 * evenly, so that a burst does not fill a short queue. sch_fq holds them until then. Pure.
 */
#ifndef PAVO_PACING_H
#define PAVO_PACING_H

#include <linux/math64.h>
#include "requester/cwnd.h"
#include "requester/rack.h"

/**
 * pavo_pacing_get_gap - the time between two packets, ns.
 * @w:    the cwnd: in slow start it doubles in a round trip, so two of it leave
 * @srtt: round trip, in the units of rack.h
 */
static inline u64 pavo_pacing_get_gap(const struct pavo_cwnd *w, u32 srtt)
{
	u32 packets = w->size + w->size / 4;

	if (w->size < w->threshold)
		packets = 2 * w->size;
	return div_u64(pavo_rack_to_ns(srtt), packets);
}

#endif /* PAVO_PACING_H */
