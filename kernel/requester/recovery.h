/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recovery.h - loss recovery of a requester: which PSN is sent next, and what ACKs, NAKs and timers
 * do to the PSNs of a queue pair.
 *
 * A machine of events. The requester reports what it has sent, what the peer has answered and which
 * timer has expired. Each event returns what has to be carried out (enum pavo_recovery_todo); the
 * machine itself touches no WQE, packet or hrtimer. The rules of IBA that any requester obeys are
 * here; what is retransmitted, and when, is up to a policy. The module has selective_repair.h.
 *
 * A caller names the policy, a constant, in each call. The functions are always inlined, so the
 * compiler calls those of the policy directly or inlines them, too. Callers pass the time in ns.
 * Pure.
 */
#ifndef PAVO_RECOVERY_H
#define PAVO_RECOVERY_H

#include <linux/compiler.h>
#include <linux/types.h>
#include "requester/cwnd.h"
#include "requester/multiqueue.h"
#include "requester/recovery_policy.h"
#include "requester/scoreboard.h"
#include "requester/timer_logic.h"
#include "wire/psn.h"

/*
 * A long read is requested in chunks of this many packets, so that the cwnd
 * bounds the burst of responses as it does the burst of requests.
 */
#define PAVO_READ_CHUNK PAVO_CWND_LEAST

/**
 * struct pavo_recovery - PSNs of a requester, and what is known of the packets in flight.
 * @npsn:        Next PSN: the first one that no WQE has
 * @upsn:        oldest unacknowledged PSN
 * @sent:        high-water mark: PSN behind the last one that was ever sent
 * @next:        PSN that is sent next; before @sent: a retransmission
 * @reads_out:   read and atomic requests that are unanswered
 * @reads_resent: of them: sent again, though the answer was held already; another answer comes
 * @reread:      PSN of the last read request that began inside a chunk; PAVO_PSN_NONE after
 *               progress of UPSN
 * @no_ack_req:  packets sent since the last AckReq
 * @cut:         the round trip in which the cwnd shrank for a mark or CNP ends when UPSN is here
 * @ack_requested: PSN behind a packet that was retransmitted only to set AckReq; else PAVO_PSN_NONE
 * @probing:     only the oldest packet is sent, with AckReq, until it is acknowledged
 * @went_back:   the policy has reacted to a gap at UPSN, which is done once for each UPSN
 * @sacks:       the peer sends SACKs, and @board is in use
 * @sacked:      it has sent them since this QP is in use: answers to repairs may be on their way
 * @board:       the packets in flight, one by one; NULL: no SACKs are wanted
 * @outstanding: MultiQueue
 * @cwnd:        limit of packets in flight
 * @timer:       loss timer and RNR timer
 */
struct pavo_recovery {
	u32 npsn;
	u32 upsn;
	u32 sent;
	u32 next;
	u32 reads_out;
	u32 reads_resent;
	u32 reread;
	u32 no_ack_req;
	u32 cut;
	u32 ack_requested;
	bool probing;
	bool went_back;
	bool sacks;
	bool sacked;
	struct pavo_scoreboard *board;
	struct pavo_multiqueue outstanding;
	struct pavo_cwnd cwnd;
	struct pavo_timer_state timer;
};

/* ------------------------------------------------- life (recovery.c) */

/**
 * pavo_recovery_init - set the state of RESET.
 * @r:     the machine
 * @board: its scoreboard; NULL: it makes no use of SACKs
 * @ring:  entries for outstanding messages, 2 * @count
 * @count: WQEs of the send queue, a power of two
 */
void pavo_recovery_init(struct pavo_recovery *r, struct pavo_scoreboard *board,
			struct pavo_mq_entry *ring, u32 count);

/** pavo_recovery_start - begin with PSN @psn; the QP enters RTS. */
void pavo_recovery_start(struct pavo_recovery *r, u32 psn);

/** pavo_recovery_set_mtu - set the path MTU, 256 to 4096. */
void pavo_recovery_set_mtu(struct pavo_recovery *r, u32 mtu);

/** pavo_recovery_set_limits - set timeout (ns; 0: none) and retries; the timers run on. */
void pavo_recovery_set_limits(struct pavo_recovery *r, u64 timeout, u8 retries,
			      u8 rnr_retries);

/** pavo_recovery_flush - forget outstanding messages and stop the timers; the QP is in error. */
void pavo_recovery_flush(struct pavo_recovery *r);

/* ------------------------------------------------- sending */

/**
 * pavo_recovery_assign - give a message its PSNs.
 * @r:     the machine
 * @npkts: how many
 *
 * Return: the first one.
 */
static inline u32 pavo_recovery_assign(struct pavo_recovery *r, u32 npkts)
{
	u32 first = r->npsn;

	r->npsn = pavo_psn_add(first, npkts);
	return first;
}

/**
 * pavo_recovery_expect - note a message of a reliable service, for which ACKs or responses come.
 * @r:        the machine
 * @wqe:      number of its WQE
 * @first:    its first PSN
 * @npkts:    its PSNs
 * @answered: it is a read or atomic
 */
static inline void pavo_recovery_expect(struct pavo_recovery *r, u32 wqe,
					u32 first, u32 npkts, bool answered)
{
	struct pavo_multiqueue *mq = &r->outstanding;

	pavo_mq_produce(answered ? &mq->reads : &mq->sends, wqe, first, npkts);
}

/** pavo_recovery_is_retransmit - true if the packet that is sent next was sent before. */
static inline bool pavo_recovery_is_retransmit(const struct pavo_recovery *r)
{
	return pavo_psn_diff(r->next, r->sent) < 0;
}

/*
 * True if the packet that is sent next is sent once more to a peer that sends SACKs: it is in
 * flight already, and counts once in all limits.
 */
static inline bool pavo_recovery_is_repair(const struct pavo_recovery *r)
{
	return unlikely(r->sacks) && pavo_recovery_is_retransmit(r);
}

/* PSN behind those in flight. A peer that sends SACKs keeps what lies behind a retransmission. */
static inline u32 pavo_recovery_get_end(const struct pavo_recovery *r)
{
	return r->sacks ? r->sent : r->next;
}

/** pavo_recovery_get_in_flight - packets from UPSN on that count as in flight. */
static inline u32 pavo_recovery_get_in_flight(const struct pavo_recovery *r)
{
	return pavo_psn_diff(pavo_recovery_get_end(r), r->upsn);
}

/** pavo_recovery_get_sends_in_flight - likewise, without reads and atomics. */
static inline u32
pavo_recovery_get_sends_in_flight(const struct pavo_recovery *r)
{
	return pavo_mq_span(&r->outstanding.sends, r->upsn,
			    pavo_recovery_get_end(r));
}

/** pavo_recovery_get_space - new packets from @next on that may be sent in one go; 1: no more. */
static inline u32 pavo_recovery_get_space(const struct pavo_recovery *r)
{
	u32 in_flight = pavo_recovery_get_in_flight(r);
	u32 most = pavo_cwnd_get_ack_req(&r->cwnd);
	u32 left = r->cwnd.size - in_flight;

	if (pavo_recovery_is_retransmit(r) || in_flight + 1 >= r->cwnd.size)
		return 1;
	return most < left ? most : left;
}

/**
 * pavo_read_span - packets of a read's response that the request at @next asks for.
 * @r:      the machine
 * @policy: its policy
 * @pkt:    index of @next in the response
 * @npkts:  packets of the response
 */
static __always_inline u32
pavo_read_span(const struct pavo_recovery *r,
	       const struct pavo_recovery_policy *policy, u32 pkt, u32 npkts)
{
	u32 chunk = PAVO_READ_CHUNK - pkt % PAVO_READ_CHUNK;
	u32 left = npkts - pkt, run = policy->run(r);

	if (chunk < left)
		left = chunk;
	return run < left ? run : left;
}

/** pavo_recovery_admits - true if @npkts packets from @next on may be sent now. */
static __always_inline bool
pavo_recovery_admits(const struct pavo_recovery *r,
		     const struct pavo_recovery_policy *policy, u32 npkts)
{
	return policy->admits(r, npkts);
}

/** pavo_recovery_is_ack_request - true if @npkts from @next on are sent to request an ACK. */
static inline bool pavo_recovery_is_ack_request(const struct pavo_recovery *r,
						u32 npkts)
{
	return pavo_psn_add(r->next, npkts) == r->ack_requested;
}

/**
 * pavo_recovery_wants_ack - true if packets need AckReq: often enough to keep the cwnd open, in a
 * probe, in a packet that is sent for it, and in repairs.
 * @r:     the machine
 * @npkts: how many packets, from @next on
 */
static inline bool pavo_recovery_wants_ack(const struct pavo_recovery *r,
					   u32 npkts)
{
	u32 most = pavo_cwnd_get_ack_req(&r->cwnd);

	if (pavo_recovery_is_ack_request(r, npkts))
		return true;
	/* Only the last packet of a super-packet can have AckReq: set it one early. */
	if (npkts > 1 && r->no_ack_req + 2 * npkts > most)
		return true;
	return r->no_ack_req + npkts >= most ||
	       (r->probing && pavo_recovery_is_retransmit(r)) ||
	       pavo_recovery_is_repair(r);
}

/** pavo_recovery_send_needs_time - true if pavo_recovery_sent() needs the time. */
static inline bool pavo_recovery_send_needs_time(const struct pavo_recovery *r)
{
	return r->sacks || (!r->timer.loss && r->timer.timeout);
}

/**
 * struct pavo_sent - packets that were sent.
 * @npkts:    their PSNs, from @next on
 * @answered: they are one request of a read or atomic
 * @in_chunk: it is a read and began inside a chunk
 * @ack_req:  the last one had AckReq
 */
struct pavo_sent {
	u32 npkts;
	bool answered;
	bool in_chunk;
	bool ack_req;
};

/**
 * pavo_recovery_sent - event: packets were sent, or have no route and count as lost.
 * @r:      the machine
 * @policy: its policy
 * @what:   the packets
 * @now:    the time, if pavo_recovery_send_needs_time()
 *
 * Return: PAVO_REC_COUNT_RETRANSMIT, PAVO_REC_SEEK.
 */
static __always_inline unsigned int
pavo_recovery_sent(struct pavo_recovery *r,
		   const struct pavo_recovery_policy *policy,
		   const struct pavo_sent *what, u64 now)
{
	u32 end = pavo_psn_add(r->next, what->npkts);
	bool again = pavo_psn_diff(end, r->sent) <= 0;
	unsigned int todo = 0;

	if (what->ack_req || what->answered)
		r->no_ack_req = 0;
	else
		r->no_ack_req += what->npkts;
	if (again)
		todo = PAVO_REC_COUNT_RETRANSMIT;
	else
		r->sent = end;
	/* A peer that sends SACKs counts a request once, whatever of it is repaired. */
	if (what->answered && !(r->sacks && again))
		r->reads_out++;
	if (what->in_chunk)
		r->reread = r->next;
	if (!r->timer.loss && r->timer.timeout)
		pavo_timer_set(&r->timer, now);
	return todo | policy->sent(r, what->npkts, again, now);
}

/**
 * pavo_recovery_handle_refusal - event: the interface has refused packets that were sent. The
 * cursor is to move to @next.
 * @r:      the machine
 * @policy: its policy
 * @psn:    the first one of these
 */
static __always_inline void
pavo_recovery_handle_refusal(struct pavo_recovery *r,
			     const struct pavo_recovery_policy *policy, u32 psn)
{
	policy->refused(r, psn);
}

/** pavo_recovery_seek - the caller's cursor has moved to the packet of @psn. */
static inline void pavo_recovery_seek(struct pavo_recovery *r, u32 psn)
{
	r->next = psn;
}

/** pavo_recovery_end_sent - event: what was sent is done, as no ACK is to come. */
static inline void pavo_recovery_end_sent(struct pavo_recovery *r)
{
	r->upsn = r->sent;
}

/** pavo_recovery_skip - event: all up to Next PSN is done, as no ACK is to come. */
static inline void pavo_recovery_skip(struct pavo_recovery *r)
{
	r->sent = r->npsn;
	r->next = r->npsn;
	r->upsn = r->npsn;
	r->cut = r->npsn;
}

/**
 * pavo_recovery_request_ack - event: the packet before @end is to be retransmitted with AckReq.
 * @r:   recovery state
 * @end: PSN behind that packet
 *
 * Return: 0: retransmit it; -EALREADY: a packet before @end has requested its ACK.
 */
static inline int pavo_recovery_request_ack(struct pavo_recovery *r, u32 end)
{
	if (!r->no_ack_req || end == r->ack_requested ||
	    pavo_psn_diff(end, r->upsn) <= 0)
		return -EALREADY;
	r->ack_requested = end;
	return 0;
}

/** pavo_recovery_completes - true if a message of @npkts packets from @first on is acknowledged. */
static inline bool pavo_recovery_completes(const struct pavo_recovery *r,
					   u32 first, u32 npkts)
{
	return pavo_psn_is_passed(r->upsn, first, npkts);
}

/* ------------------------------------------------- responses */

/** pavo_recovery_handle_stray - the reason to drop a response of @psn. */
static inline unsigned int
pavo_recovery_handle_stray(const struct pavo_recovery *r, u32 psn)
{
	return pavo_psn_diff(psn, r->upsn) < 0 ? PAVO_REC_OLD : PAVO_REC_STRAY;
}

/**
 * pavo_recovery_release_needs_time - true if pavo_recovery_answered() needs the time. If all is
 * answered no timer runs.
 * @r:   the machine
 * @end: PSN behind the response
 */
static inline bool
pavo_recovery_release_needs_time(const struct pavo_recovery *r, u32 end)
{
	return r->sacks || end != r->sent;
}

/** pavo_recovery_ack_needs_time - likewise pavo_recovery_ack(): a read may lack its response. */
static inline bool pavo_recovery_ack_needs_time(const struct pavo_recovery *r,
						u32 end)
{
	return pavo_recovery_release_needs_time(r, end) ||
	       pavo_mq_find_oldest(&r->outstanding.reads);
}

/* Forget the requests that were answered and are retransmitted: no copy of an answer is awaited. */
static inline void pavo_recovery_forget_reads(struct pavo_recovery *r)
{
	r->reads_out -= r->reads_resent;
	r->reads_resent = 0;
}

/* Release all packets before PSN @until. */
static __always_inline unsigned int
pavo_recovery_release(struct pavo_recovery *r,
		      const struct pavo_recovery_policy *policy, u32 until,
		      u64 now)
{
	u32 from = r->upsn;

	if (until == from)
		return 0;
	r->upsn = until;
	/* It moves along, as PSNs wrap. */
	if (pavo_psn_diff(until, r->cut) > 0)
		r->cut = until;
	pavo_mq_release(&r->outstanding.sends, until);
	pavo_mq_release(&r->outstanding.reads, until);
	r->reread = PAVO_PSN_NONE;
	r->ack_requested = PAVO_PSN_NONE;
	pavo_timer_restart(&r->timer, now);
	if (until == r->sent)
		pavo_timer_stop(&r->timer);
	if (r->reads_resent && until == r->npsn)
		pavo_recovery_forget_reads(r);
	return PAVO_REC_COMPLETE | policy->released(r, from, now);
}

/**
 * pavo_recovery_ack - event: an ACK of @psn, which acknowledges all packets up to that one.
 * @r:      the machine
 * @policy: its policy
 * @psn:    PSN of the ACK
 * @now:    the time, if pavo_recovery_ack_needs_time() for the PSN behind @psn
 *
 * Return: what is to be done. PAVO_REC_IMPLIED_NAK: a read before @psn lacks its response.
 */
static __always_inline unsigned int
pavo_recovery_ack(struct pavo_recovery *r,
		  const struct pavo_recovery_policy *policy, u32 psn, u64 now)
{
	enum pavo_ack_verdict verdict;
	unsigned int todo;
	u32 until;

	verdict = pavo_multiqueue_ack(&r->outstanding, r->upsn, r->sent, psn,
				      &until);
	if (verdict == PAVO_ACK_DROP)
		return pavo_recovery_handle_stray(r, psn);
	todo = pavo_recovery_release(r, policy, until, now);
	if (verdict == PAVO_ACK_READ_LOST)
		todo |= PAVO_REC_IMPLIED_NAK | policy->gap(r, psn, now);
	return todo;
}

/**
 * pavo_recovery_nak - event: a NAK of @psn, which acknowledges all packets before that one.
 * @r:      the machine
 * @policy: its policy
 * @psn:    PSN of the NAK
 * @now:    the time, ns
 *
 * pavo_recovery_handle_gap() or pavo_recovery_handle_rnr() follows, as the NAK says, unless this
 * event returns PAVO_REC_OLD or PAVO_REC_STRAY.
 *
 * Return: as pavo_recovery_ack().
 */
static __always_inline unsigned int
pavo_recovery_nak(struct pavo_recovery *r,
		  const struct pavo_recovery_policy *policy, u32 psn, u64 now)
{
	if (pavo_psn_diff(psn, r->upsn) < 0 || pavo_psn_diff(psn, r->sent) >= 0)
		return pavo_recovery_handle_stray(r, psn);
	if (psn == r->upsn)
		return 0;
	return pavo_recovery_ack(r, policy, pavo_psn_add(psn, -1), now);
}

/** pavo_recovery_handle_gap - event: the peer lacks the packet at UPSN, and has had later ones. */
static __always_inline unsigned int
pavo_recovery_handle_gap(struct pavo_recovery *r,
			 const struct pavo_recovery_policy *policy, u64 now)
{
	return policy->gap(r, r->upsn, now);
}

/**
 * pavo_recovery_handle_rnr - event: an RNR NAK.
 * @r:      the machine
 * @policy: its policy
 * @psn:    PSN of the NAK: UPSN, or behind a read that lacks its response
 * @delay:  RNR timer field of the NAK, in ns
 * @now:    the time, ns
 *
 * Return: what is to be done; 0: the RNR timer runs already, as the peer may have sent an RNR NAK
 * for more than one packet.
 */
static __always_inline unsigned int
pavo_recovery_handle_rnr(struct pavo_recovery *r,
			 const struct pavo_recovery_policy *policy, u32 psn,
			 u64 delay, u64 now)
{
	if (r->timer.rnr)
		return 0;
	if (pavo_timer_start_rnr(&r->timer, now, delay))
		return PAVO_REC_NO_RNR_RETRY;
	return policy->not_ready(r, psn);
}

/**
 * pavo_recovery_handle_response - event: a response to a read or atomic.
 * @r:      the machine
 * @policy: its policy
 * @psn:    its PSN
 * @now:    the time, unless @psn is UPSN
 *
 * It acknowledges the sends and writes before it. If it is the expected one, its data is taken
 * first; pavo_recovery_answered() follows.
 *
 * Return: what is to be done, with PAVO_REC_TAKE, PAVO_REC_IMPLIED_NAK, PAVO_REC_OLD or
 * PAVO_REC_STRAY.
 */
static __always_inline unsigned int
pavo_recovery_handle_response(struct pavo_recovery *r,
			      const struct pavo_recovery_policy *policy,
			      u32 psn, u64 now)
{
	enum pavo_ack_verdict verdict;
	unsigned int todo;
	u32 until;

	verdict = pavo_multiqueue_response(&r->outstanding, r->upsn, r->sent,
					   psn, &until);
	if (verdict == PAVO_ACK_DROP)
		return pavo_recovery_handle_stray(r, psn);
	todo = pavo_recovery_release(r, policy, until, now);
	if (verdict == PAVO_ACK_RELEASE)
		return todo | PAVO_REC_TAKE;
	return todo | PAVO_REC_IMPLIED_NAK | policy->gap(r, psn, now);
}

/** pavo_read_chunk_ends - true if a chunk of a read of @npkts packets ends in front of @pkt. */
static inline bool pavo_read_chunk_ends(u32 npkts, u32 pkt)
{
	return pkt == npkts || pkt % PAVO_READ_CHUNK == 0;
}

/**
 * pavo_recovery_is_in_place - true if packets of a read's response have the opcode of their place.
 * @r:      the machine
 * @psn:    PSN of the first one
 * @n:      its index in the response
 * @npkts:  how many they are
 * @total:  packets of the response
 * @first:  the opcode is First or Only
 * @last:   it is Last or Only
 *
 * The response to a chunk is First .. Last or Only. After a request from the middle of a chunk on
 * it begins there, too, unless this is the delayed response to the first request. Repairs have any
 * range inside of a chunk.
 */
static inline bool pavo_recovery_is_in_place(const struct pavo_recovery *r,
					     u32 psn, u32 n, u32 npkts,
					     u32 total, bool first, bool last)
{
	bool ends = pavo_read_chunk_ends(total, n + npkts);

	if (n % PAVO_READ_CHUNK + npkts > PAVO_READ_CHUNK || (ends && !last))
		return false;
	if (r->sacked)
		return first || n % PAVO_READ_CHUNK;
	if (last && !ends)
		return false;
	if (n % PAVO_READ_CHUNK)
		return !first || psn == r->reread;
	return first;
}

/**
 * struct pavo_answer - a response whose data was taken.
 * @end:  PSN behind it
 * @ends: it ends what a request has requested
 * @held: it came early and was held, so the request may have been sent again since
 */
struct pavo_answer {
	u32 end;
	bool ends;
	bool held;
};

/* A request is answered. Count what the responder still works on, as far as the answer shows it. */
static inline void pavo_recovery_end_read(struct pavo_recovery *r,
					  const struct pavo_answer *what)
{
	if (r->sacks) {
		if (r->reads_out)
			r->reads_out--;
		return;
	}
	if (what->held) {
		/* Of one that was not sent again yet nothing is counted. */
		if (pavo_psn_diff(what->end, r->next) <= 0 &&
		    r->reads_resent < r->reads_out)
			r->reads_resent++;
		return;
	}
	/* The responder works in order: it has done what was sent before this request. */
	pavo_recovery_forget_reads(r);
	if (r->reads_out)
		r->reads_out--;
}

/**
 * pavo_recovery_answered - event: the data of the expected response was taken.
 * @r:      the machine
 * @policy: its policy
 * @what:   the response
 * @now:    the time, if pavo_recovery_release_needs_time() for its end
 */
static __always_inline unsigned int
pavo_recovery_answered(struct pavo_recovery *r,
		       const struct pavo_recovery_policy *policy,
		       const struct pavo_answer *what, u64 now)
{
	if (what->ends)
		pavo_recovery_end_read(r, what);
	return pavo_recovery_release(r, policy, what->end, now);
}

/**
 * pavo_recovery_get_reads - reads and atomics that the responder is at work on.
 * @r: the machine
 *
 * If all that is counted was answered before, the copies of the answers may be lost, and nothing
 * else comes: none.
 */
static inline u32 pavo_recovery_get_reads(const struct pavo_recovery *r)
{
	if (r->reads_resent == r->reads_out && r->upsn == r->next)
		return 0;
	return r->reads_out;
}

/**
 * pavo_recovery_may_read - true if a read or atomic may be sent.
 * @r:    the machine
 * @most: how many may be outstanding
 */
static inline bool pavo_recovery_may_read(const struct pavo_recovery *r,
					  u32 most)
{
	return pavo_recovery_get_reads(r) < most || pavo_recovery_is_repair(r);
}

/** pavo_recovery_answered_twice - event: the end of a response to an answered request came. */
static inline void pavo_recovery_answered_twice(struct pavo_recovery *r)
{
	if (!r->reads_resent)
		return;
	r->reads_resent--;
	r->reads_out--;
}

/* ------------------------------------------------- timers */

/** pavo_recovery_is_delayed - true if nothing may be sent until the RNR timer expires. */
static inline bool pavo_recovery_is_delayed(const struct pavo_recovery *r)
{
	return r->timer.rnr;
}

/**
 * pavo_recovery_end_delay - end the RNR delay if its time has come.
 * @r:   the machine
 * @now: the time, ns
 *
 * The loss timer runs again, even if nothing is sent now: all may be held, as a SACK says that is
 * older than the RNR NAK.
 *
 * Return: true if it has ended.
 */
static inline bool pavo_recovery_end_delay(struct pavo_recovery *r, u64 now)
{
	if (!pavo_timer_end_rnr(&r->timer, now))
		return false;
	if (r->upsn != r->sent)
		pavo_timer_set(&r->timer, now);
	return true;
}

/** pavo_recovery_expired - event: the loss timer expired. */
static __always_inline unsigned int
pavo_recovery_expired(struct pavo_recovery *r,
		      const struct pavo_recovery_policy *policy, u64 now)
{
	return policy->expired(r, now);
}

#endif /* PAVO_RECOVERY_H */
