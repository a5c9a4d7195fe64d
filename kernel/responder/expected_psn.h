/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * expected_psn.h - the expected PSN of a responder: what becomes of a request by its PSN, and which
 * ACK or NAK is due (IBA 9.7.4.1.1 and 9.9.2).
 *
 * A machine of events, as requester/recovery.h: a request arrives, was executed, or finds no
 * receive WQE. It touches no packet and no memory. A policy decides what becomes of requests that
 * come early, behind a gap: a constant that the caller names and the compiler folds. The module has
 * hold_early.h. Pure.
 */
#ifndef PAVO_EXPECTED_PSN_H
#define PAVO_EXPECTED_PSN_H

#include <linux/compiler.h>
#include <linux/types.h>
#include "wire/psn.h"
#include "wire/wire.h"

/**
 * struct pavo_expected - the expected PSN.
 * @psn:      it
 * @far:      number of requests with an implausible PSN (pavo_psn_is_far())
 * @furthest: behind the furthest request that was early since a NAK is due
 * @nak_sent: a sequence error NAK or an RNR NAK is due, or was sent, for @psn
 * @ack_due:  an ACK or NAK is to be sent
 * @ack_syndrome: its syndrome
 * @ack_psn:  its PSN
 */
struct pavo_expected {
	u32 psn;
	u32 far;
	u32 furthest;
	bool nak_sent;
	bool ack_due;
	u8 ack_syndrome;
	u32 ack_psn;
};

/* Verdict on a request by its PSN. */
enum pavo_psn_verdict {
	PAVO_PSN_EXECUTE, /* it is the expected one */
	PAVO_PSN_DUPLICATE, /* it was executed before */
	PAVO_PSN_EARLY, /* requests before it are missing */
};

/* Verdict on a request that is early. */
enum pavo_early_verdict {
	PAVO_EARLY_REPORT, /* hold it; a sequence error NAK is due now */
	PAVO_EARLY_HOLD, /* hold it until those before it are there */
	PAVO_EARLY_DROP, /* drop it: it is held */
};

/**
 * struct pavo_early_policy - what a responder does with requests behind a gap.
 * @arrived: @npkts packets from @psn on are early; note them in @e
 */
struct pavo_early_policy {
	enum pavo_early_verdict (*arrived)(struct pavo_expected *e, u32 psn,
					   u32 npkts);
};

/** pavo_expected_reset - nothing has arrived; pavo_expected_start() follows. */
static inline void pavo_expected_reset(struct pavo_expected *e)
{
	e->far = 0;
	e->furthest = 0;
	e->nak_sent = false;
	e->ack_due = false;
}

/** pavo_expected_start - the QP enters RTR: @psn is the first one. */
static inline void pavo_expected_start(struct pavo_expected *e, u32 psn)
{
	e->psn = psn;
}

/** pavo_expected_find - event: a request of @psn arrives. */
static inline enum pavo_psn_verdict pavo_expected_find(struct pavo_expected *e,
						       u32 psn)
{
	s32 ahead = pavo_psn_diff(psn, e->psn);

	if (!ahead)
		return PAVO_PSN_EXECUTE;
	if (pavo_psn_is_far(ahead))
		e->far++;
	return ahead > 0 ? PAVO_PSN_EARLY : PAVO_PSN_DUPLICATE;
}

/** pavo_expected_begin - event: the expected request is executed; the gap before it is closed. */
static inline void pavo_expected_begin(struct pavo_expected *e)
{
	e->nak_sent = false;
}

static inline bool pavo_expected_nak_is_due(const struct pavo_expected *e)
{
	return e->ack_due && e->ack_syndrome & PAVO_AETH_CLASS;
}

/**
 * pavo_expected_ack - an ACK or NAK becomes due.
 * @e:        the expected PSN
 * @psn:      PSN of the ACK or NAK
 * @syndrome: its syndrome
 *
 * An ACK of a PSN before a waiting NAK is left out: the NAK acknowledges that PSN, too.
 */
static inline void pavo_expected_ack(struct pavo_expected *e, u32 psn,
				     u8 syndrome)
{
	if (pavo_expected_nak_is_due(e) && !(syndrome & PAVO_AETH_CLASS) &&
	    pavo_psn_diff(psn, e->ack_psn) < 0)
		return;
	e->ack_due = true;
	e->ack_psn = psn;
	e->ack_syndrome = syndrome;
}

/** pavo_expected_ack_all - an ACK of all that was executed becomes due. */
static inline void pavo_expected_ack_all(struct pavo_expected *e)
{
	pavo_expected_ack(e, pavo_psn_add(e->psn, -1), PAVO_AETH_ACK_UNLIMITED);
}

/*
 * The packet that a NAK names has come before that NAK was sent. If requests behind that packet
 * came early, let the NAK name the next one that is missing: the requester ignores a NAK before its
 * oldest request, and would retransmit only after its loss timer. Those that are held are executed
 * before the NAK is sent, and renew it, too.
 */
static inline void pavo_expected_renew_nak(struct pavo_expected *e)
{
	e->nak_sent = pavo_psn_diff(e->furthest, e->psn) > 0;
	if (e->nak_sent) {
		e->ack_psn = e->psn;
		e->ack_syndrome = PAVO_NAK_PSN_SEQ;
	} else {
		e->ack_psn = pavo_psn_add(e->psn, -1);
		e->ack_syndrome = PAVO_AETH_ACK_UNLIMITED;
	}
}

/** pavo_expected_advance - event: @npkts packets from the expected PSN on were executed. */
static inline void pavo_expected_advance(struct pavo_expected *e, u32 npkts)
{
	e->psn = pavo_psn_add(e->psn, npkts);
	if (pavo_expected_nak_is_due(e))
		pavo_expected_renew_nak(e);
}

/** pavo_expected_handle_early - event: @npkts packets from @psn on are early (PAVO_PSN_EARLY). */
static __always_inline enum pavo_early_verdict
pavo_expected_handle_early(struct pavo_expected *e,
			   const struct pavo_early_policy *policy, u32 psn,
			   u32 npkts)
{
	return policy->arrived(e, psn, npkts);
}

/**
 * pavo_expected_handle_rnr - event: the expected request finds no receive WQE. An RNR NAK becomes
 * due: the requester retransmits the request after a delay.
 * @e:        the expected PSN
 * @syndrome: of the NAK
 */
static inline void pavo_expected_handle_rnr(struct pavo_expected *e,
					    u8 syndrome)
{
	if (!pavo_expected_nak_is_due(e))
		e->furthest = e->psn;
	pavo_expected_ack(e, e->psn, syndrome);
	/* Packets behind it in flight must not be reported as a gap. */
	e->nak_sent = true;
}

#endif /* PAVO_EXPECTED_PSN_H */
