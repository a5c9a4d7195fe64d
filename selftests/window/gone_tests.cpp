// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * gone_tests.cpp - reads to memory of one's own that is not there: at once, or no more when
 * the data comes. The end that asked is at fault then, whatever packets say.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "scene.h"

using namespace windows;

namespace {

/* b reads 1000 bytes of a's into memory of its own; only the test answers. */
struct Reading : Scene {
	explicit Reading(unsigned flags = pavo::rdma_flag::notify_target)
	{
		asked = request(++tid, 1000, flags);
		asked.local_rcxt = forged_b;
		asked.remote_rcxt = forged_a + 5;
		asked.remote_pvo = here.pvo();
		std::ranges::fill(memory.all(), std::byte(0x5a));
		mapping.emplace(
			pavo::Mapping::open(job_b, memory.all()).value());
		asked.local_pvo = mapping->pvo().value;
	}

	pavo::FrameState ask()
	{
		pavo::FrameState state = pavo::FrameState::empty;

		EXPECT_TRUE(b.prepare_rdma(pavo::Direction::read,
					   {node_a, a.number()}, asked)
				    .has_value());
		EXPECT_TRUE(b.start().has_value());
		eventually([&] { return b.sent({&state, 1}) == 1; });
		return state;
	}

	/* The answer to its request, as a would send it. */
	Frame answer()
	{
		Frame frame = forged();

		set_field(frame, AT_PEER_RCXT, 4, asked.remote_rcxt);
		set_field(frame, AT_TID, 8, asked.tid);
		set_field(frame, AT_PVO, 8, asked.local_pvo);
		return frame;
	}

	bool untouched() const
	{
		return std::ranges::all_of(memory.all(), [](std::byte byte) {
			return byte == std::byte(0x5a);
		});
	}

	bool dead()
	{
		return b.lmt().value().state == pavo::WindowState::dead &&
		       b.lmt().value().fatal_rcxt == forged_b;
	}

	world::Memory memory{mapped};
	std::optional<pavo::Mapping> mapping;
	pavo::RequestFrame asked;
};

/* No request and no notification: the window is dead. */
TEST(OwnMemory, ThatIsNoneEndsTheWindowOfAReadAtOnce)
{
	for (uint64_t wrong : {uint64_t(1) << 60, uint64_t(1) << 44}) {
		Reading scene;
		Moved asked(scene.device_a, "rx_drop_rcxt");

		scene.asked.local_pvo ^= wrong;
		EXPECT_EQ(scene.ask(), pavo::FrameState::bad_pvo);
		EXPECT_TRUE(scene.dead());
		EXPECT_TRUE(quiet(scene.b));
		EXPECT_EQ(scene.ask(), pavo::FrameState::dead);
		EXPECT_EQ(asked.by(), 0u);
		EXPECT_EQ(scene.a.lmt().value().state,
			  pavo::WindowState::valid);
	}
}

/* A FIFO is no memory, and of nothing there is enough anywhere. */
TEST(OwnMemory, IsNotLookedForWhereThereIsNone)
{
	Reading scene;

	scene.asked.local_pvo = 0;
	scene.asked.flags |= pavo::rdma_flag::to_fifo;
	EXPECT_EQ(scene.ask(), pavo::FrameState::sent);
	scene.asked.flags ^= pavo::rdma_flag::to_fifo;
	scene.asked.length = 0;
	scene.asked.tid = ++scene.tid;
	EXPECT_EQ(scene.ask(), pavo::FrameState::sent);
	EXPECT_EQ(scene.b.lmt().value().state, pavo::WindowState::valid);
	EXPECT_TRUE(scene.honest());
}

TEST(OwnMemory, ThatGoesAwayBeforeTheDataComesEndsTheWindow)
{
	for (unsigned notified :
	     {0u, unsigned(pavo::rdma_flag::notify_source)}) {
		Reading scene(pavo::rdma_flag::notify_target | notified);
		Moved refused(scene.device_b, "rx_drop_rdma_pvo"),
			late(scene.device_b, "rx_drop_window"),
			answers(scene.device_a, "rx_drop_rcxt");

		/* The request, which a cannot carry out. */
		ASSERT_EQ(scene.ask(), pavo::FrameState::sent);
		ASSERT_TRUE(eventually([&] { return answers.by() == 1; }));
		scene.mapping.reset();
		Frame frame = scene.answer();
		scene.send(frame);
		ASSERT_TRUE(eventually([&] { return refused.by() == 1; }));
		EXPECT_TRUE(eventually([&] { return scene.dead(); }));
		/* Its sender hears that it is of no use, if that was asked for. */
		EXPECT_TRUE(eventually(
			[&] { return answers.by() == 1 + !!notified; }));
		EXPECT_TRUE(quiet(scene.b));
		scene.send(frame);
		EXPECT_TRUE(eventually([&] { return late.by() == 1; }));
		EXPECT_TRUE(scene.untouched());
		EXPECT_EQ(scene.a.lmt().value().state,
			  pavo::WindowState::valid);
	}
}

/* A packet names memory that is not there, but was not asked for: no fault of b's. */
TEST(OwnMemory, ThatIsThereKeepsTheWindowAliveWhateverComes)
{
	Reading scene;
	Moved refused(scene.device_b, "rx_drop_rdma_pvo");

	ASSERT_EQ(scene.ask(), pavo::FrameState::sent);
	Frame frame = scene.answer();
	set_field(frame, AT_PVO, 8, scene.asked.local_pvo ^ uint64_t(1) << 60);
	scene.send(frame);
	auto done = ended(scene.b);
	EXPECT_EQ(done.tid, scene.asked.tid);
	EXPECT_EQ(done.status, pavo::PvoResult::key);
	EXPECT_EQ(refused.by(), 1u);
	EXPECT_EQ(scene.b.lmt().value().state, pavo::WindowState::valid);
	EXPECT_TRUE(scene.untouched());
	EXPECT_TRUE(scene.honest());
}

/* Nor is that of a write which names what is not there: its process is notified, as ever. */
TEST(OwnMemory, OfOthersIsTheirs)
{
	Reading scene;
	Moved refused(scene.device_b, "rx_drop_rdma_pvo");

	/* On the context that a read of it was at. */
	ASSERT_EQ(scene.ask(), pavo::FrameState::sent);
	scene.mapping.reset();
	Frame frame = scene.forged();
	set_field(frame, AT_PVO, 8, scene.asked.local_pvo);
	scene.send(frame);
	EXPECT_TRUE(eventually([&] { return refused.by() == 1; }));
	EXPECT_TRUE(scene.untouched());
	EXPECT_EQ(scene.b.lmt().value().state, pavo::WindowState::valid);
	EXPECT_TRUE(scene.honest());
}

} // namespace
