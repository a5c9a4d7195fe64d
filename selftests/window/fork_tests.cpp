// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fork_tests.cpp - a window that a child of fork() has inherited: it may use it in the place of its
 * parent, whose other windows go on.
 */
#include <gtest/gtest.h>

#include "../common/child.h"
#include "adapter.h"

using namespace windows;

namespace {

constexpr int forked_messages = 400;

/* Sends messages of all lengths from one window to the other, and checks them. */
bool talk(pavo::Window &from, pavo::Window &to)
{
	for (int i = 0; i < forked_messages; i++) {
		const auto sent = pattern(i, i % from.max_payload());
		std::vector<std::byte> got;
		bool took = false;

		if (!from.send(to.address(), sent).has_value())
			return false;
		took = eventually([&] {
			return to.receive(
				[&](const pavo::Message &message) {
					got.assign(message.payload.begin(),
						   message.payload.end());
				},
				1);
		});
		if (!took || got != sent)
			return false;
	}
	return true;
}

/* One more window at each end of a pair. */
struct More {
	explicit More(Pair &pair)
		: b(another(pair)),
		  a(pavo::Window::open(pair.job_a,
				       {.node = node_a,
					.gid_index = pair.address_a.index})
			    .value())
	{
		must(a.set_node(node_b, pair.address_b.gid));
	}

	std::unique_ptr<pavo::Window> b;
	pavo::Window a;
};

TEST(ForkedWindow, WorksInAChildBesideOthersOfTheParent)
{
	Pair theirs;
	More ours(theirs);

	ASSERT_TRUE(talk(theirs.a, theirs.b));
	common::Child child([&] {
		_exit(!talk(theirs.a, theirs.b) || !talk(theirs.b, theirs.a));
	});
	EXPECT_TRUE(talk(ours.a, *ours.b));
	EXPECT_EQ(child.wait(), 0);
	EXPECT_TRUE(talk(*ours.b, ours.a));
}

/* The command page is shared, and its producer counts in it. */
TEST(ForkedWindow, OfAKilledChildLeavesTheOthersAlone)
{
	Pair ours;

	for (int round = 0; round < 10; round++) {
		More theirs(ours);
		common::Child child([&] {
			while (talk(theirs.a, *theirs.b))
				;
		});
		EXPECT_TRUE(talk(ours.a, ours.b));
		EXPECT_TRUE(WIFSIGNALED(child.kill_now()));
		EXPECT_TRUE(talk(ours.b, ours.a));
	}
}

} // namespace
