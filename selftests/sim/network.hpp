/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * network.hpp - a network of two peers as discrete events: packets that the engine sends arrive at
 * the other peer later, in another order, twice, damaged or not at all.
 *
 * The fate of a packet follows from the seed and from the packet's number alone, so a run with
 * fewer messages or fewer faults has the same network.
 */
#ifndef PAVO_SIM_NETWORK_HPP
#define PAVO_SIM_NETWORK_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

using Bytes = std::vector<uint8_t>;

/* Faults. Those of packets come first, then those of the machine (world.cpp). */
enum class Fault {
	loss, /* of a single packet */
	burst, /* of a few in a row */
	cut, /* the link is down for a while */
	overflow, /* the queue in front of a slow link is full */
	corrupt, /* a bit is another */
	duplicate,
	reorder, /* later ones overtake it */
	deaf, /* the peer knows no extended operations */
	mark, /* ECN */
	jitter,
	late, /* timers fire late */
	memory, /* an allocation fails */
	paging, /* pages of an on-demand region are gone */
	backlog, /* packets arrive while the side is busy, at times with a full backlog */
	count,
};
constexpr size_t fault_count = size_t(Fault::count);

std::string_view name_of(Fault fault);
std::optional<Fault> fault_named(std::string_view name);

/* Chances are of 1000, times in ns. */
struct LinkPlan {
	uint64_t delay = 0;
	uint64_t jitter = 0;
	uint64_t ns_per_kib = 0; /* 0: as fast as it is sent */
	unsigned queue = 0; /* packets that wait for the link */
	unsigned mark_at =
		0; /* queued packets from which on ECN marks; 0: none */
	unsigned loss = 0;
	unsigned burst = 0, burst_length = 1;
	unsigned corrupt = 0, duplicate = 0, reorder = 0;
	uint64_t reorder_by = 0;
	uint64_t cut_from = 0, cut_until = 0;
	bool deaf = false; /* the receiving peer knows no extended operations */

	uint64_t longest() const;
};

/* Parts of a plan that a run leaves out. By them a failing run shrinks. */
struct Limits {
	std::set<Fault> without;
	/* Numbers of the packets that may have faults; none: all. */
	std::optional<std::set<uint64_t>> packets;
	/* Numbers of the messages that are sent; none: all. */
	std::optional<std::set<unsigned>> messages;

	bool trace = false; /* print all that happens */

	bool allows(Fault fault) const { return !without.count(fault); }
};

class Network {
public:
	using Links = std::array<LinkPlan, 2>; /* from peer 0, from peer 1 */
	/* A fault that befalls a packet. */
	using Observer =
		std::function<void(uint64_t number, const Bytes &packet)>;

	Network(uint64_t seed, const Links &links, const Limits &limits,
		Observer observer);

	/* A peer sends an IP packet. */
	void send(uint64_t now, unsigned from, Bytes packet);
	/* Time of the next arrival. */
	std::optional<uint64_t> next() const;
	Bytes take();

	uint64_t sent() const { return sent_; }
	unsigned happened(Fault fault) const
	{
		return happened_[size_t(fault)];
	}

private:
	struct Link {
		LinkPlan plan;
		uint64_t free_at = 0; /* when the last queued packet is sent */
		uint64_t last_arrival = 0;
	};

	bool strikes(Fault fault, uint64_t number, unsigned of_1000,
		     uint64_t drawn);
	void note(Fault fault, uint64_t number, const Bytes &packet);
	std::optional<Fault> loss_of(const Link &link, uint64_t now,
				     uint64_t number, const Bytes &packet);
	std::optional<uint64_t> pass_queue(Link &link, uint64_t now,
					   uint64_t number, Bytes &packet);
	void arrive(uint64_t time, Bytes packet);

	const uint64_t seed_;
	const Limits &limits_;
	const Observer observer_;
	std::array<Link, 2> links_;
	std::map<std::pair<uint64_t, uint64_t>, Bytes>
		under_way_; /* by time and order */
	uint64_t sent_ = 0, order_ = 0;
	std::array<unsigned, fault_count> happened_ = {};
};

/* Fields of RoCE packets that the simulator reads. */
uint32_t qpn_of(const Bytes &packet);
uint8_t opcode_of(const Bytes &packet);
std::string describe(const Bytes &packet);

} // namespace sim

#endif /* PAVO_SIM_NETWORK_HPP */
