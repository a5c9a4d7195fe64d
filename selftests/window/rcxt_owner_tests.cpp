// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rcxt_owner_tests.cpp - a context is its window's alone: another window of the same adapter,
 * of the same job or of another, names it by its right number and is refused, whatever the
 * owner is at, which goes on.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "adapter.h"

using namespace windows;
using pavo::Message;

namespace {

/* Of a write, a read and a piece: on which contexts, and what becomes of them. */
using Numbers = std::array<uint32_t, 3>;
using States = std::array<pavo::FrameState, 3>;

constexpr States refused{pavo::FrameState::bad_rcxt, pavo::FrameState::bad_rcxt,
			 pavo::FrameState::bad_rcxt},
	sent{pavo::FrameState::sent, pavo::FrameState::sent,
	     pavo::FrameState::sent};
constexpr uint32_t some = 100, no_context = ~0u;

/* A window beside that of end a, with memory and contexts of its own. */
class Stranger {
public:
	Stranger(Ends &all, bool same_job)
		: ends(all), job(job_of(same_job)), memory(job, world::page, 3),
		  window(pavo::Window::open(job, options()).value())
	{
		must(window.set_node(node_b, ends.address_b.gid));
		must(window.take_rcxts(own));
	}

	/* All three at once, for context @remote of end b. */
	States attempt(const Numbers &rcxts, uint32_t remote, uint64_t tid)
	{
		States states{};
		size_t known = 0;

		for (size_t i : {0, 1})
			must(window.prepare_rdma(common::direction_of(i == 0),
						 {node_b, ends.b.number()},
						 request(rcxts[i], remote,
							 tid)));
		must(window.prepare_piece(
			{node_b, ends.b.number()}, piece(rcxts[2], remote, tid),
			some, [](std::span<std::byte> to) {
				std::ranges::fill(to, std::byte(0xee));
			}));
		must(window.start());
		EXPECT_TRUE(eventually([&] {
			known += window.sent(std::span(states).subspan(known));
			return known == states.size();
		}));
		return states;
	}

	/* Nothing can be done with it; with its own all can. */
	void is_refused(uint32_t rcxt, uint64_t tid)
	{
		EXPECT_EQ(attempt({rcxt, rcxt, rcxt}, ends.rcxt_b, tid), refused)
			<< "tid " << tid;
		EXPECT_EQ(window.cancel({&rcxt, 1}),
			  pavo::Unexpected(std::errc::invalid_argument));
		EXPECT_EQ(window.return_rcxts({&rcxt, 1}),
			  pavo::Unexpected(std::errc::invalid_argument));
		EXPECT_EQ(attempt(own, no_context, ++own_tid), sent);
	}

	Ends &ends;
	pavo::Job job;
	Buffer memory;
	pavo::Window window;
	Numbers own{};

private:
	pavo::Job job_of(bool same)
	{
		return same ? pavo::Job::join(ends.device_a, world::job_id,
					      world::job_key)
				       .value() :
			      pavo::Job::reserve(ends.device_a,
						 world::job_id + 1,
						 world::job_key)
				       .value();
	}

	pavo::WindowOptions options() const
	{
		pavo::WindowOptions options = {
			.node = node_a, .gid_index = ends.address_a.index};

		return options;
	}

	pavo::RequestFrame request(uint32_t rcxt, uint32_t remote,
				   uint64_t tid) const
	{
		return {.local_rcxt = rcxt,
			.remote_rcxt = remote,
			.tid = tid,
			.local_pvo = memory.pvo(),
			.remote_pvo = ends.there.pvo(),
			.length = some,
			.tag = 0,
			.flags = 0,
			.attempts = 0,
			.cookie = 0};
	}

	pavo::PieceFrame piece(uint32_t rcxt, uint32_t remote,
			       uint64_t tid) const
	{
		return {.local_rcxt = rcxt,
			.remote_rcxt = remote,
			.tid = tid,
			.pvo = ends.there.pvo(),
			.total = some,
			.fragment = 0,
			.tag = 0,
			.attempts = 0,
			.flags = 0,
			.cookie = 0};
	}

	uint64_t own_tid = 0;
};

/* Whether the stranger is of the owner's job. */
struct RcxtOwner : testing::TestWithParam<bool> {
	/* With what the owner is at, what it could begin next, and what ends all tids. */
	void is_refused(uint64_t now)
	{
		for (uint64_t tid : {now, now + 1, ~uint64_t(0)})
			stranger.is_refused(ends.rcxt_a, tid);
	}

	/* From window @from to window @to of @node, bytes of pattern @number. */
	void send_piece(pavo::Window &from, uint16_t node, uint32_t to,
			pavo::PieceFrame piece, uint32_t number)
	{
		pavo::FrameState state = pavo::FrameState::empty;
		auto bytes = pattern(number, some);

		must(from.prepare_piece({node, to}, piece, some,
					[&](std::span<std::byte> room) {
						std::ranges::copy(bytes,
								  room.begin());
					}));
		must(from.start());
		EXPECT_TRUE(eventually([&] { return one_sent(from, state); }));
		EXPECT_EQ(state, pavo::FrameState::sent);
	}

	Ends ends{1 << 18};
	Stranger stranger{ends, GetParam()};
};

/* Between two pieces of a write: the context is being fed. */
TEST_P(RcxtOwner, GoesOnFeedingIt)
{
	pavo::PieceFrame piece{.local_rcxt = ends.rcxt_a,
			       .remote_rcxt = ends.rcxt_b,
			       .tid = 5,
			       .pvo = ends.there.pvo(),
			       .total = 2 * some,
			       .fragment = 0,
			       .tag = 0,
			       .attempts = 0,
			       .flags = pavo::rdma_flag::notify_source,
			       .cookie = 0};

	send_piece(ends.a, node_b, ends.b.number(), piece, 10);
	is_refused(5);
	piece.fragment = 1;
	piece.pvo += some;
	send_piece(ends.a, node_b, ends.b.number(), piece, 11);
	EXPECT_EQ(ended(ends.a).tid, 5u);
	for (uint32_t n : {0, 1})
		EXPECT_TRUE(std::ranges::equal(ends.there.memory.part(n * some,
								      some),
					       pattern(10 + n, some)))
			<< n;
	EXPECT_TRUE(ends.there.holds(2, 2 * some, (1 << 18) - 2 * some));
}

/* Between a read and its answer, which the process at the other end gives. */
TEST_P(RcxtOwner, GoesOnReadingByIt)
{
	pavo::RequestFrame asked{};

	ASSERT_EQ(ends.ask(false,
			   ends.request(5, some,
					pavo::rdma_flag::notify_target |
						pavo::rdma_flag::from_fifo)),
		  pavo::FrameState::sent);
	ASSERT_TRUE(eventually([&] {
		return ends.b.receive([&](const Message &message) {
			EXPECT_EQ(message.type, pavo::FrameType::rdma_read);
			asked = message.request();
		});
	}));
	is_refused(5);
	send_piece(ends.b, node_a, ends.a.number(),
		   {.local_rcxt = asked.local_rcxt,
		    .remote_rcxt = asked.remote_rcxt,
		    .tid = asked.tid,
		    .pvo = asked.remote_pvo,
		    .total = some,
		    .fragment = 0,
		    .tag = asked.tag,
		    .attempts = 0,
		    .flags = pavo::rdma_flag::notify_target,
		    .cookie = 0},
		   12);
	EXPECT_EQ(ended(ends.a).tid, 5u);
	EXPECT_TRUE(std::ranges::equal(ends.here.memory.part(0, some),
				       pattern(12, some)));
	EXPECT_TRUE(ends.there.holds(2));
}

/* It is at nothing: nor does anything begin on it, and it is given back by its owner. */
TEST_P(RcxtOwner, BeginsWhenItLikes)
{
	is_refused(1);
	EXPECT_TRUE(ends.there.holds(2));
	EXPECT_TRUE(quiet(ends.b));
	ASSERT_EQ(ends.ask(true, ends.request(1, 1 << 18)),
		  pavo::FrameState::sent);
	EXPECT_EQ(ended(ends.a).tid, 1u);
	EXPECT_TRUE(ends.there.holds(1));
	EXPECT_EQ(ends.a.lmt().value().rcxts_owned, 1u);
	EXPECT_EQ(stranger.window.lmt().value().rcxts_owned,
		  stranger.own.size());
	must(ends.a.return_rcxts({&ends.rcxt_a, 1}));
	is_refused(1);
	EXPECT_EQ(ends.a.lmt().value().state, pavo::WindowState::valid);
	EXPECT_EQ(stranger.window.lmt().value().state,
		  pavo::WindowState::valid);
}

/* At any moment of what goes from memory to memory. */
TEST_P(RcxtOwner, GoesOnAtAnyMoment)
{
	constexpr int operations = 6, attempts = 50;
	std::atomic<bool> over = false;
	std::atomic<int> made = 0;
	int done = 0;
	std::thread other([&] {
		while (!over) {
			stranger.is_refused(ends.rcxt_a, ~uint64_t(0));
			made++;
		}
	});

	EXPECT_TRUE(eventually([&] {
		const bool write = done % 2;
		const uint64_t tid = uint64_t(++done);

		(write ? ends.here : ends.there).fill(20 + done);
		EXPECT_EQ(
			ends.ask(
				write,
				ends.request(
					tid, 1 << 18,
					write ? pavo::rdma_flag::notify_source :
						pavo::rdma_flag::notify_target)),
			pavo::FrameState::sent);
		EXPECT_EQ(ended(ends.a).tid, tid);
		EXPECT_TRUE((write ? ends.there : ends.here).holds(20 + done));
		return done >= operations && made >= attempts;
	}));
	over = true;
	other.join();
}

INSTANTIATE_TEST_SUITE_P(Against, RcxtOwner, testing::Bool(),
			 [](const auto &info) {
				 return info.param ? "ItsJob" : "AnotherJob";
			 });

} // namespace
