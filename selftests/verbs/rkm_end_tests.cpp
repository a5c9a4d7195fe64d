// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs that end, or are reset, while a walk that they asked for is under way, and
 * windows that are deallocated meanwhile: more queue pairs than are walked over at once,
 * so that the manager's work walks.
 */
#include <atomic>
#include <thread>

#include "manager.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

constexpr size_t bystanders = 40;
constexpr int rounds = 50, kicks = 48;

/* A queue pair at B with a window on it, beside so many others. */
class Asker {
public:
	Asker(Env &env, const std::vector<Link> &others, const Mr &memory)
		: env_(env), spec_(others[0].spec),
		  window_(env.b, IBV_MW_TYPE_2)
	{
		spec_.cap.max_send_wr = kicks + 2;
		link_ = connect(env, spec_);
		must_bind(env, link_.b, window_, {memory, 0, page});
	}

	Side &side() { return link_.b; }

	void ask() { id_ = post_local_inv(side(), window_->rkey); }

	/*
	 * Until it is told: each post has the queue pair looked at by this process,
	 * which may be there before the manager has told it to go on.
	 */
	void wait_for_end()
	{
		SendWr nothing = make_wr(Op::write, {}, 0);
		std::vector<Wc> wcs;

		nothing.flags = 0;
		nothing.sges.clear();
		for (int i = 0; wcs.empty() && i < kicks; i++) {
			must_post(side(), nothing);
			wcs = env_.b.poll(side().send_cq.id, 1, 0);
		}
		if (wcs.empty())
			wcs = {wait_send(env_, side(), "end of a key")};
		check_wc(wcs[0], id_, IBV_WC_SUCCESS, "end of a key");
	}

	void destroy()
	{
		REQUIRE_EQ(env_.b.destroy(Kind::qp, link_.b.qp.id), 0,
			   "destroy at B");
		REQUIRE_EQ(env_.a.destroy(Kind::qp, link_.a.qp.id), 0,
			   "destroy at A");
	}

private:
	Env &env_;
	LinkSpec spec_;
	Window window_;
	Link link_;
	uint64_t id_ = 0;
};

/* So many askers, one after the other; then all else still works. */
void end_askers(Env &env, const std::function<void(Asker &)> &end)
{
	std::vector<Link> others = many_links(env, bystanders);
	Mr memory = must_reg(env.b, {page, 0, bindable_access});
	Moved keys(env.b, "rkm_requests");

	env.expect_async();
	for (int round = 0; round < rounds; round++) {
		Asker asker(env, others, memory);

		asker.ask();
		end(asker);
		asker.destroy();
	}
	REQUIRE(keys.by() >= rounds, keys.by(), " keys");
	prove_alive(env, others[0]);
}

} // namespace

PV_TEST_LOCAL("rkm.destroyed_at_once",
	      "a queue pair is destroyed as soon as the end of a key that it "
	      "waited for is told")
{
	end_askers(env, [](Asker &asker) { asker.wait_for_end(); });
}

PV_TEST_LOCAL("rkm.destroyed_waiting", "a queue pair is destroyed while it "
				       "waits for the end of a key")
{
	end_askers(env, [](Asker &) {});
}

PV_TEST_LOCAL("rkm.reset_waiting", "a queue pair is reset while it waits for "
				   "the end of a key")
{
	end_askers(env,
		   [](Asker &asker) { to_state(asker.side(), IBV_QPS_RESET); });
}

PV_TEST_LOCAL("rkm.error_waiting",
	      "a queue pair goes to Error while it waits for the end of a key, "
	      "which is told or flushed")
{
	end_askers(env, [&](Asker &asker) {
		to_state(asker.side(), IBV_QPS_ERR);
		Wc wc = wait_send(env, asker.side(), "end of a key");

		REQUIRE(wc.status == IBV_WC_SUCCESS ||
				wc.status == IBV_WC_WR_FLUSH_ERR,
			ibv_wc_status_str(wc.status));
	});
}

/*
 * Deallocation ends the binding and waits for a walk. No bind may succeed then: its view
 * would be the window's for ever, and its region in use.
 */
PV_TEST_LOCAL("rkm.deallocated_while_bound",
	      "a window is deallocated while another thread binds it over and "
	      "over: it is gone, and its region is free")
{
	constexpr uint32_t binds = 64;
	std::vector<Link> others = many_links(env, bystanders);
	LinkSpec spec = others[0].spec;
	uint32_t met = 0;

	spec.cap.max_send_wr = binds;
	Link link = connect(env, spec);
	env.expect_async();
	for (int round = 0; round < rounds; round++) {
		Mr memory = must_reg(env.b, {page, 0, bindable_access});
		Window window(env.b, IBV_MW_TYPE_1);
		must_bind(env, link.b, window, {memory, 0, page});

		/* The copy that is posted; the window itself goes. */
		ibv_mw named = *window.get();
		ibv_qp *qp = local(env.b).raw_qp(link.b.qp.id);
		ibv_mw_bind bind = {
			.send_flags = IBV_SEND_SIGNALED,
			.bind_info = {local(env.b).raw_mr(memory.id),
				      memory.address, page, window_access}};
		std::atomic<uint32_t> posted{0};
		std::thread binder([&] {
			while (posted < binds &&
			       !ibv_bind_mw(qp, &named, &bind))
				posted++;
		});
		while (posted < uint32_t(round) % (binds / 2))
			std::this_thread::yield();
		const int error = window.free();
		binder.join();
		REQUIRE_EQ(error, 0, "dealloc_mw");
		REQUIRE_EQ(posted.load(), binds, "binds posted");

		uint32_t bound = 0;
		for (const Wc &wc : wait_completions(
			     env, link.b, link.b.send_cq, binds, "binds"))
			bound += wc.status == IBV_WC_SUCCESS;
		met += bound && bound < binds;
		REQUIRE_EQ(env.b.destroy(Kind::mr, memory.id), 0, "round ",
			   round, ", ", bound, " binds: dereg_mr");
		if (bound == binds)
			continue;
		reconnect(link);
	}
	note(str(met, " of ", rounds, " among the binds"));
	prove_alive(env, link);
}
