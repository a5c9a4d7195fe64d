// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cancel_tests.cpp - what a cancel at the target alone ends, and what it does not: packets
 * put on the wire by hand, before and after it.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "scene.h"

using namespace windows;

namespace {

constexpr uint32_t part = 1000, parts = 3;

/* An operation of three packets for b, of the same 1000 bytes, to a buffer of its own. */
struct Target : Scene {
	Target()
		: memory(page),
		  mapping(pavo::Mapping::open(job_b, memory.all()).value())
	{
		pvo = mapping->pvo().value;
		clear();
	}

	Frame packet(uint32_t n, uint64_t tid, uint16_t attempts = 0)
	{
		Frame frame = forged();

		set_field(frame, AT_TID, 8, tid);
		set_field(frame, AT_ATTEMPTS, 2, attempts);
		set_field(frame, AT_PVO, 8, pvo + n * part);
		set_field(frame, AT_TOTAL, 4, parts * part);
		set_field(frame, AT_FRAGMENT, 4, n);
		frame[AT_FLAGS] = PAVO_RDMA_NOTIFY_TARGET;
		return frame;
	}

	/* It is counted so, as often as it is sent. */
	void counts(Frame frame, const char *name)
	{
		Moved counter(device_b, name);

		send(frame);
		ASSERT_TRUE(eventually([&] { return counter.by() == 1; }))
			<< name;
	}
	void places(Frame frame) { counts(frame, "rx_rdma_packets"); }

	void clear() { std::ranges::fill(memory.all(), std::byte(0x5a)); }
	bool holds(uint32_t n) const
	{
		return std::ranges::equal(memory.part(n * part, part),
					  here.memory.part(0, part));
	}
	bool clean() const
	{
		return std::ranges::all_of(memory.all(), [](std::byte byte) {
			return byte == std::byte(0x5a);
		});
	}

	world::Memory memory;
	std::optional<pavo::Mapping> mapping;
	uint64_t pvo;
};

TEST(CancelAtTheTarget, EndsTheAttemptThatHadBegun)
{
	Target scene;

	scene.places(scene.packet(1, 100));
	EXPECT_TRUE(scene.holds(1));
	must(scene.b.cancel({&scene.forged_b, 1}));
	scene.clear();
	for (uint32_t n = 0; n < parts; n++)
		scene.counts(scene.packet(n, 100), "rx_drop_tid");
	/* Nor any before it at the same operation. */
	scene.counts(scene.packet(2, 99), "rx_drop_tid");
	EXPECT_TRUE(scene.clean());
	EXPECT_TRUE(quiet(scene.b));
	EXPECT_TRUE(scene.honest());
}

TEST(CancelAtTheTarget, LeavesAnotherAttemptToBeginAnew)
{
	Target scene;

	scene.places(scene.packet(0, 100));
	must(scene.b.cancel({&scene.forged_b, 1}));
	scene.clear();
	/* It is not notified before all three have come, the first once more. */
	scene.places(scene.packet(1, 101, 1));
	scene.places(scene.packet(2, 101, 1));
	EXPECT_TRUE(quiet(scene.b));
	scene.places(scene.packet(0, 101, 1));
	EXPECT_EQ(ended(scene.b).tid, 101u);
	for (uint32_t n = 0; n < parts; n++)
		EXPECT_TRUE(scene.holds(n)) << n;
	EXPECT_TRUE(scene.honest());
}

TEST(CancelAtTheTarget, LeavesWhatHasNotComeYetToBegin)
{
	Target scene;

	must(scene.b.cancel({&scene.forged_b, 1}));
	for (uint32_t n = 0; n < parts; n++)
		scene.places(scene.packet(n, 100));
	EXPECT_EQ(ended(scene.b).tid, 100u);
	for (uint32_t n = 0; n < parts; n++)
		EXPECT_TRUE(scene.holds(n)) << n;
}

/* Two ends that are final: the context has no owner, or the memory has none. */
TEST(CancelAtTheTarget, IsFinalWithTheContextOrTheMemory)
{
	for (bool context : {true, false}) {
		Target scene;
		const char *why = context ? "rx_drop_rcxt" : "rx_drop_rdma_pvo";

		scene.places(scene.packet(0, 100));
		must(scene.b.cancel({&scene.forged_b, 1}));
		if (context)
			must(scene.b.return_rcxts({&scene.forged_b, 1}));
		else
			scene.mapping.reset();
		scene.clear();
		for (uint16_t attempt = 1; attempt <= 3; attempt++)
			scene.counts(scene.packet(0, 100 + attempt, attempt),
				     why);
		EXPECT_TRUE(scene.clean());
		EXPECT_EQ(scene.b.lmt().value().state,
			  pavo::WindowState::valid);
	}
}

} // namespace
