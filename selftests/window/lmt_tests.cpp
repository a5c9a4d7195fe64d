// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * lmt_tests.cpp - local mapping tables: every field of sources.md#windows-lmt, as the
 * process reads it and as root does ("Read LMT"), and what others do not get to see.
 */
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

#include <pavo/handler.hpp>

#include "adapter.h"
#include "raw.h"
#include "shared_window.hpp"
#include "table.h"

using namespace windows;

namespace {

struct LmtEvent {
	LmtEvent() : fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
	~LmtEvent() { close(fd); }
	LmtEvent(const LmtEvent &) = delete;

	int fd;
};

TEST(Table, WhoIsToldAndWhereItIs)
{
	Pair pair;
	LmtEvent recv, send;
	pavo::WindowOptions options;

	for (uint32_t events = 0; events < 4; events++) {
		options.recv_event = events & PAVO_LMT_RECV_EVENT ? recv.fd :
								    -1;
		options.send_event = events & PAVO_LMT_SEND_EVENT ? send.fd :
								    -1;
		auto window = another(pair, options);

		EXPECT_EQ(window->lmt().value().events, events);
	}
	EXPECT_EQ(pair.a.lmt().value().node, node_a);
	EXPECT_EQ(pair.b.lmt().value().node, node_b);
}

/* By the offsets of the table the same memory is mapped once more. */
TEST(Table, AddressesOfTheFifos)
{
	Pair pair;
	pavo::Lmt lmt = pair.a.lmt().value();
	auto word = [&](uint64_t offset, uint32_t frames, uint32_t number) {
		size_t size = size_t(frames) * PAVO_FRAME_SIZE;
		void *at = mmap(nullptr, size, PROT_READ, MAP_SHARED,
				shared_of(pair.a).fd(), off_t(offset));
		uint32_t value = 0;

		EXPECT_NE(at, MAP_FAILED);
		if (at == MAP_FAILED)
			return value;
		memcpy(&value,
		       static_cast<std::byte *>(at) + number * PAVO_FRAME_SIZE +
			       offsetof(pavo_frame_hdr, window),
		       sizeof(value));
		munmap(at, size);
		return value;
	};

	shared_of(pair.a).recv_frame(7)->window = 0x5a5a01;
	shared_of(pair.a).send_frame(9)->window = 0x5a5a02;
	EXPECT_EQ(word(lmt.recv_offset, lmt.recv_frames, 7), 0x5a5a01u);
	EXPECT_EQ(word(lmt.send_offset, lmt.send_frames, 9), 0x5a5a02u);
	EXPECT_NE(pair.b.lmt().value().recv_offset,
		  pair.b.lmt().value().send_offset);
}

/* The table of a window in any state, with a value in every field that it may have. */
TEST(Table, RootReadsAllOfIt)
{
	Ends ends;
	LmtEvent recv, send;
	pavo::WindowOptions options = {.recv_frames = 32,
				       .recv_event = recv.fd,
				       .send_event = send.fd,
				       .broadcast = true};
	auto window = another(ends, options);
	pavo::Handler one = pavo::Handler::open(*window).value(),
		      two = pavo::Handler::open(*window).value();
	uint32_t rcxts[3];
	auto same = [&] {
		pavo::Lmt lmt = window->lmt().value();

		EXPECT_EQ(line_of(ends.device_b, *window),
			  as_text(ends.device_b, lmt));
	};

	same();
	must(window->take_rcxts(rcxts));
	ASSERT_TRUE(two.ready().has_value());
	ASSERT_TRUE(window->recv_threshold(5).has_value());
	ASSERT_TRUE(window->send_threshold(9).has_value());
	ASSERT_TRUE(window->send({node_a, ends.a.number()}, {}).has_value());
	ASSERT_TRUE(ends.a.send({node_b, window->number()}, {}).has_value());
	ASSERT_TRUE(eventually([&] {
		pavo::Lmt lmt = window->lmt().value();

		return lmt.recv_count == 1 && lmt.send_count == 1 &&
		       lmt.recv_threshold == 4 && lmt.send_threshold == 8;
	}));
	same();
	pavo::Lmt lmt = window->lmt().value();
	EXPECT_NE(lmt.key, 0u);
	EXPECT_EQ(lmt.rcxts_owned, 3u);
	EXPECT_EQ(lmt.handlers, 3u);
	/* Dead, by a write from memory that is none. */
	auto request = ends.request(1, 100);
	request.local_rcxt = rcxts[1];
	request.remote_rcxt = ends.rcxt_a;
	request.local_pvo = 1;
	ASSERT_TRUE(window->prepare_rdma(pavo::Direction::write,
					 {node_a, ends.a.number()}, request)
			    .has_value());
	ASSERT_TRUE(window->start().has_value());
	/* The event of that is the ready handler's. */
	ASSERT_TRUE(eventually([&] {
		lmt = window->lmt().value();
		return lmt.state == pavo::WindowState::dead &&
		       !lmt.handlers_ready && lmt.send_count == 2;
	}));
	EXPECT_EQ(window->lmt().value().fatal_rcxt, rcxts[1]);
	same();
	ASSERT_TRUE(window->disable().has_value());
	same();
}

/* It is what a packet shows, that of all windows of the job, and of no other. */
TEST(Table, TheKeyIsThatOfItsPackets)
{
	Pair pair;
	pavo::Job other = pavo::Job::reserve(pair.device_b, world::job_id + 1,
					     world::job_key)
				  .value();
	pavo::Window foreign =
		pavo::Window::open(other, {.gid_index = pair.address_b.index})
			.value();
	Wire in("vb");
	std::vector<Frame> frames;

	ASSERT_TRUE(pair.a.send({node_b, pair.b.number()}, {}).has_value());
	ASSERT_TRUE(eventually([&] {
		auto more = in.recorded(0xc0);

		frames.insert(frames.end(), more.begin(), more.end());
		return !frames.empty();
	}));
	EXPECT_EQ(field(frames[0], AT_KEY, 8), pair.a.lmt().value().key);
	EXPECT_EQ(pair.b.lmt().value().key, pair.a.lmt().value().key);
	EXPECT_NE(foreign.lmt().value().key, pair.a.lmt().value().key);
}

TEST(Table, OrdinaryUsersSeeNoKey)
{
	pavo::Device device = world::adapter();
	pavo::Job job =
		pavo::Job::reserve(device, world::job_id, world::job_key)
			.value();
	pavo::Window window = pavo::Window::open(job).value();

	EXPECT_NE(window.lmt().value().key, 0u);
	EXPECT_NE(line_of(device, window), "");
	world::Process user([&](world::Process &) {
		world::become_user(400 * world::page);
		pavo::Device mine = world::adapter();
		pavo::Job own = pavo::Job::reserve(mine, world::job_id + 1,
						   world::job_key)
					.value();
		pavo::Window windows = pavo::Window::open(own).value();
		pavo::Lmt lmt = windows.lmt().value();

		/* Nor is there a way to all tables. */
		return !lmt.key && lmt.window == windows.number() &&
		       lmt.recv_offset != lmt.send_offset &&
		       open(tables, O_RDONLY) < 0 && errno == EACCES;
	});
	EXPECT_TRUE(user.good());
}

/* While a worker is at it, from another CPU. */
TEST(Table, WhatIsLeftOfATurn)
{
	constexpr uint32_t quantum = 1024;

	if (std::thread::hardware_concurrency() < 2)
		GTEST_SKIP() << "one CPU: no thread can look meanwhile";
	Parameter rounds("window_quantum", quantum);
	Pair pair(false, 16, quantum);
	std::atomic<bool> over = false;
	uint32_t most = 0;
	bool between = false;
	std::thread sender([&] {
		std::vector<pavo::FrameState> states(quantum);

		while (!over) {
			size_t known = 0;

			for (uint32_t n = 0; n < quantum; n++)
				(void)pair.a.prepare({node_b, pair.b.number()},
						     {});
			(void)pair.a.start();
			while (known < quantum && !over)
				known += pair.a.sent(
					std::span(states).subspan(known));
		}
	});

	EXPECT_TRUE(eventually([&] {
		uint32_t left = pair.a.lmt().value().quantum_left;

		most = std::max(most, left);
		between |= left && left < quantum;
		return between;
	}));
	over = true;
	sender.join();
	EXPECT_LE(most, quantum);
	EXPECT_TRUE(
		eventually([&] { return !pair.a.lmt().value().quantum_left; }));
}

} // namespace
