// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* recovery_channel.cpp - the two ends of recovery_channel.h. */
#include "recovery_channel.h"

#include <algorithm>

extern "C" {
#include "responder/hold_early.h"
}

namespace channel {

/* --------------------------------------------------------------- responder */

const pavo_early_policy ModelResponder::hold = {.arrived = hold_early};

/* Keep what is new; its PSNs are noted ahead of the expected one. */
pavo_early_verdict ModelResponder::hold_early(pavo_expected *e, uint32_t psn,
					      uint32_t npkts)
{
	pavo_seen *seen = &reinterpret_cast<Ends *>(e)->seen;
	uint32_t ahead = pavo_psn_diff(psn, e->psn);
	bool news = false;

	for (uint32_t i = 0; i < npkts; i++) {
		if (pavo_seen_find_ahead(seen, ahead + i) != PAVO_SEEN_NEW)
			continue;
		pavo_seen_note(seen, seen->base + ahead + i);
		news = true;
	}
	return news ? PAVO_EARLY_HOLD : PAVO_EARLY_DROP;
}

void ModelResponder::respond(uint64_t now, const Packet &packet)
{
	for (uint32_t i = 0; i < packet.npkts; i++)
		back_.push(now,
			   {Packet::RESPONSE, pavo_psn_add(packet.psn, i)});
}

void ModelResponder::execute(uint64_t now, const Packet &packet)
{
	pavo_expected *e = &ends_.expected;

	pavo_expected_begin(e);
	for (uint32_t i = 0; i < packet.npkts; i++)
		executed.push_back(pavo_psn_add(packet.psn, i));
	pavo_expected_advance(e, packet.npkts);
	if (packet.kind == Packet::READ)
		respond(now, packet);
	else if (packet.ack_req)
		pavo_expected_ack_all(e);
}

void ModelResponder::take_early(uint64_t now, const Packet &packet)
{
	pavo_expected *e = &ends_.expected;
	const pavo_early_policy *policy = holds_ ? &hold : &pavo_hold_early;

	pavo_early_verdict verdict =
		pavo_expected_handle_early(e, policy, packet.psn, packet.npkts);

	if (!holds_ || verdict == PAVO_EARLY_DROP)
		return;
	held_[packet.psn] = packet;
	back_.push(now, {.kind = Packet::HELD,
			 .psn = packet.psn,
			 .npkts = packet.npkts,
			 .expected = e->psn});
}

void ModelResponder::take(uint64_t now, const Packet &packet)
{
	pavo_expected *e = &ends_.expected;
	uint32_t base = ends_.seen.base;

	switch (pavo_expected_find(e, packet.psn)) {
	case PAVO_PSN_EXECUTE:
		execute(now, packet);
		/* Notes may take the base behind packets that are held. */
		for (uint32_t i = 0; i < packet.npkts; i++) {
			uint32_t ahead = base + i - ends_.seen.base;

			if (static_cast<int32_t>(ahead) >= 0)
				pavo_seen_note(&ends_.seen, base + i);
		}
		while (!held_.empty() && held_.begin()->first == e->psn) {
			execute(now, held_.begin()->second);
			held_.erase(held_.begin());
		}
		break;
	case PAVO_PSN_EARLY:
		take_early(now, packet);
		break;
	case PAVO_PSN_DUPLICATE:
		if (packet.kind == Packet::READ)
			respond(now, packet);
		else
			pavo_expected_ack_all(e);
	}
	if (!e->ack_due)
		return;
	e->ack_due = false;
	back_.push(now, {.kind = Packet::ACK,
			 .psn = e->ack_psn,
			 .syndrome = e->ack_syndrome});
}

/* --------------------------------------------------------------- requester */

constexpr uint64_t timeout = 1000;

ModelRequester::ModelRequester(pavo_recovery &recovery,
			       const pavo_recovery_policy &policy, uint32_t psn,
			       Wire &out)
	: r(recovery), policy_(policy), out_(out), ring_(2 * 1024)
{
	pavo_recovery_init(&r, ring_.data(), 1024);
	pavo_recovery_start(&r, psn);
	/* Retries are not the matter here. */
	pavo_recovery_set_limits(&r, timeout, 255, 7);
}

void ModelRequester::post(uint32_t npkts, bool read)
{
	uint32_t first = pavo_recovery_assign(&r, npkts);

	pavo_recovery_expect(&r, messages_.size(), first, npkts, read);
	messages_.push_back({first, npkts, read});
}

const Message &ModelRequester::message_at(uint32_t psn) const
{
	return *std::find_if(messages_.begin() + completed, messages_.end(),
			     [&](const Message &message) {
				     return pavo_psn_diff(psn, message.first) <
					    static_cast<int32_t>(message.npkts);
			     });
}

void ModelRequester::carry_out(unsigned int todo)
{
	if (todo & (PAVO_REC_NO_RETRY | PAVO_REC_NO_RNR_RETRY))
		failed = true;
	if (todo & PAVO_REC_COUNT_RETRANSMIT)
		again++;
	while (completed < messages_.size() &&
	       pavo_recovery_completes(&r, messages_[completed].first,
				       messages_[completed].npkts))
		completed++;
}

void ModelRequester::send(uint64_t now)
{
	if (pavo_recovery_is_delayed(&r) || r.next == r.npsn)
		return;
	const Message &message = message_at(r.next);
	uint32_t at = pavo_psn_diff(r.next, message.first), span = 1;

	if (message.read)
		span = pavo_read_span(&r, &policy_, at, message.npkts);
	if (!pavo_recovery_admits(&r, &policy_, span))
		return;
	Packet packet = {.kind = message.read ? Packet::READ : Packet::WRITE,
			 .psn = r.next,
			 .npkts = span};
	packet.ack_req = !message.read && (at + span == message.npkts ||
					   pavo_recovery_wants_ack(&r, span));
	const pavo_sent what = {span, message.read,
				message.read && at % PAVO_READ_CHUNK != 0,
				packet.ack_req};

	out_.push(now, packet);
	sent++;
	carry_out(pavo_recovery_sent(&r, &policy_, &what, now));
}

/* Is it behind a response that is missing? */
bool ModelRequester::is_early(uint32_t psn) const
{
	const pavo_mq_entry *read = pavo_mq_find_oldest(&r.outstanding.reads);

	if (!read || pavo_psn_diff(psn, r.sent) >= 0)
		return false;
	return pavo_psn_diff(psn, r.upsn) > 0 &&
	       pavo_psn_diff(psn, read->first) > 0;
}

void ModelRequester::take_response(uint64_t now, uint32_t psn)
{
	unsigned int todo;

	if (policy_.held && is_early(psn)) {
		early_.insert(psn);
		carry_out(pavo_recovery_held(&r, &policy_, psn, 1, now));
		return;
	}
	todo = pavo_recovery_handle_response(&r, &policy_, psn, now);
	while (todo & PAVO_REC_TAKE) {
		const Message &message = message_at(psn);
		uint32_t end = pavo_psn_add(psn, 1);
		const pavo_answer what = {
			end, pavo_read_chunk_ends(
				     message.npkts,
				     pavo_psn_diff(end, message.first))};

		taken.push_back(psn);
		todo |= pavo_recovery_answered(&r, &policy_, &what, now);
		carry_out(todo);
		todo = 0;
		if (early_.erase(r.upsn)) {
			psn = r.upsn;
			todo = pavo_recovery_handle_response(&r, &policy_, psn,
							     now);
		}
	}
	carry_out(todo);
}

void ModelRequester::take(uint64_t now, const Packet &packet)
{
	unsigned int todo = 0;

	switch (packet.kind) {
	case Packet::RESPONSE:
		take_response(now, packet.psn);
		return;
	case Packet::HELD:
		todo = pavo_recovery_nak(&r, &policy_, packet.expected, now);
		if (!(todo & (PAVO_REC_OLD | PAVO_REC_STRAY)))
			todo |= pavo_recovery_held(&r, &policy_, packet.psn,
						   packet.npkts, now);
		break;
	default:
		if (packet.syndrome == PAVO_AETH_ACK_UNLIMITED) {
			todo = pavo_recovery_ack(&r, &policy_, packet.psn, now);
			break;
		}
		todo = pavo_recovery_nak(&r, &policy_, packet.psn, now);
		if (!(todo &
		      (PAVO_REC_OLD | PAVO_REC_STRAY | PAVO_REC_IMPLIED_NAK)))
			todo |= pavo_recovery_handle_gap(&r, &policy_, now);
	}
	carry_out(todo);
}

void ModelRequester::check_timers(uint64_t now)
{
	pavo_timer_end_rnr(&r.timer, now);
	if (pavo_timer_has_loss_expired(&r.timer, now))
		carry_out(pavo_recovery_expired(&r, &policy_, now));
}

} // namespace channel
