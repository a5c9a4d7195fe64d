// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* group_scene.h - a group of windows with memory that they bind, for the tests of groups. */
#ifndef GROUP_SCENE_H
#define GROUP_SCENE_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapter.h"
#include "raw.h"
#include "command.hpp"
#include "shared_window.hpp"

using namespace windows;

namespace {

inline pavo::Gid ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}};
}

[[maybe_unused]] const auto invalid =
	pavo::Unexpected(std::errc::invalid_argument);

constexpr uint32_t group_number = pavo::window_group | 77, group_rcxt = 3;
constexpr uint16_t group_node = 5;
constexpr size_t group_memory = 1 << 17;
constexpr uint8_t write_target = pavo::rdma_flag::notify_target;

const pavo::Gid group_gid = ipv4(239, 7, 7, 7);

/* A frame that arrived at a member; of RDMA, with its completion. */
struct Arrived {
	pavo::WindowAddress from;
	std::string text = {};
	std::optional<pavo::GroupDoneFrame> done = {};
};

/* A window of the second adapter with memory of its own. */
struct Member {
	Member(Pair &pair, pavo::Job &job, uint32_t number)
		: window(pavo::Window::open(job,
					    {.node = node_b,
					     .gid_index = pair.address_b.index})
				 .value()),
		  buffer(job, group_memory, number)
	{
	}

	void join() { must(window.join(group_gid, group_number)); }
	void bind(uint64_t tid = 0)
	{
		must(window.bind(group_number, group_rcxt, {buffer.pvo()},
				 group_memory, tid));
	}

	/* Takes what has come. */
	void take()
	{
		window.receive([&](const pavo::Message &message) {
			Arrived one{.from = message.from};
			auto bytes = message.payload;

			if (message.type == pavo::FrameType::rdma_broadcast)
				one.done = message.group_done();
			else
				one.text.assign(reinterpret_cast<const char *>(
							bytes.data()),
						bytes.size());
			all.push_back(one);
		});
	}

	/* Waits for frame @n. */
	const Arrived &wait(size_t n = 0)
	{
		EXPECT_TRUE(eventually([&] {
			take();
			return all.size() > n;
		}));
		all.resize(std::max(all.size(), n + 1));
		return all[n];
	}

	pavo::Window window;
	Buffer buffer;
	std::vector<Arrived> all;
};

/* A window of the first adapter that sends to the group, and two of the second one. */
struct Grouped : Pair {
	Grouped()
		: source(pavo::Window::open(job_a,
					    {.node = node_a,
					     .gid_index = address_a.index,
					     .broadcast = true})
				 .value()),
		  memory(job_a, group_memory, 1), one(*this, job_b, 2),
		  two(*this, job_b, 3)
	{
		must(source.take_rcxts({&rcxt, 1}));
		must(source.set_node(group_node, group_gid));
		must(source.set_node(node_b, address_b.gid));
	}

	pavo::RequestFrame write(uint32_t length, uint64_t offset = 0)
	{
		return {.local_rcxt = rcxt,
			.remote_rcxt = group_rcxt,
			.tid = ++tid,
			.local_pvo = memory.pvo(offset),
			.remote_pvo = offset,
			.length = length,
			.tag = uint32_t(tid + 500),
			.flags = write_target,
			.attempts = 0,
			.cookie = 0};
	}

	/* Return: what the frame was marked with. */
	pavo::FrameState ask(const pavo::RequestFrame &request,
			     uint16_t node = group_node,
			     uint32_t number = group_number,
			     pavo::Direction way = pavo::Direction::write)
	{
		must(source.prepare_rdma(way, {node, number}, request));
		must(source.start());
		return mark();
	}

	pavo::FrameState mark()
	{
		pavo::FrameState state = pavo::FrameState::empty;

		eventually([&] { return source.sent({&state, 1}) == 1; });
		return state;
	}

	void say(const std::string &text, pavo::WindowAddress to)
	{
		must(source.send(to, std::as_bytes(std::span(text))));
	}

	/* Does the member have the bytes of an operation, and no others? */
	bool placed(const Member &member, uint32_t number, size_t from,
		    size_t bytes) const
	{
		return member.buffer.holds(1, from, bytes) &&
		       member.buffer.holds(number, 0, from) &&
		       member.buffer.holds(number, from + bytes,
					   group_memory - from - bytes);
	}

	pavo::Window source;
	Buffer memory;
	Member one;
	Member two;
	uint32_t rcxt = 0;
	uint64_t tid = 0;
};

} // namespace

#endif
