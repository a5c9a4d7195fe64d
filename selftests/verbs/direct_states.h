/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A direct window whose ranges are in every state, to see what becomes of them. Used by:
 * direct_end_tests.cpp, direct_holder.cpp.
 */
#pragma once

#include <cerrno>
#include <vector>

#include "direct.h"
#include "tap.h"

namespace pv {

/* Long enough that no queue pair gives up while its interface sends nothing. */
constexpr LinkSpec patient_link = {.timeout = 18};

/* A window whose ranges are in every state that lasts, with pages in page tables. */
class DirectStates {
public:
	explicit DirectStates(Env &env)
		: window(env.a), env_(env), at_b_(must_reg(env.b, {4096}, 1))
	{
		for (Link &link : links)
			link = connect(env, patient_link);
		window.arm(filling, 4096);
		window.store(filling, 0, 100, 1);
		write(filling, links[0]);
		window.arm(unposted, 4096);
		window.put(unposted, 0, 100, 1);
		window.store(unposted, 100, 100, 1);
		window.arm(full, 4096);
		window.store(full, 0, 4096, 1);
		window.count(full, 4096);
		window.arm_read(unasked, 4096);
		for (uint32_t range : {loaded, halved}) {
			window.arm_read(range, 4096);
			read(range, links[range == loaded ? 1 : 2]);
			window.wait_valid(env, range, {1, 0}, "response");
		}
		std::vector<uint8_t> bytes;

		REQUIRE_EQ(window.try_take(halved, 0, 100, &bytes), 100,
			   "half");
		REQUIRE_EQ(*window.memory(loaded),
			   *local(env.b).memory(at_b_.id), "loaded");
	}

	/* The rest, while the interface of A sends nothing. */
	void begin_silent()
	{
		window.arm(sending, 4096);
		window.store(sending, 0, 4096, 1);
		window.count(sending, 4096);
		write(sending, links[3]);
		window.arm_read(asked, 4096);
		read(asked, links[4]);
		REQUIRE(eventually(env_,
				   [&] {
					   return window.try_disarm(sending) ==
						  EBUSY;
				   }),
			"it is being sent");
	}

	/* Those that no work request has. */
	void disarm_rest()
	{
		for (uint32_t range : {unposted, full, unasked})
			window.disarm(range);
	}

	enum : uint32_t {
		filling,
		unposted,
		full,
		unasked,
		loaded,
		halved,
		sending,
		asked
	};

	Direct window;
	Link links[5];

private:
	void write(uint32_t range, Link &link)
	{
		post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(range, 4096),
			    range, {at_b_});
	}
	void read(uint32_t range, Link &link)
	{
		post_direct(link.a, IBV_WR_RDMA_READ, window.sge(range, 4096),
			    range, {at_b_});
	}

	Env &env_;
	Mr at_b_;
};

} // namespace pv
