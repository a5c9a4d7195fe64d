// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Walks of the remote key manager and XRC targets, which have no protection domain of their
 * own: each request brings that of the queue which it names.
 */
#include <string>
#include <thread>
#include <vector>

#include "manager.h"
#include "qdisc.h"
#include "tap.h"
#include "window.h"
#include "xrc.h"

using namespace pv;

PV_TEST_LOCAL("rkm.xrc_target", "a window's key ends under a long write to a "
				"target, be queue pairs few or many")
{
	constexpr uint64_t size = 16 << 20;
	constexpr size_t many = 40;
	Link binder = connect(env);
	std::vector<Link> others;

	env.expect_async();
	for (size_t count : {size_t(0), many}) {
		XrcLink link = connect_xrc(env);
		Window window(env.b, IBV_MW_TYPE_1);
		Mr out = must_reg(env.a, {size});
		BindSpec spec = {must_reg(env.b, {size, 0, bindable_access}), 0,
				 size};
		const uint64_t seed = env.seed(), canary = env.seed();

		if (count)
			others = many_links(env, count);
		env.a.fill(out.id, 0, size, seed, 0);
		must_bind(env, binder.b, window, spec);
		Moved matches(env.b, "rkm_matches"), walks(env.b, "rkm_walks");
		SendWr write =
			to_srq(link.srq, make_wr(Op::write, {out, 0}, size,
						 {view_of(window, spec), 0}));
		Qdisc slow(env.a, narrow);
		must_post(link.a, write);
		while (env.b.verify(spec.mr.id, 0, 8, seed, 0) != -1)
			std::this_thread::yield();
		must_bind(env, binder.b, window, {});
		env.b.fill(spec.mr.id, 0, size, canary, 0);
		check_wc(wait_send(env, link.a, "write", size), write.id,
			 IBV_WC_REM_ACCESS_ERR, "write");
		must_match(env.b, spec.mr, 0, size, canary, 0, "after its end");
		REQUIRE_EQ(walks.by(), 1u, "walks");
		/*
		 * A walk of many is made by a work. The write's next packet, which
		 * looks its key up, may come before and end it.
		 */
		REQUIRE(matches.by() == 1 || (count && !matches.by()),
			matches.by(), " operations were ended");
	}
}

/*
 * PD 0 of sources.md#keys-memory is that of entries which no key matches. Here it is that
 * of targets, whose operations are of several PDs: a walk of all queue pairs compares its
 * keys, a walk of another PD does not come by. A key is of one PD only
 * (docs/deviations.md, "Key manager document").
 */
PV_TEST_LOCAL("rkm.pd_zero",
	      "a queue pair without a PD: keys of another PD and others of the "
	      "same end while it answers a read, and none of them matches")
{
	Moved keys(env.b, "rkm_keys"), matches(env.b, "rkm_matches");
	LinkSpec patient, elsewhere;
	patient.timeout = 0;
	elsewhere.pd_b = env.b.alloc_pd().id;
	XrcLink link = connect_xrc(env, patient);
	Link own = connect(env), other = connect(env, elsewhere);
	Window used(env.b, IBV_MW_TYPE_1), same(env.b, IBV_MW_TYPE_1),
		foreign(env.b, IBV_MW_TYPE_1, elsewhere.pd_b);
	auto bindable = [&](Handle pd) {
		return must_reg(env.b, {page, 0, bindable_access, pd});
	};
	BindSpec spec = {bindable(0), 0, page};
	BindSpec theirs = {bindable(elsewhere.pd_b), 0, page};
	Mr in = must_reg(env.a, {page});
	const uint64_t seed = env.seed();

	env.b.fill(spec.mr.id, 0, page, seed, 0);
	must_bind(env, own.b, used, spec);
	auto in_use = [&] {
		std::string word = slots_of(link.b).at(1);

		/* It may just be tried again. */
		std::erase(word, '*');
		return strtoul(word.c_str(), nullptr, 16) == used->rkey &&
		       word.size() == 8;
	};
	auto end_others = [&] {
		must_bind(env, own.b, same, spec);
		must_bind(env, own.b, same, {});
		must_bind(env, other.b, foreign, theirs);
		must_bind(env, other.b, foreign, {});
	};
	Qdisc queue(env.b, no_room);
	SendWr read =
		make_wr(Op::read, {in, 0}, page, {view_of(used, spec), 0});
	must_post(link.a, to_srq(link.srq, read));
	REQUIRE(eventually(env, in_use), "no read is under way");
	end_others();
	{
		Parameter all("rkm_full_walk", "Y");

		end_others();
	}
	REQUIRE(in_use(), "the read's slot was cleared");
	queue.change(room);
	REQUIRE_EQ(keys.by(),
		   3 * slots_of(link.b).size() + 2 * slots_of(own.b).size() +
			   2 * slots_of(other.b).size(),
		   "slots compared");
	REQUIRE_EQ(matches.by(), 0u, "matches");
	REQUIRE_EQ(int(wait_send(env, link.a, "read").status), IBV_WC_SUCCESS,
		   "read");
	must_match(env.a, in, 0, page, seed, 0, "what was read");
}

namespace {

/* Queue pairs that one walk of this window's domain looks at. */
uint64_t looked_at(Env &env, Link &binder, Window &window, const BindSpec &spec)
{
	Moved qps(env.b, "rkm_qps"), walks(env.b, "rkm_walks");

	must_bind(env, binder.b, window, spec);
	must_bind(env, binder.b, window, {});
	REQUIRE_EQ(walks.by(), 1u, "walks");
	return qps.by();
}

} // namespace

PV_TEST_LOCAL("rkm.xrc_strangers",
	      "a domain's walks look at targets that used a queue of it, once")
{
	constexpr size_t many = 40;
	Link binder = connect(env);
	Window window(env.b, IBV_MW_TYPE_1);
	BindSpec spec = {must_reg(env.b, {page, 0, bindable_access}), 0, page};
	std::vector<XrcLink> links;
	const uint64_t before = looked_at(env, binder, window, spec);

	for (size_t i = 0; i < many; i++)
		links.push_back(connect_xrc(env));
	REQUIRE_EQ(looked_at(env, binder, window, spec), before,
		   "with idle targets");
	for (int round = 0; round < 3; round++) {
		XrcLink &link = links[5];
		SendWr wr = to_srq(link.srq, make_wr(Op::send, {}, 0));

		must_post_srq(env.b, link.srq, {{1, {}}});
		must_send(env, link.a, wr, "send");
		REQUIRE_EQ(looked_at(env, binder, window, spec), before + 1,
			   "with one that was used");
	}
	REQUIRE_EQ(env.b.destroy(Kind::qp, links[5].b.qp.id), 0, "destroy_qp");
	REQUIRE_EQ(looked_at(env, binder, window, spec), before,
		   "without that target");
}

PV_TEST_LOCAL("rkm.xrc_most",
	      "a target's requests may use queues of 256 protection domains; "
	      "one of another is refused")
{
	constexpr size_t most = 256;
	XrcLink link = connect_xrc(env);
	const auto send = [&](const Srq &srq) {
		return to_srq(srq, make_wr(Op::send, {}, 0));
	};
	const auto make_srq = [&] {
		Srq srq = must_srq(env, link.xrcd, link.b.recv_cq,
				   env.b.alloc_pd().id);

		must_post_srq(env.b, srq, {{1, {}}});
		return srq;
	};

	for (size_t i = 0; i < most; i++) {
		must_send(env, link.a, send(make_srq()),
			  str("to queue ", i).c_str());
		expect_recv(env, link.b, 1, "receive");
	}
	must_refuse_xrc(env, link, send(make_srq()), IBV_WC_REM_INV_REQ_ERR,
			"one more");
}
