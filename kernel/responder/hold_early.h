/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hold_early.h - a policy of expected_psn.h, for a responder that holds requests behind a gap until
 * the gap closes (qp/out_of_order.h). Requesters that understand SACKs hear what is held. Others go
 * back to the gap: they hear of it once, as IBA 9.7.4.1.1 has it. Pure.
 */
#ifndef PAVO_HOLD_EARLY_H
#define PAVO_HOLD_EARLY_H

#include "responder/expected_psn.h"

/*
 * Requesters hear of the first packets behind a gap at once, so that they see soon whether it is a
 * loss; then of PAVO_SACK_EVERY together.
 */
#define PAVO_SACK_EACH 4

static inline enum pavo_early_verdict pavo_hold_arrived(struct pavo_expected *e,
							u32 psn, u32 npkts)
{
	u32 end = pavo_psn_add(psn, npkts);

	if (e->sacks && e->early < PAVO_SACK_EACH) {
		e->early++;
		pavo_expected_ack_all(e);
	} else if (pavo_expected_count_unreported(e, npkts)) {
		pavo_expected_ack_all(e);
	}
	if (e->nak_sent) {
		if (pavo_psn_diff(end, e->furthest) > 0)
			e->furthest = end;
		return PAVO_EARLY_HOLD;
	}
	e->nak_sent = true;
	e->furthest = end;
	if (!e->sacks)
		pavo_expected_ack(e, e->psn, PAVO_NAK_PSN_SEQ);
	return PAVO_EARLY_REPORT;
}

static const struct pavo_early_policy pavo_hold_early = {
	.arrived = pavo_hold_arrived,
};

#endif /* PAVO_HOLD_EARLY_H */
