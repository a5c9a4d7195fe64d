/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recovery_channel.h - a requester and a responder of PSNs alone, around the machines of
 * requester/recovery.h and responder/expected_psn.h, and a channel between them that loses packets
 * and keeps their order. A policy of each end is a parameter.
 */
#ifndef PAVO_UNIT_RECOVERY_CHANNEL_H
#define PAVO_UNIT_RECOVERY_CHANNEL_H

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "random.h"

extern "C" {
#include "requester/recovery.h"
#include "responder/expected_psn.h"
#include "seen.h"
}

namespace channel {

/* PSNs in their order, which wraps. */
struct PsnBefore {
	bool operator()(uint32_t a, uint32_t b) const
	{
		return pavo_psn_diff(a, b) < 0;
	}
};

using PsnSet = std::set<uint32_t, PsnBefore>;

struct Packet {
	enum Kind { WRITE, READ, RESPONSE, ACK, HELD } kind;
	/* HELD: the first one that the peer holds */
	uint32_t psn;
	/* of a request; HELD: how many the peer holds */
	uint32_t npkts = 1;
	bool ack_req = false;
	/* ACK: of a NAK, too. HELD: the expected PSN */
	uint8_t syndrome = 0;
	uint32_t expected = 0;
};

/* One direction. A tick is the time of a packet. */
class Wire {
public:
	Wire(Random &random, uint32_t delay, uint32_t loss)
		: random_(random), delay_(delay), loss_(loss)
	{
	}

	/* @loss_ of 1000 are lost. */
	void push(uint64_t now, const Packet &packet)
	{
		if (random_.below(1000) < loss_)
			lost++;
		else
			queue_.push_back({now + delay_, packet});
	}

	bool pop(uint64_t now, Packet &packet)
	{
		if (queue_.empty() || queue_.front().due > now)
			return false;
		packet = queue_.front().packet;
		queue_.pop_front();
		return true;
	}

	uint64_t lost = 0;

private:
	struct Entry {
		uint64_t due;
		Packet packet;
	};

	Random &random_;
	uint32_t delay_, loss_;
	std::deque<Entry> queue_;
};

struct Message {
	uint32_t first, npkts;
	bool read;
};

/* A responder that drops what comes early, or holds it. */
class ModelResponder {
public:
	ModelResponder(uint32_t psn, bool holds, Wire &back)
		: holds_(holds), back_(back)
	{
		pavo_expected_reset(&ends_.expected);
		pavo_expected_start(&ends_.expected, psn);
	}

	void take(uint64_t now, const Packet &packet);

	/* PSNs that were executed, in that order. */
	std::vector<uint32_t> executed;

private:
	/* The policy finds the second by the first. */
	struct Ends {
		pavo_expected expected;
		pavo_seen seen;
	};

	static pavo_early_verdict hold_early(pavo_expected *e, uint32_t psn,
					     uint32_t npkts);
	static const pavo_early_policy hold;

	void execute(uint64_t now, const Packet &packet);
	void respond(uint64_t now, const Packet &packet);
	void take_early(uint64_t now, const Packet &packet);

	Ends ends_{};
	bool holds_;
	Wire &back_;
	std::map<uint32_t, Packet, PsnBefore> held_;
};

/* A requester of messages that are all posted at the beginning. */
class ModelRequester {
public:
	ModelRequester(pavo_recovery &r, const pavo_recovery_policy &policy,
		       uint32_t psn, Wire &out);

	void post(uint32_t npkts, bool read);
	/* Send what may be sent in a tick: one packet. */
	void send(uint64_t now);
	void take(uint64_t now, const Packet &packet);
	void check_timers(uint64_t now);
	bool is_done() const { return r.upsn == r.npsn; }

	pavo_recovery &r;
	uint64_t sent = 0, again = 0;
	/* Messages that completed, and PSNs of responses whose data was taken. */
	size_t completed = 0;
	std::vector<uint32_t> taken;
	bool failed = false;

private:
	const Message &message_at(uint32_t psn) const;
	void carry_out(unsigned int todo);
	void take_response(uint64_t now, uint32_t psn);
	bool is_early(uint32_t psn) const;

	const pavo_recovery_policy &policy_;
	Wire &out_;
	std::vector<Message> messages_;
	std::vector<pavo_mq_entry> ring_;
	/* Responses behind a gap, of a policy that has them held. */
	PsnSet early_;
};

} // namespace channel

#endif /* PAVO_UNIT_RECOVERY_CHANNEL_H */
