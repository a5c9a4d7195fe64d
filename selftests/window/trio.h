// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* trio.h - three windows on two adapters, each of which may be an end of third-party RDMA. */
#ifndef PAVO_WINDOW_TRIO_H
#define PAVO_WINDOW_TRIO_H

#include <array>
#include <memory>

#include "adapter.h"

namespace windows {

constexpr uint16_t node_c = 2;

/*
 * Window c is on the adapter of a. Window a is the controller. All know all nodes, their own too:
 * packets to that go over the adapter's loopback.
 */
struct Trio : Pair {
	static constexpr size_t bytes = 1 << 20;

	explicit Trio(bool ipv6 = false);

	/* From memory of a window to that of another, on the contexts that each has for it. */
	pavo::ThirdFrame request(size_t source, size_t target, uint32_t length);
	/* Requests that of @source by window a. Return: what the frame was marked with. */
	pavo::FrameState ask(size_t source, const pavo::ThirdFrame &third);

	pavo::Device &device_of(size_t window)
	{
		return window == 1 ? device_b : device_a;
	}
	bool all_valid() const;

	pavo::Window c;
	const std::array<pavo::Window *, 3> windows{&a, &b, &c};
	/* Memory of each, of pattern 1 to 3. */
	std::array<std::unique_ptr<Buffer>, 3> buffers;
	uint32_t controls = 0;
	std::array<uint32_t, 3> sources{};
	std::array<uint32_t, 3> targets{};
	uint64_t tid = 0;
};

} // namespace windows

#endif // PAVO_WINDOW_TRIO_H
