// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * network.cpp - see network.hpp.
 */
#include "network.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "random.hpp"

namespace sim {

namespace {

constexpr std::array<std::string_view, fault_count> fault_names = {
	"loss",	     "burst",	"cut",	  "overflow", "corrupt",
	"duplicate", "reorder", "deaf",	  "mark",     "jitter",
	"late",	     "memory",	"paging", "backlog",
};

/* Extended operations and their answers (kernel/wire/packets.h). */
constexpr uint8_t first_extended = 0xe0, last_extended = 0xe7;

constexpr size_t ip4_size = 20, ip6_size = 40, udp_size = 8;

bool is_ip6(const Bytes &packet)
{
	return packet[0] >> 4 == 6;
}

/* Where the BTH is. */
size_t bth_of(const Bytes &packet)
{
	return (is_ip6(packet) ? ip6_size : ip4_size) + udp_size;
}

void set_checksum(Bytes &packet)
{
	uint32_t sum = 0;

	packet[10] = packet[11] = 0;
	for (size_t i = 0; i < ip4_size; i += 2)
		sum += uint32_t(packet[i] << 8 | packet[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	packet[10] = uint8_t(~sum >> 8);
	packet[11] = uint8_t(~sum);
}

/* Mark a packet that can be marked (RFC 3168). Return: whether it could. */
bool set_congestion(Bytes &packet)
{
	uint8_t &byte = packet[1];
	const unsigned shift = is_ip6(packet) ? 4 : 0;

	if (!(byte >> shift & 3))
		return false;
	byte = uint8_t(byte | 3 << shift);
	if (!is_ip6(packet))
		set_checksum(packet);
	return true;
}

} // namespace

std::string_view name_of(Fault fault)
{
	return fault_names[size_t(fault)];
}

std::optional<Fault> fault_named(std::string_view name)
{
	const auto found =
		std::find(fault_names.begin(), fault_names.end(), name);

	if (found == fault_names.end())
		return std::nullopt;
	return Fault(found - fault_names.begin());
}

uint32_t qpn_of(const Bytes &packet)
{
	const uint8_t *bth = packet.data() + bth_of(packet);

	return uint32_t(bth[5]) << 16 | uint32_t(bth[6]) << 8 | bth[7];
}

uint8_t opcode_of(const Bytes &packet)
{
	return packet[bth_of(packet)];
}

std::string describe(const Bytes &packet)
{
	const uint8_t *bth = packet.data() + bth_of(packet);
	const unsigned psn = unsigned(bth[9]) << 16 | unsigned(bth[10]) << 8 |
			     bth[11];

	/* A syndrome is behind the BTH of answers. */
	return fmt::format("opcode {:#x} to {} psn {}{}, {} bytes, then {:#x}",
			   bth[0], qpn_of(packet), psn,
			   bth[8] & 0x80 ? " ackreq" : "", packet.size(),
			   bth[12]);
}

/* The longest time that a packet takes which is not lost. */
uint64_t LinkPlan::longest() const
{
	constexpr uint64_t most_kib = 5;

	return delay + jitter + reorder_by +
	       (queue + 1) * ns_per_kib * most_kib;
}

Network::Network(uint64_t seed, const Links &links, const Limits &limits,
		 Observer observer)
	: seed_(seed), limits_(limits), observer_(std::move(observer)),
	  links_({Link{links[0]}, Link{links[1]}})
{
}

/* True if packet @number has that fault. @drawn: from which that follows. */
bool Network::strikes(Fault fault, uint64_t number, unsigned of_1000,
		      uint64_t drawn)
{
	if (!of_1000 || !limits_.allows(fault) ||
	    (limits_.packets && !limits_.packets->count(number)))
		return false;
	return Random(seed_ ^ drawn, 100 + uint64_t(fault)).chance(of_1000);
}

void Network::note(Fault fault, uint64_t number, const Bytes &packet)
{
	happened_[size_t(fault)]++;
	observer_(number, packet);
}

std::optional<Fault> Network::loss_of(const Link &link, uint64_t now,
				      uint64_t number, const Bytes &packet)
{
	const LinkPlan &plan = link.plan;
	const uint8_t opcode = opcode_of(packet);

	if (plan.deaf && opcode >= first_extended && opcode <= last_extended)
		return Fault::deaf;
	if (strikes(Fault::loss, number, plan.loss, number))
		return Fault::loss;
	if (strikes(Fault::burst, number, plan.burst,
		    number / plan.burst_length))
		return Fault::burst;
	if (now >= plan.cut_from && now < plan.cut_until &&
	    strikes(Fault::cut, number, 1000, number))
		return Fault::cut;
	return std::nullopt;
}

/* Wait for the packets in front. Return: when the last bit is sent; none if the queue is full. */
std::optional<uint64_t> Network::pass_queue(Link &link, uint64_t now,
					    uint64_t number, Bytes &packet)
{
	const LinkPlan &plan = link.plan;
	const uint64_t takes = plan.ns_per_kib * (packet.size() + 64) / 1024;

	if (!takes)
		return now;
	const uint64_t begins = std::max(now, link.free_at);
	const uint64_t waiting = (begins - now) / takes;

	if (waiting > plan.queue &&
	    strikes(Fault::overflow, number, 1000, number))
		return std::nullopt;
	if (plan.mark_at && waiting >= plan.mark_at &&
	    strikes(Fault::mark, number, 1000, number) &&
	    set_congestion(packet))
		happened_[size_t(Fault::mark)]++;
	link.free_at = begins + takes;
	return link.free_at;
}

void Network::arrive(uint64_t time, Bytes packet)
{
	under_way_.emplace(std::pair(time, order_++), std::move(packet));
}

void Network::send(uint64_t now, unsigned from, Bytes packet)
{
	const uint64_t number = sent_++;
	Random random(seed_ ^ number, 1);
	Link &link = links_[from];
	const LinkPlan &plan = link.plan;

	if (const auto lost = loss_of(link, now, number, packet))
		return note(*lost, number, packet);
	const auto left = pass_queue(link, now, number, packet);

	if (!left)
		return note(Fault::overflow, number, packet);
	uint64_t time = *left + plan.delay;

	if (plan.jitter && limits_.allows(Fault::jitter)) {
		happened_[size_t(Fault::jitter)]++;
		time += random.below(plan.jitter);
	}
	if (strikes(Fault::reorder, number, plan.reorder, number)) {
		note(Fault::reorder, number, packet);
		time += random.between(1, plan.reorder_by);
	} else {
		time = link.last_arrival = std::max(time, link.last_arrival);
	}
	if (strikes(Fault::duplicate, number, plan.duplicate, number)) {
		note(Fault::duplicate, number, packet);
		arrive(time + random.below(plan.reorder_by + 1), packet);
	}
	if (strikes(Fault::corrupt, number, plan.corrupt, number)) {
		note(Fault::corrupt, number, packet);
		const size_t bth = bth_of(packet);
		const size_t at = bth + random.below(packet.size() - bth);

		packet[at] = uint8_t(packet[at] ^ 1 << random.below(8));
	}
	arrive(time, std::move(packet));
}

std::optional<uint64_t> Network::next() const
{
	if (under_way_.empty())
		return std::nullopt;
	return under_way_.begin()->first.first;
}

Bytes Network::take()
{
	return std::move(under_way_.extract(under_way_.begin()).mapped());
}

} // namespace sim
