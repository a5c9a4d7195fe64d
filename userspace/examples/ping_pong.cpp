// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ping_pong.cpp - messages between windows, there and back, and how long that takes.
 *
 *   first machine:   ping_pong pavo0
 *   second machine:  ping_pong pavo0 ADDRESS-OF-THE-FIRST [ROUNDS]
 *
 * Messages may be lost: who waits for an answer too long asks again, and both know by
 * the number in a message whether they have seen it.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <vector>

#include <pavo/window.hpp>

#include "meeting.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t job_id = 1002;
constexpr uint64_t job_key = 0x70696e67706f6e67;
constexpr uint16_t port = 7472;
constexpr auto patience = std::chrono::milliseconds(50);

struct Card {
	pavo::Gid gid;
	uint32_t window;
	uint32_t rounds;
};

struct Node {
	Node(const std::string &device_name, const std::string &host,
	     uint32_t rounds)
		: meeting(host, port), device(device_name),
		  job(pavo::Job::reserve(device, job_id, job_key)),
		  address(examples::address_of(device_name)),
		  window(job, {.node = uint16_t(!meeting.first()),
			       .gid_index = address.index}),
		  theirs(meeting.exchange(
			  Card{address.gid, window.number(), rounds})),
		  other(meeting.first())
	{
		window.set_node(other, theirs.gid);
	}

	void say(uint32_t number)
	{
		std::error_code error =
			window.send(other, theirs.window,
				    std::as_bytes(std::span(&number, 1)));

		if (error && error != std::errc::no_buffer_space)
			throw std::system_error(error, "message");
	}

	std::optional<uint32_t> heard()
	{
		std::optional<uint32_t> number;

		window.receive(
			[&](const pavo::Message &message) {
				uint32_t value;

				if (message.payload.size() != sizeof(value))
					return;
				memcpy(&value, message.payload.data(),
				       sizeof(value));
				number = value;
			},
			1);
		return number;
	}

	examples::Meeting meeting;
	pavo::Device device;
	pavo::Job job;
	examples::Address address;
	pavo::Window window;
	Card theirs;
	uint16_t other;
};

/* Every question is answered, also one that was answered before. */
void answer(Node &node)
{
	for (uint32_t last = 0; last < node.theirs.rounds;)
		if (auto number = node.heard()) {
			node.say(*number);
			last = std::max(last, *number);
		}
	/* Until the last answer has arrived. */
	auto until = Clock::now() + 10 * patience;
	while (Clock::now() < until)
		if (auto number = node.heard())
			node.say(*number);
}

void ask(Node &node, uint32_t rounds)
{
	std::vector<double> took;
	unsigned repeated = 0;

	for (uint32_t n = 1; n <= rounds; n++) {
		auto begin = Clock::now(), asked = begin;

		for (node.say(n); node.heard() != n;)
			if (Clock::now() - asked > patience) {
				node.say(n);
				asked = Clock::now();
				repeated++;
			}
		took.push_back(std::chrono::duration<double, std::micro>(
				       Clock::now() - begin)
				       .count());
	}
	std::ranges::sort(took);
	printf("%u rounds, %u messages repeated; there and back in us: least "
	       "%.1f, half %.1f, 99 of 100 %.1f\n",
	       rounds, repeated, took.front(), took[took.size() / 2],
	       took[took.size() * 99 / 100]);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 4) {
		fprintf(stderr,
			"usage: ping_pong ADAPTER [ADDRESS [ROUNDS]]\n");
		return 2;
	}
	try {
		uint32_t rounds = argc > 3 ? uint32_t(std::stoul(argv[3])) :
					     1000;
		Node node(argv[1], argc > 2 ? argv[2] : "", rounds);

		if (!rounds)
			throw std::invalid_argument("at least one round");
		if (node.meeting.first())
			answer(node);
		else
			ask(node, rounds);
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "ping_pong: %s\n", error.what());
		return 1;
	}
}
