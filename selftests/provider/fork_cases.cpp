// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fork_cases.cpp - a child of a process that has its context open: it leaves the page of doorbells
 * alone.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "../common/child.h"
#include "played_module.h"

namespace {

/* Emulators of user space take MADV_WIPEONFORK and may do nothing. */
bool fork_wipes()
{
	const size_t size = sysconf(_SC_PAGESIZE);
	void *page = mmap(nullptr, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	common::must(page != MAP_FAILED, "mmap");
	*static_cast<char *>(page) = 1;
	common::must(!madvise(page, size, MADV_WIPEONFORK), "madvise");

	const bool wiped = !common::Child([&] {
				    common::must(!*static_cast<char *>(page),
						 "nothing is wiped here");
			    }).wait();

	munmap(page, size);
	return wiped;
}

void in_child(const std::function<void()> &body)
{
	static const bool wipes = fork_wipes();

	if (!wipes)
		throw common::Skip("fork() does not wipe memory here");
	common::Child(body).must_end_well();
}

void must_complete(User &user, uint64_t wr_id)
{
	ibv_wc wc;

	REQUIRE_EQ(ibv_poll_cq(user.send_cq, 1, &wc), 1);
	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
	REQUIRE_EQ(wc.wr_id, wr_id);
}

/* More than the page has room for. */
void test_child_posts()
{
	constexpr int count = 2 * PAVO_DB_RING_ENTRIES;
	User user;

	calm_engine();
	engine.completes = true;
	REQUIRE_EQ(user.send(1, 7), 0);
	must_complete(user, 7);
	REQUIRE_EQ(engine.rung, 0, "the page is the parent's");

	const pavo_doorbell_page before = *engine.doorbell_page();

	in_child([&] {
		pavodv_context dv = {};

		for (int i = 0; i < count; i++) {
			REQUIRE_EQ(user.send(1, uint64_t(i)), 0);
			must_complete(user, uint64_t(i));
		}
		REQUIRE_EQ(engine.rung, count);
		engine.lacks_memory = 5;
		REQUIRE_EQ(user.send(1, 8), 0);
		REQUIRE_EQ(pavodv_query_context(context, &dv), 0);
		REQUIRE_EQ(dv.doorbell->prod, before.prod, "the address");
	});
	REQUIRE(!memcmp(engine.doorbell_page(), &before, sizeof(before)),
		"a child wrote to its parent's page");
	calm_engine();
}

void test_child_of_old_module()
{
	User user;

	calm_engine();
	in_child([&] {
		engine.is_old = true;
		for (int i = 0; i < 20; i++)
			REQUIRE_EQ(user.send(1, 1), EOPNOTSUPP);
		REQUIRE_EQ(user.side().taken, 0);
	});
	REQUIRE_EQ(user.send(8, 1), 0, "none of those was posted");
	calm_engine();
}

/* A queue that both use in turn: each goes on where the other has left it. */
void test_in_turn()
{
	User user;

	calm_engine();
	in_child([&] { REQUIRE_EQ(user.send(3, 100), 0); });
	/* The module has carried them out; this one has not seen it. */
	user.side().taken = 3;
	for (uint32_t i = 0; i < 3; i++)
		user.side().send_cq->push({.qpn = user.qp->qp_num,
					   .wqe = i,
					   .opcode = PAVO_WQE_SEND});
	in_child([&] { must_complete(user, 100); });
	must_complete(user, 101);
	must_complete(user, 102);
	engine.completes = true;
	REQUIRE_EQ(user.send(8, 200), 0);
	REQUIRE_EQ(user.side().taken, 11);
	must_complete(user, 200);
	calm_engine();
}

} // namespace

void add_fork_cases(Cases &cases)
{
	cases.push_back(
		{"a child of fork() rings by calls, and leaves the page "
		 "to its parent",
		 test_child_posts});
	cases.push_back({"a child is refused where the module is older",
			 test_child_of_old_module});
	cases.push_back(
		{"a child and its parent use a queue in turn", test_in_turn});
}
