/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * condition_scene.h - two windows that hold requests for counters, for the tests of conditional
 * operations.
 */
#ifndef CONDITION_SCENE_H
#define CONDITION_SCENE_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "adapter.h"
#include "raw.h"
#include "shared_window.hpp"

using namespace windows;
using pavo::Direction;
using pavo::FrameState;
using pavo::FrameType;
using pavo::Message;

namespace {

using States = std::vector<FrameState>;

constexpr uint32_t counter = 9, contexts = 4;

/* Two ends with some contexts each: a writes to b, and names a counter or holds requests. */
struct Conditions : Pair {
	explicit Conditions(uint32_t send_frames = 64)
		: Pair(false, 256, send_frames), here(job_a, 1 << 16, 1),
		  there(job_b, 1 << 16, 2)
	{
		must(a.take_rcxts(own));
		must(b.take_rcxts(peer));
	}

	/* A write by context @n, with the next tid of it. */
	pavo::RequestFrame write(uint32_t n, bool counts = false,
				 uint32_t length = 100)
	{
		return {.local_rcxt = own[n],
			.remote_rcxt = peer[n],
			.tid = ++tid[n],
			.local_pvo = here.pvo(),
			.remote_pvo = there.pvo(1000 * n),
			.length = length,
			.tag = n,
			.flags = pavo::rdma_flag::notify_source |
				 pavo::rdma_flag::notify_target,
			.counter = uint8_t(counts ? counter + 1 : 0),
			.attempts = 0,
			.cookie = n};
	}

	pavo::WindowAddress to_b() const { return {node_b, b.number()}; }

	void prepare(const pavo::RequestFrame &request)
	{
		must(a.prepare_rdma(Direction::write, to_b(), request));
	}

	/* Holds a write by each of these contexts. */
	void hold(uint64_t target, std::initializer_list<uint32_t> by,
		  bool count = false)
	{
		std::vector<pavo::HeldRequest> requests;

		for (uint32_t n : by)
			requests.push_back(
				{Direction::write, to_b(), write(n, count)});
		must(a.prepare_held(counter, target, requests));
	}

	/* The outcome of the next @n frames. */
	States sent(size_t n)
	{
		States states(n);
		size_t known = 0;

		must(a.start());
		eventually([&] {
			known += a.sent(std::span(states).subspan(known));
			return known == n;
		});
		return states;
	}

	/* The outcome of the next @n frames that were held. */
	States released(size_t n)
	{
		std::vector<pavo::HeldOutcome> outcomes(n);
		size_t known = 0;
		States states;

		eventually([&] {
			known += a.released(std::span(outcomes).subspan(known));
			return known == n;
		});
		for (auto &outcome : outcomes)
			states.push_back(outcome.state);
		return states;
	}

	/* Context numbers of the next @n operations that are over at a window. */
	static std::vector<uint32_t> over(pavo::Window &window, size_t n)
	{
		std::vector<uint32_t> tags;

		while (tags.size() < n) {
			auto done = ended(window);

			EXPECT_NE(done.tid, 0u);
			if (!done.tid)
				break;
			tags.push_back(done.tag);
		}
		return tags;
	}

	/* The next frame that is news of a counter. */
	static pavo::CounterFrame news(pavo::Window &window)
	{
		pavo::CounterFrame frame;
		bool found = false;

		EXPECT_TRUE(eventually([&] {
			window.receive(
				[&](const Message &message) {
					found = message.type ==
						FrameType::counter_value;
					if (found)
						frame = message.counter();
				},
				1);
			return found;
		}));
		return frame;
	}

	pavo::CounterFrame query()
	{
		must(a.query_counter(counter, ++cookie));
		EXPECT_EQ(sent(1), States{FrameState::sent});
		auto frame = news(a);

		EXPECT_EQ(frame.cookie, cookie);
		EXPECT_EQ(frame.counter, counter);
		return frame;
	}

	Buffer here;
	Buffer there;
	uint32_t own[contexts];
	uint32_t peer[contexts];
	uint64_t tid[contexts]{};
	uint32_t cookie = 100;
};

constexpr auto ok = FrameState::sent, held = FrameState::held,
	       cancelled = FrameState::cancelled, dead = FrameState::dead,
	       bad = FrameState::bad_request;

} // namespace

#endif /* CONDITION_SCENE_H */
