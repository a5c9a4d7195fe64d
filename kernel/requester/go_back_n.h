/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * go_back_n.h - go-back-N, the part of selective_repair.h for peers that send no SACKs: after a
 * loss all packets from UPSN on are sent once more, as IBA 9.7.5 has it for a responder that keeps
 * none behind a gap. Pure.
 */
#ifndef PAVO_GO_BACK_N_H
#define PAVO_GO_BACK_N_H

#include "requester/congestion.h"
#include "requester/recovery.h"

static inline bool pavo_gbn_admits(const struct pavo_recovery *r, u32 npkts)
{
	u32 in_flight = pavo_recovery_get_in_flight(r);

	return !(r->probing && in_flight) &&
	       pavo_cwnd_admits(&r->cwnd, in_flight, npkts);
}

/* All that is behind the next packet is sent after it. */
static inline u32 pavo_gbn_run(const struct pavo_recovery *r)
{
	return ~0u;
}

static inline unsigned int pavo_gbn_sent(struct pavo_recovery *r, u32 npkts,
					 bool again, u64 now)
{
	r->next = pavo_psn_add(r->next, npkts);
	return 0;
}

static inline unsigned int pavo_gbn_released(struct pavo_recovery *r, u32 from,
					     u64 now)
{
	const struct pavo_progress progress = {
		.packets = (u32)pavo_psn_diff(r->upsn, from),
	};

	pavo_cc_loss.acked(&r->cwnd, &progress);
	r->probing = false;
	r->went_back = false;
	if (pavo_psn_diff(r->upsn, r->next) <= 0)
		return 0;
	/* A response to packets sent before @next went back: do not retransmit these. */
	r->next = r->upsn;
	return PAVO_REC_SEEK;
}

/*
 * Go back once for a gap: more responses may report the same one. If the retransmission is lost,
 * the loss timer expires; without a set value it runs after a repeated report
 * (pavo_timer_gap_repeated()).
 */
static inline unsigned int pavo_gbn_handle_gap(struct pavo_recovery *r, u32 psn,
					       u64 now)
{
	if (r->went_back) {
		pavo_timer_gap_repeated(&r->timer, now);
		return 0;
	}
	if (pavo_timer_retry(&r->timer, now))
		return PAVO_REC_NO_RETRY;
	pavo_cc_loss.lost(&r->cwnd, 1, false);
	r->went_back = true;
	r->reads_out = 0;
	r->reads_resent = 0;
	r->next = r->upsn;
	return PAVO_REC_SEEK | PAVO_REC_RETRANSMIT;
}

/*
 * The peer may report the packets behind that one as a gap, during the delay or after it: do not
 * go back for that.
 */
static inline unsigned int pavo_gbn_handle_rnr(struct pavo_recovery *r, u32 psn)
{
	r->probing = false;
	r->went_back = true;
	r->reads_out = 0;
	r->reads_resent = 0;
	r->next = r->upsn;
	return PAVO_REC_SEEK | PAVO_REC_RETRANSMIT;
}

/*
 * Retransmit the oldest packet, and no other until it is answered. Without a set value the timer
 * ran because the peer reported a gap twice: retransmit the packets behind the oldest one, too.
 */
static inline unsigned int pavo_gbn_expired(struct pavo_recovery *r, u64 now)
{
	unsigned int todo;

	r->went_back = false;
	todo = pavo_gbn_handle_gap(r, r->upsn, now);
	r->probing = r->went_back && r->timer.timeout;
	return todo;
}

/* Routers have marked packets of this side, as the peer's CNP says. */
static inline void pavo_gbn_note_cnp(struct pavo_recovery *r)
{
	pavo_cc_loss.marked(&r->cwnd, PAVO_ECN_WHOLE);
}

static inline void pavo_gbn_refused(struct pavo_recovery *r, u32 psn)
{
	r->next = psn;
}

#endif /* PAVO_GO_BACK_N_H */
