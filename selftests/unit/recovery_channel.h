/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recovery_channel.h - a requester and a responder of PSNs alone, around the machines of
 * requester/recovery.h and responder/expected_psn.h, and a channel between them that loses packets
 * and may have some overtaken.
 */
#ifndef PAVO_UNIT_RECOVERY_CHANNEL_H
#define PAVO_UNIT_RECOVERY_CHANNEL_H

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "random.h"

extern "C" {
#include "requester/recovery_sack.h"
#include "requester/selective_repair.h"
#include "responder/expected_psn.h"
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
	enum Kind { WRITE, READ, RESPONSE, ACK, SACK } kind;
	uint32_t psn;
	/* of a request */
	uint32_t npkts = 1;
	bool ack_req = false;
	uint8_t attempt = 0;
	/* ACK: of a NAK, too */
	uint8_t syndrome = 0;
	pavo_sack sack = {};
};

/* A tick is the time of a packet, and the unit of requester/rack.h. */
inline constexpr uint64_t tick = 1024;

/* Of 1000 packets, how many are lost, and how many overtake others, by up to so many ticks. */
struct Faults {
	uint32_t loss = 0, reorder = 0, reorder_by = 20;
};

/* One direction. */
class Wire {
public:
	Wire(Random &random, uint64_t delay, Faults faults)
		: random_(random), delay_(delay), faults_(faults)
	{
	}

	void push(uint64_t now, const Packet &packet)
	{
		uint64_t due = now + delay_;

		if (random_.below(1000) < faults_.loss) {
			lost++;
			return;
		}
		if (random_.below(1000) < faults_.reorder)
			due -= tick * (1 + random_.below(faults_.reorder_by));
		queue_.insert(std::upper_bound(queue_.begin(), queue_.end(),
					       due,
					       [](uint64_t at, const Entry &e) {
						       return at < e.due;
					       }),
			      {due, packet});
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
	uint64_t delay_;
	Faults faults_;
	std::deque<Entry> queue_;
};

struct Message {
	uint32_t first, npkts;
	bool read;
};

/* A responder that drops what comes early, or holds it and sends SACKs. */
class ModelResponder {
public:
	ModelResponder(uint32_t psn, bool sacks, Wire &back)
		: sacks_(sacks), back_(back)
	{
		pavo_expected_reset(&expected_);
		pavo_expected_start(&expected_, psn);
	}

	void take(uint64_t now, const Packet &packet);

	/* PSNs that were executed, in that order. */
	std::vector<uint32_t> executed;

private:
	void execute(uint64_t now, const Packet &packet);
	void respond(uint64_t now, const Packet &packet);
	void take_early(const Packet &packet);
	void send_ack(uint64_t now);

	pavo_expected expected_{};
	bool sacks_;
	Wire &back_;
	std::map<uint32_t, Packet, PsnBefore> held_;
};

/* A requester of messages that are all posted at the beginning. */
class ModelRequester {
public:
	ModelRequester(bool sacks, uint32_t psn, Wire &out);

	void post(uint32_t npkts, bool read);
	/* Send what may be sent in a tick: one packet. */
	void send(uint64_t now);
	void take(uint64_t now, const Packet &packet);
	void check_timers(uint64_t now);
	bool is_done() const { return r.upsn == r.npsn; }

	pavo_recovery r{};
	uint64_t sent = 0, again = 0;
	/* Messages that completed, and PSNs of responses whose data was taken. */
	size_t completed = 0;
	std::vector<uint32_t> taken;
	bool failed = false;

private:
	const Message &message_at(uint32_t psn) const;
	void carry_out(unsigned int todo);
	void handle(uint64_t now, const Packet &packet);
	void take_response(uint64_t now, uint32_t psn);
	void take_sack(uint64_t now, const Packet &packet);
	/* Have memory for a scoreboard of @size PSNs. */
	void grow_board(uint32_t size);

	pavo_scoreboard board_{};
	std::vector<uint64_t> memory_;
	Wire &out_;
	std::vector<Message> messages_;
	std::vector<pavo_mq_entry> ring_;
	/* Responses that are held behind a gap. */
	PsnSet early_;
};

} // namespace channel

#endif /* PAVO_UNIT_RECOVERY_CHANNEL_H */
