/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recovery_policy.h - what a policy of recovery.h provides, and what events ask of callers. Pure.
 */
#ifndef PAVO_RECOVERY_POLICY_H
#define PAVO_RECOVERY_POLICY_H

#include <linux/types.h>

struct pavo_recovery;

/* Actions that an event asks of the caller: bits, to be carried out in this order. */
enum pavo_recovery_todo {
	PAVO_REC_SEEK =
		1 << 0, /* @next is elsewhere: find its WQE and packet */
	PAVO_REC_COMPLETE = 1
			    << 1, /* UPSN moved: complete the WQEs before it */
	PAVO_REC_TAKE = 1 << 2, /* take the data of the response */
	PAVO_REC_RETRANSMIT = 1 << 3, /* packets are sent once more */
	PAVO_REC_NO_RETRY =
		1 << 4, /* no retry is left: the oldest request fails */
	PAVO_REC_NO_RNR_RETRY = 1 << 5, /* likewise, after RNR NAKs */
	/* Reasons, for counters. */
	PAVO_REC_IMPLIED_NAK = 1 << 6, /* the response of a read is missing */
	PAVO_REC_OLD = 1 << 7, /* the response is of a PSN before UPSN */
	PAVO_REC_STRAY = 1 << 8, /* the response is of no outstanding request */
	PAVO_REC_COUNT_RETRANSMIT = 1
				    << 9, /* no packet of those sent was new */
	PAVO_REC_PROBE = 1 << 10, /* a tail loss probe is sent */
	PAVO_REC_WIDEN =
		1 << 11, /* the cwnd would be wider than the scoreboard */
};

/**
 * struct pavo_recovery_policy - decides what is retransmitted, and when.
 * @admits:    return whether @npkts packets from @next on may be sent now
 * @run:       return how many packets from @next on one request may stand for
 * @sent:      @npkts packets from @next on were sent, not for the first time if @again; set @next
 * @refused:   the interface has refused the packet of @psn and those sent after it; set @next
 * @released:  UPSN moved on from @from; set @next
 * @gap:       the packet at UPSN, or its response, is lost: the peer says so, or (@psn behind UPSN)
 *             has executed that packet
 * @not_ready: the peer cannot take the packet of @psn yet; the RNR timer runs. Set @next
 * @expired:   the loss timer expired
 * @notified:  a CNP has come, the first one in a round trip
 *
 * Of a policy for peers that send SACKs (@sacks); else NULL:
 * @held:      the peer holds the packet of @psn behind that at UPSN
 * @arrived:   and did not hold it before
 * @here:      this side holds @npkts responses from @psn on behind that at UPSN
 * @older:     responses from @psn on are here no more, and are to be requested again
 * @stale:     @npkts responses from @psn on have come and were dropped: request them again
 * @needless:  a packet has arrived once more than was needed
 * @marked:    the answer that is handled next says that so many packets more were marked; 0: it
 *             does not say how many
 * @congested: the queue of the own interface is full
 * @detect:    find what is lost, after such news
 * @repair:    the repair timer expired
 *
 * Functions that return bits return those of enum pavo_recovery_todo.
 */
struct pavo_recovery_policy {
	bool (*admits)(const struct pavo_recovery *r, u32 npkts);
	u32 (*run)(const struct pavo_recovery *r);
	unsigned int (*sent)(struct pavo_recovery *r, u32 npkts, bool again,
			     u64 now);
	void (*refused)(struct pavo_recovery *r, u32 psn);
	unsigned int (*released)(struct pavo_recovery *r, u32 from, u64 now);
	unsigned int (*gap)(struct pavo_recovery *r, u32 psn, u64 now);
	unsigned int (*not_ready)(struct pavo_recovery *r, u32 psn);
	unsigned int (*expired)(struct pavo_recovery *r, u64 now);
	void (*notified)(struct pavo_recovery *r);
	void (*held)(struct pavo_recovery *r, u32 psn);
	void (*arrived)(struct pavo_recovery *r, u32 psn, u64 now);
	void (*here)(struct pavo_recovery *r, u32 psn, u32 npkts);
	unsigned int (*older)(struct pavo_recovery *r, u32 psn);
	unsigned int (*stale)(struct pavo_recovery *r, u32 psn, u32 npkts);
	void (*needless)(struct pavo_recovery *r);
	void (*marked)(struct pavo_recovery *r, u32 packets);
	void (*congested)(struct pavo_recovery *r);
	unsigned int (*detect)(struct pavo_recovery *r, u64 now);
	unsigned int (*repair)(struct pavo_recovery *r, u64 now);
};

#endif /* PAVO_RECOVERY_POLICY_H */
