// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* recovery_channel.cpp - the two ends of recovery_channel.h. */
#include "recovery_channel.h"

#include <algorithm>

extern "C" {
#include "responder/hold_early.h"
}

namespace channel {

/* --------------------------------------------------------------- responder */

void ModelResponder::respond(uint64_t now, const Packet &packet)
{
	for (uint32_t i = 0; i < packet.npkts; i++)
		back_.push(now,
			   {Packet::RESPONSE, pavo_psn_add(packet.psn, i)});
}

void ModelResponder::execute(uint64_t now, const Packet &packet)
{
	pavo_expected *e = &expected_;

	pavo_expected_begin(e, packet.npkts);
	for (uint32_t i = 0; i < packet.npkts; i++)
		executed.push_back(pavo_psn_add(packet.psn, i));
	pavo_expected_advance(e, packet.npkts);
	if (packet.kind == Packet::READ)
		respond(now, packet);
	else if (packet.ack_req)
		pavo_expected_ack_all(e);
}

void ModelResponder::take_early(const Packet &packet)
{
	pavo_expected *e = &expected_;

	pavo_expected_handle_early(e, &pavo_hold_early, packet.psn,
				   packet.npkts);
	if (!sacks_ ||
	    pavo_psn_diff(packet.psn, e->psn) >= int32_t{PAVO_PSN_WINDOW})
		return;
	held_[packet.psn] = packet;
	pavo_expected_hold(e, packet.psn, packet.npkts);
}

void ModelResponder::send_ack(uint64_t now)
{
	pavo_expected *e = &expected_;
	Packet ack = {.kind = Packet::ACK,
		      .psn = e->ack_psn,
		      .syndrome = e->ack_syndrome};

	if (pavo_expected_is_sack(e)) {
		ack.kind = Packet::SACK;
		ack.sack = pavo_expected_get_sack(e);
	}
	pavo_expected_ack_sent(e);
	back_.push(now, ack);
}

void ModelResponder::take(uint64_t now, const Packet &packet)
{
	const pavo_pkt headers = {.wants_sack = sacks_,
				  .attempt = packet.attempt};
	pavo_expected *e = &expected_;
	bool released = false;

	pavo_expected_note_arrival(e, packet.psn, &headers);
	switch (pavo_expected_find(e, packet.psn)) {
	case PAVO_PSN_EXECUTE:
		execute(now, packet);
		while (!held_.empty() &&
		       !pavo_psn_diff(held_.begin()->first, e->psn)) {
			execute(now, held_.begin()->second);
			held_.erase(held_.begin());
			released = true;
		}
		while (!held_.empty() &&
		       pavo_psn_diff(held_.begin()->first, e->psn) < 0)
			held_.erase(held_.begin());
		if (released || pavo_expected_count_unreported(e, packet.npkts))
			pavo_expected_ack_all(e);
		break;
	case PAVO_PSN_EARLY:
		take_early(packet);
		break;
	case PAVO_PSN_DUPLICATE:
		if (packet.kind == Packet::READ)
			respond(now, packet);
		else
			pavo_expected_note_duplicate(e);
	}
	if (e->ack_due)
		send_ack(now);
}

/* --------------------------------------------------------------- requester */

constexpr uint64_t timeout = 1000 * tick;
constexpr const pavo_recovery_policy *policy = &pavo_selective_repair;

ModelRequester::ModelRequester(bool sacks, uint32_t psn, Wire &out)
	: out_(out), ring_(2 * 1024)
{
	memory_.resize(PAVO_BOARD_BYTES(PAVO_BOARD_LEAST) / 8);
	pavo_board_attach(&board_, memory_.data(), PAVO_BOARD_LEAST);
	pavo_recovery_init(&r, &board_, ring_.data(), 1024);
	pavo_recovery_start(&r, psn);
	if (sacks)
		pavo_recovery_begin_sacks(&r, 0);
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

void ModelRequester::grow_board(uint32_t size)
{
	std::vector<uint64_t> memory(PAVO_BOARD_BYTES(size) / 8);

	pavo_board_grow(&board_, memory.data(), size, r.upsn,
			pavo_psn_diff(r.sent, r.upsn));
	memory_.swap(memory);
}

void ModelRequester::carry_out(unsigned int todo)
{
	if (todo & PAVO_REC_WIDEN) {
		if (board_.size < PAVO_BOARD_MOST)
			grow_board(2 * board_.size);
		else
			r.cwnd.final = true;
		pavo_cwnd_set_most(&r.cwnd, board_.size / 2);
	}
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
		span = pavo_read_span(&r, policy, at, message.npkts);
	if (!pavo_recovery_admits(&r, policy, span))
		return;
	Packet packet = {.kind = message.read ? Packet::READ : Packet::WRITE,
			 .psn = r.next,
			 .npkts = span,
			 .attempt = pavo_recovery_get_attempt(&r)};
	packet.ack_req = !message.read && (at + span == message.npkts ||
					   pavo_recovery_wants_ack(&r, span));
	const pavo_sent what = {span, message.read,
				message.read && at % PAVO_READ_CHUNK != 0,
				packet.ack_req};

	out_.push(now, packet);
	sent++;
	carry_out(pavo_recovery_sent(&r, policy, &what, now));
}

void ModelRequester::take_response(uint64_t now, uint32_t psn)
{
	unsigned int todo = pavo_recovery_handle_response(&r, policy, psn, now);

	if (todo & PAVO_REC_OLD)
		pavo_recovery_note_needless(&r, policy);
	if (todo & PAVO_REC_IMPLIED_NAK && r.sacks) {
		carry_out(todo);
		if (!early_.insert(psn).second)
			pavo_recovery_note_needless(&r, policy);
		todo = pavo_recovery_hold_here(&r, policy, psn, 1, now);
	}
	carry_out(todo & ~PAVO_REC_TAKE);
	if (!(todo & PAVO_REC_TAKE))
		return;
	const Message &message = message_at(psn);
	uint32_t end = pavo_psn_add(psn, 1);
	const pavo_answer what = {
		end, pavo_read_chunk_ends(message.npkts,
					  pavo_psn_diff(end, message.first))};

	taken.push_back(psn);
	carry_out(pavo_recovery_answered(&r, policy, &what, now));
}

void ModelRequester::take_sack(uint64_t now, const Packet &packet)
{
	uint32_t expected = pavo_psn_add(packet.psn, 1);

	if (pavo_psn_diff(expected, r.upsn) < 0)
		return;
	pavo_sack_news news;

	pavo_sack_news_load(&news, expected, &packet.sack);
	pavo_recovery_take_map(&r, policy, &news);

	if (expected != r.upsn)
		carry_out(pavo_recovery_ack(&r, policy, packet.psn, now));
	carry_out(pavo_recovery_handle_sack(&r, policy, &packet.sack, &news,
					    now));
}

void ModelRequester::take(uint64_t now, const Packet &packet)
{
	handle(now, packet);
	while (early_.erase(r.upsn))
		take_response(now, r.upsn);
}

void ModelRequester::handle(uint64_t now, const Packet &packet)
{
	unsigned int todo = 0;

	switch (packet.kind) {
	case Packet::RESPONSE:
		take_response(now, packet.psn);
		return;
	case Packet::SACK:
		take_sack(now, packet);
		return;
	default:
		if (packet.syndrome == PAVO_AETH_ACK_UNLIMITED) {
			todo = pavo_recovery_ack(&r, policy, packet.psn, now);
			break;
		}
		todo = pavo_recovery_nak(&r, policy, packet.psn, now);
		if (!(todo &
		      (PAVO_REC_OLD | PAVO_REC_STRAY | PAVO_REC_IMPLIED_NAK)))
			todo |= pavo_recovery_handle_gap(&r, policy, now);
	}
	carry_out(todo);
}

void ModelRequester::check_timers(uint64_t now)
{
	pavo_recovery_end_delay(&r, now);
	if (pavo_timer_end_repair(&r.timer, now))
		carry_out(pavo_recovery_repair(&r, policy, now));
	if (pavo_timer_has_loss_expired(&r.timer, now))
		carry_out(pavo_recovery_expired(&r, policy, now));
}

} // namespace channel
