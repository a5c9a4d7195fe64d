// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs that end, or are reset, while a walk that they asked for is under way: more
 * queue pairs than are walked over at once, so that the manager's work walks.
 */
#include "manager.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

constexpr size_t bystanders = 40;
constexpr uint64_t page = 4096;
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
			must_post(side(), std::vector<SendWr>{nothing});
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
