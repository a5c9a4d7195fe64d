// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests to the remote key manager: which calls end a key by a walk, how many
 * walks that takes, and that a walk waits for a copy that is running.
 */
#include <functional>
#include <memory>
#include <thread>

#include "manager.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

Mr bindable_page(Env &env)
{
	return must_reg(env.b, {page, 0, bindable_access});
}

/* A call, and how many keys it ends: each by a walk, where queue pairs are few. */
void must_walk(Env &env, unsigned walks, const char *what,
	       const std::function<void()> &call)
{
	Moved all(env.b, "rkm_walks"), keys(env.b, "rkm_requests");

	call();
	REQUIRE_EQ(all.by(), walks, "walks: ", what);
	REQUIRE_EQ(keys.by(), walks, "keys: ", what);
}

/* The peer's send takes a key back. */
void must_send_inv(Env &env, Link &link, uint32_t key)
{
	must_post(link.b, RecvWr{1, {}});
	must_send(env, link.a, send_inv({}, 0, key), "send");
	expect_recv(env, link.b, 1, "receive");
}

void rereg(Env &env, const Mr &mr, int flags, Handle pd, unsigned access)
{
	bool place = flags & IBV_REREG_MR_CHANGE_TRANSLATION;

	REQUIRE_EQ(local(env.b).rereg(mr.id, flags, pd, place ? &mr : nullptr,
				      access),
		   0, "ibv_rereg_mr");
}

} // namespace

PV_TEST_LOCAL("rkm.counts_regions", "deregistration walks where peers had "
				    "rights, and only there")
{
	for (unsigned access : {unsigned(IBV_ACCESS_REMOTE_READ), all_access}) {
		Mr mr = must_reg(env.b, {page, 0, access});

		must_walk(env, 1, "deregistration", [&] {
			REQUIRE_EQ(env.b.destroy(Kind::mr, mr.id), 0, "dereg");
		});
	}
	Mr mr = bindable_page(env);
	must_walk(env, 0, "deregistration, no right of peers", [&] {
		REQUIRE_EQ(env.b.destroy(Kind::mr, mr.id), 0, "dereg");
	});
}

PV_TEST_LOCAL("rkm.counts_rereg", "re-registration walks where peers lose "
				  "something, and only there")
{
	constexpr unsigned reading = IBV_ACCESS_LOCAL_WRITE |
				     IBV_ACCESS_REMOTE_READ;
	constexpr int access = IBV_REREG_MR_CHANGE_ACCESS;
	Pd pd = env.b.alloc_pd();
	Mr mr = must_reg(env.b, {page, 0, reading});

	must_walk(env, 0, "rights given",
		  [&] { rereg(env, mr, access, 0, all_access); });
	must_walk(env, 0, "the same rights",
		  [&] { rereg(env, mr, access, 0, all_access); });
	must_walk(env, 1, "the memory", [&] {
		rereg(env, mr, IBV_REREG_MR_CHANGE_TRANSLATION, 0, 0);
	});
	must_walk(env, 1, "rights taken",
		  [&] { rereg(env, mr, access, 0, reading); });
	must_walk(env, 1, "another PD",
		  [&] { rereg(env, mr, IBV_REREG_MR_CHANGE_PD, pd.id, 0); });
	must_walk(env, 1, "the last right",
		  [&] { rereg(env, mr, access, 0, IBV_ACCESS_LOCAL_WRITE); });
	must_walk(env, 0, "the memory, no right of peers", [&] {
		rereg(env, mr, IBV_REREG_MR_CHANGE_TRANSLATION, 0, 0);
	});
}

PV_TEST_LOCAL("rkm.counts_type_1", "binds and the end of windows of type 1: "
				   "a walk where there was a binding")
{
	Link link = connect(env);
	BindSpec spec = {bindable_page(env), 0, page};
	Window moved(env.b, IBV_MW_TYPE_1), freed(env.b, IBV_MW_TYPE_1),
		unused(env.b, IBV_MW_TYPE_1);

	must_walk(env, 0, "the first bind",
		  [&] { must_bind(env, link.b, moved, spec); });
	must_walk(env, 1, "a move",
		  [&] { must_bind(env, link.b, moved, spec); });
	must_walk(env, 1, "to nothing",
		  [&] { must_bind(env, link.b, moved, {}); });
	must_walk(env, 0, "to nothing again",
		  [&] { must_bind(env, link.b, moved, {}); });
	must_bind(env, link.b, freed, spec);
	must_walk(env, 1, "freed while bound",
		  [&] { REQUIRE_EQ(freed.free(), 0, "dealloc"); });
	must_walk(env, 0, "freed after its binding",
		  [&] { REQUIRE_EQ(moved.free(), 0, "dealloc"); });
	must_walk(env, 0, "freed without one",
		  [&] { REQUIRE_EQ(unused.free(), 0, "dealloc"); });
}

PV_TEST_LOCAL("rkm.counts_type_2", "invalidation and the end of windows of "
				   "type 2: a walk where there was a binding")
{
	Link link = connect(env);
	BindSpec spec = {bindable_page(env), 0, page};
	Window one(env.b, IBV_MW_TYPE_2), two(env.b, IBV_MW_TYPE_2);

	must_walk(env, 0, "bind", [&] { must_bind(env, link.b, one, spec); });
	must_walk(env, 1, "local invalidate",
		  [&] { must_invalidate(env, link.b, one->rkey); });
	must_bind(env, link.b, one, spec);
	must_walk(env, 1, "send with invalidate",
		  [&] { must_send_inv(env, link, one->rkey); });
	must_bind(env, link.b, one, spec);
	must_walk(env, 1, "freed while bound",
		  [&] { REQUIRE_EQ(one.free(), 0, "dealloc"); });
	must_bind(env, link.b, two, spec);
	must_invalidate(env, link.b, two->rkey);
	must_walk(env, 0, "freed after its binding",
		  [&] { REQUIRE_EQ(two.free(), 0, "dealloc"); });
}

PV_TEST_LOCAL("rkm.counts_qp_end", "the end of a queue pair ends each window "
				   "of type 2 that it has bound")
{
	constexpr unsigned windows = 3;
	Link stays = connect(env);
	BindSpec spec = {bindable_page(env), 0, page};
	Window other(env.b, IBV_MW_TYPE_1);

	for (unsigned n : {0u, windows}) {
		Link link = connect(env);
		std::vector<std::unique_ptr<Window>> bound;

		for (unsigned i = 0; i < n; i++) {
			bound.push_back(
				std::make_unique<Window>(env.b, IBV_MW_TYPE_2));
			must_bind(env, link.b, *bound.back(), spec);
		}
		/* Of type 1: it is not the queue pair's, which bound it. */
		must_bind(env, link.b, other, spec);
		must_walk(env, n, "the end of a queue pair", [&] {
			REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0,
				   "destroy");
		});
		must_walk(env, 0, "its windows are bound no more",
			  [&] { bound.clear(); });
		must_bind(env, stays.b, other, {});
	}
}

/*
 * A copy runs for some microseconds at a time, on another CPU than the walk: so keys end
 * until one meets it. UC, so that no queue pair ends with them.
 */
PV_TEST_LOCAL("rkm.stalls", "a walk that finds a copy running waits for it, "
			    "and is the only one that waits")
{
	constexpr uint64_t size = 1 << 20;
	if (std::thread::hardware_concurrency() < 2)
		throw Skip("one CPU: nothing runs beside a walk");
	LinkSpec uc = {.type = IBV_QPT_UC};
	Link link = connect(env, uc), binder = connect(env, uc);
	Window window(env.b, IBV_MW_TYPE_1);
	BindSpec spec = {must_reg(env.b, {size, 0, bindable_access}), 0, size};
	Mr out = must_reg(env.a, {size}, 1);
	Moved stalls(env.b, "rkm_stalls"), matches(env.b, "rkm_matches");
	int rounds = 0;

	must_bind(env, binder.b, window, spec);
	Writer writer(env, link,
		      make_wr(Op::write, {out, 0}, size, {spec.mr, 0}),
		      window->rkey);
	/* The runner's limit ends what never comes. */
	do {
		for (int i = 0; i < 50; i++, rounds++) {
			must_bind(env, binder.b, window, spec);
			writer.key = window->rkey;
			/* A write by that key is under way. */
			env.b.store(spec.mr.id, 0, 0);
			while (!env.b.load(spec.mr.id, 0))
				std::this_thread::yield();
		}
	} while (!stalls.by());
	note(str(rounds, " ends of a key, ", matches.by(), " in use, ",
		 stalls.by(), " copies waited for"));
	REQUIRE(stalls.by() <= matches.by(), "stalls");
}
