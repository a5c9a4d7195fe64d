/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * drop_early.h - a policy of expected_psn.h, for a responder that executes requests as they arrive:
 * it drops those behind a gap (IBA 9.7.4.1.1). Pure.
 */
#ifndef PAVO_DROP_EARLY_H
#define PAVO_DROP_EARLY_H

#include "responder/expected_psn.h"

/* Send a sequence error NAK once, then drop packets until the expected one comes. */
static inline enum pavo_early_verdict pavo_drop_arrived(struct pavo_expected *e,
							u32 psn, u32 npkts)
{
	u32 end = pavo_psn_add(psn, npkts);

	if (e->nak_sent) {
		if (pavo_psn_diff(end, e->dropped) > 0)
			e->dropped = end;
		return PAVO_EARLY_DROP;
	}
	e->nak_sent = true;
	e->dropped = end;
	pavo_expected_ack(e, e->psn, PAVO_NAK_PSN_SEQ);
	return PAVO_EARLY_REPORT;
}

static const struct pavo_early_policy pavo_drop_early = {
	.arrived = pavo_drop_arrived,
};

#endif /* PAVO_DROP_EARLY_H */
