/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A window with its memory, and how a thread waits for several of them.
 *
 * Owns: device, job, window and mapping of an end. Used by: windows.cpp, nodes.cpp.
 */
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>

#include <pavo/rdma.hpp>

#include "pair.h"

namespace bench {

constexpr uint32_t job_id = 2003;
constexpr uint64_t job_key = 0x62656e6368;

/* One end, with a number in the job: `out` and `in` as those of a queue pair's End. */
struct WindowEnd : Areas {
	/* Node 0 is made first. @options: without node, gid_index and recv_event */
	WindowEnd(const Device &verbs, uint16_t node,
		  pavo::WindowOptions options = {});
	~WindowEnd();

	/* The way to a node of this machine. */
	void know(uint16_t node, const Device &peer);
	/* As wait_for(), by this one alone. */
	void wait(Wait how, const std::function<bool()> &look,
		  std::chrono::nanoseconds most = std::chrono::seconds(1));
	pavo::Pvo out_at(size_t at) const { return mapping.pvo() + at; }
	pavo::Pvo in_at(size_t at) const { return out_at(area_bytes + at); }

	int event; /* an eventfd */
	pavo::Device device;
	pavo::Job job;
	pavo::Window window;
	pavo::Mapping mapping;
};

/* Waits until @look finds something, by events of windows or by looking. */
void wait_for(std::span<WindowEnd *const> ends, Wait how,
	      const std::function<bool()> &look,
	      std::chrono::nanoseconds most = std::chrono::seconds(1));

/* How long a thread may wait for events of an Rdma, or a Broadcast, that has to go on then. */
template <class Engine> std::chrono::nanoseconds due_in(const Engine &engine)
{
	using namespace std::chrono_literals;

	return std::clamp<std::chrono::nanoseconds>(
		engine.due() - Engine::Clock::now(), 0ns, 1s);
}

} // namespace bench
