// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ping_pong.cpp - messages between windows, there and back, and the time of a round.
 *
 *   first machine:   ping_pong pavo0
 *   second machine:  ping_pong pavo0 ADDRESS-OF-THE-FIRST [ROUNDS]
 *
 * Messages may be lost: a program that waits too long for an answer asks again. Both
 * know by the number in a message whether they have seen it.
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

#include <pavo/connect.hpp>

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t job_id = 1002;
constexpr uint64_t key = 0x70696e67706f6e67;
constexpr auto answer_timeout = std::chrono::milliseconds(50);

struct End {
	/* @group: of two */
	End(pavo::Group &with, const std::string &device_name, uint32_t asked)
		: group(with), device(pavo::Device::open(device_name).value()),
		  job(pavo::Job::open(device, job_id, key).value()),
		  window(pavo::open_window(group, job).value()),
		  other(pavo::connect(group, window).value()[1 - group.rank()]),
		  rounds(group.exchange(asked).value()[1])
	{
	}

	void say(uint32_t number)
	{
		auto sent = window.send(other,
					std::as_bytes(std::span(&number, 1)));

		if (sent != pavo::Unexpected(std::errc::no_buffer_space))
			sent.value();
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

	pavo::Group &group;
	pavo::Device device;
	pavo::Job job;
	pavo::Window window;
	/* The other's window. */
	pavo::WindowAddress other;
	/* As many as the asking end was started with. */
	uint32_t rounds;
};

/* Answers every question, also one that was answered before. */
void answer(End &end)
{
	for (uint32_t last = 0; last < end.rounds;)
		if (auto number = end.heard()) {
			end.say(*number);
			last = std::max(last, *number);
		}
	/* Until the last answer has arrived. */
	auto until = Clock::now() + 10 * answer_timeout;
	while (Clock::now() < until)
		if (auto number = end.heard())
			end.say(*number);
}

void ask(End &end)
{
	std::vector<double> took;
	unsigned repeated = 0;

	for (uint32_t n = 1; n <= end.rounds; n++) {
		auto begin = Clock::now(), asked = begin;

		for (end.say(n); end.heard() != n;)
			if (Clock::now() - asked > answer_timeout) {
				end.say(n);
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
	       end.rounds, repeated, took.front(), took[took.size() / 2],
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
		if (!rounds)
			throw std::invalid_argument("at least one round");
		auto group = pavo::Group::join({.host = argc > 2 ? argv[2] : "",
						.port = 7472,
						.size = 2,
						.key = key})
				     .value();
		End end(group, argv[1], rounds);

		if (group.rank() == 0)
			answer(end);
		else
			ask(end);
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "ping_pong: %s\n", error.what());
		return 1;
	}
}
