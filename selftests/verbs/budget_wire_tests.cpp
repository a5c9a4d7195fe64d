// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Loops of the module on behalf of a process, second part (budget_tests.cpp): those on the way to
 * a device and from it, the end of a send queue, and memory that the kernel takes back.
 */
#include <sys/mman.h>

#include <cstdlib>

#include "gso_counts.h"
#include "manager.h"
#include "paged.h"
#include "qdisc.h"
#include "witness.h"

using namespace pv;

namespace {

/* An interface that segments nothing, and merges what arrives (GRO), while this lives. */
class Merging {
public:
	explicit Merging(Host &host) : interface_(interface_of(host))
	{
		if (set("off", "on"))
			throw Skip("no such features of " + interface_);
	}
	~Merging() { set("on", "off"); }
	Merging(const Merging &) = delete;

private:
	int set(const char *segmentation, const char *gro)
	{
		return system(str("ethtool -K ", interface_,
				  " tx-udp_tnl-segmentation ", segmentation,
				  " tso ", segmentation, " gro ", gro,
				  " >/dev/null")
				      .c_str());
	}

	std::string interface_;
};

} // namespace

PV_TEST_LOCAL(
	"budget.segmented",
	"writes and reads of 4 MiB, whose super-packets are segmented on the "
	"way and merged by GRO, leave the CPU to others")
{
	const uint32_t depth = scaled(64);
	Link link = connect(env, {.cap = deep(depth)});
	Place at_a = {must_reg(env.a, {long_message})},
	      at_b = {must_reg(env.b, {long_message})};
	Merging merging_a(env.a), merging_b(env.b);

	for (Op op : {Op::write, Op::read}) {
		const unsigned segmented = gso_count("segmented"),
			       merged = gso_count("merged");

		must_share(name_of(op), [&] {
			must_post(link.a,
				  many(make_wr(op, at_a, long_message, at_b),
				       depth));
			wait_completions(env, link.a, link.a.send_cq, 1,
					 "the last", depth * long_message);
		});
		note(str(gso_count("segmented") - segmented, " segmented, ",
			 gso_count("merged") - merged, " merged"));
		REQUIRE(gso_count("segmented") > segmented, "no super-packet");
		REQUIRE(gso_count("merged") > merged, "GRO merged nothing");
	}
	prove_alive(env, link);
}

PV_TEST_LOCAL("budget.send_queue_error",
	      "a ring of 16,384 requests is flushed behind one that fails (SQE) "
	      "while others have the CPU")
{
	const uint32_t depth = scaled(16384);
	Cq cq = env.a.create_cq(int(depth), false);

	REQUIRE_EQ(cq.error, 0);
	Link link = connect(env, {.type = IBV_QPT_UC,
				  .cap = {depth, 1, 1, 1, 0},
				  .cq_a = cq});
	Place at_a = {must_reg(env.a, {8})};
	std::vector<SendWr> wrs(depth, make_wr(Op::send, at_a, 8));

	wrs[0].sges[0].key_xor = 0x100;
	env.expect_async();
	must_share("SQE", [&] {
		must_post(link.a, wrs);
		const auto ends =
			wait_completions(env, link.a, cq, depth, "all flushed");

		REQUIRE_EQ(int(ends[0].status), IBV_WC_LOC_PROT_ERR);
		for (uint32_t i = 1; i < depth; i++)
			REQUIRE_EQ(int(ends[i].status), IBV_WC_WR_FLUSH_ERR, i);
		REQUIRE_EQ(int(state_of(link.a)), IBV_QPS_SQE, "state");
		to_state(link.a, IBV_QPS_RTS);
	});
}

PV_TEST_LOCAL("budget.taken_back",
	      "the kernel takes back the pages of a long region for on-demand "
	      "paging while others have the CPU")
{
	const size_t length = scaled(256) * (size_t(1) << 20);
	void *at = mmap(nullptr, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at != MAP_FAILED, "mmap: ", strerror(errno));
	RawMr region = on_demand(env.b, at, length);
	ibv_sge all = {uintptr_t(at), uint32_t(length), region->lkey};
	Moved taken(env.b, "odp_invalidations");

	must_share("taken back", [&] {
		REQUIRE_EQ(ibv_advise_mr(region->pd,
					 IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
					 IBV_ADVISE_MR_FLAG_FLUSH, &all, 1),
			   0, "advise_mr");
		REQUIRE_EQ(madvise(at, length, MADV_DONTNEED), 0);
	});
	REQUIRE(taken.by() > 0, "no page was taken back");
	region.reset();
	munmap(at, length);
}
