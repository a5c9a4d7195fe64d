// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* trio.cpp - see trio.h. */
#include "trio.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace windows {

Trio::Trio(bool ipv6)
	: Pair(ipv6),
	  c(pavo::Window::open(job_a,
			       {.node = node_c, .gid_index = address_a.index})
		    .value())
{
	for (size_t i = 0; i < windows.size(); i++) {
		pavo::Window &window = *windows[i];

		must(window.set_node(node_a, address_a.gid));
		must(window.set_node(node_b, address_b.gid));
		must(window.set_node(node_c, address_a.gid));
		must(window.take_rcxts({&sources[i], 1}));
		must(window.take_rcxts({&targets[i], 1}));
		buffers[i] = std::make_unique<Buffer>(i == 1 ? job_b : job_a,
						      bytes, uint32_t(i + 1));
	}
	must(a.take_rcxts({&controls, 1}));
}

pavo::ThirdFrame Trio::request(size_t source, size_t target, uint32_t length)
{
	pavo::ThirdFrame third{.target = windows[target]->address(),
			       .target_rcxt = targets[target]};

	tid++;
	third.request = {.local_rcxt = controls,
			 .remote_rcxt = sources[source],
			 .tid = tid,
			 .local_pvo = buffers[target]->pvo(bytes / 2),
			 .remote_pvo = buffers[source]->pvo(),
			 .length = length,
			 .tag = uint32_t(0xabc000 + tid),
			 .cookie = uint32_t(0x50 + tid)};
	return third;
}

pavo::FrameState Trio::ask(size_t source, const pavo::ThirdFrame &third)
{
	pavo::FrameState state = pavo::FrameState::empty;

	EXPECT_TRUE(
		a.prepare_third(windows[source]->address(), third).has_value());
	EXPECT_TRUE(a.start().has_value());
	eventually([&] { return one_sent(a, state); });
	return state;
}

bool Trio::all_valid() const
{
	return std::ranges::all_of(windows, [](const pavo::Window *window) {
		return window->lmt().value().state == pavo::WindowState::valid;
	});
}

} // namespace windows
