// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Doorbell workers: a thread of the process takes doorbells, so that posting makes no system
 * calls; it sleeps when there were none for a while, and the next post wakes it.
 *
 * A shared word of each context, in its page of doorbells, says whether the worker is awake.
 */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include "../common/adapter.h"
#include "../common/parameter.h"
#include "link.h"
#include "pavo_dv.h"
#include "tap.h"
#include "tracer.h"

using namespace pv;

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/* Longer than any test waits for anything, and short. */
constexpr uint32_t never = 3600'000'000u, soon = 2000;

pavo_doorbell_page *page_of(ibv_context *context)
{
	pavodv_context dv;

	if (pavodv_query_context(context, &dv))
		throw Skip("not pavo's");
	return dv.doorbell;
}

/* Polling is allowed for as long as a test wants. */
common::Parameter allow()
{
	return {"poll_idle_max", never};
}

/* Looks whether a count grows, for a thread that may not even ask for the time. */
class Watchdog {
public:
	Watchdog(const std::atomic<uint64_t> &count,
		 std::chrono::milliseconds patience)
		: thread_([this, &count, patience](std::stop_token stop) {
			  watch(stop, count, patience);
		  })
	{
	}

	/* How often it has not grown for a whole patience. */
	unsigned barks() const { return barks_; }

private:
	void watch(std::stop_token stop, const std::atomic<uint64_t> &count,
		   std::chrono::milliseconds patience)
	{
		std::unique_lock lock(mutex_);
		uint64_t before = ~0ull;

		while (!wake_.wait_for(lock, stop, patience,
				       [&] { return stop.stop_requested(); }))
			barks_ += std::exchange(before, count) == count;
	}

	std::mutex mutex_;
	std::condition_variable_any wake_;
	std::atomic<unsigned> barks_ = 0;
	std::jthread thread_; /* last: it uses the others */
};

/* Writes of 64 bytes from A to B, posted and polled by libibverbs itself. */
class Writes {
public:
	Writes(Env &env, uint32_t depth = 64)
		: env_(env), depth_(depth),
		  link_(connect(env, {.cap = {depth, 1, 1, 1, 0},
				      .cq_depth = int(depth)})),
		  out_(must_reg(env.a, {64}, 1)), in_(must_reg(env.b, {64}, 2)),
		  qp_(local(env.a).raw_qp(link_.a.qp.id)),
		  cq_(local(env.a).raw_cq(link_.a.send_cq.id))
	{
	}

	ibv_context *context() const { return qp_->context; }
	pavo_doorbell_page *page() const { return page_of(qp_->context); }
	ibv_qp *qp() const { return qp_; }

	bool asleep() const
	{
		return std::atomic_ref(page()->flags) & PAVO_DB_NEED_KICK;
	}

	void post()
	{
		ibv_sge sge = {out_.address, 64, out_.lkey};
		ibv_send_wr wr = {.wr_id = posted_,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr = {.rdma = {.remote_addr = in_.address,
						  .rkey = in_.rkey}}};
		ibv_send_wr *bad;

		REQUIRE_EQ(ibv_post_send(qp_, &wr, &bad), 0, "post ", posted_);
		posted_++;
	}

	/* Takes completions that are there; in order, each once. */
	uint32_t collect()
	{
		ibv_wc wc[16];
		int got = ibv_poll_cq(cq_, 16, wc);

		REQUIRE(got >= 0, "ibv_poll_cq");
		for (int i = 0; i < got; i++) {
			REQUIRE_EQ(int(wc[i].status), IBV_WC_SUCCESS, "write ",
				   wc[i].wr_id);
			REQUIRE_EQ(wc[i].wr_id, completed_.load(), "order");
			completed_++;
		}
		return uint32_t(got);
	}

	/* Until no more than @left are under way. @rest: what to do while none comes. */
	template <class Rest> void wait(uint64_t left, Rest rest)
	{
		const unsigned barks = watchdog_.barks();

		while (posted_ - completed_ > left) {
			if (collect())
				continue;
			/* The first one may be of the time before. */
			REQUIRE(watchdog_.barks() - barks < 2, "lost: ", completed_.load(),
				" of ", posted_, " writes completed");
			rest();
		}
	}

	/* Makes no system calls. */
	void wait(uint64_t left = 0)
	{
		wait(left, [] {});
	}

	void many(uint64_t count)
	{
		for (uint64_t i = 0; i < count; i++) {
			wait(depth_ - 1);
			post();
		}
		wait();
	}

	uint64_t posted() const { return posted_; }

	void must_fall_asleep()
	{
		REQUIRE(eventually(env_, [&] { return asleep(); }),
			"the worker is awake long after the last doorbell");
	}
	void must_be_awake()
	{
		REQUIRE(eventually(env_, [&] { return !asleep(); }),
			"no worker");
	}

private:
	Env &env_;
	uint32_t depth_;
	Link link_;
	Mr out_, in_;
	ibv_qp *qp_;
	ibv_cq *cq_;
	uint64_t posted_ = 0;
	std::atomic<uint64_t> completed_ = 0;
	Watchdog watchdog_{completed_, env_.patience()};
};

/* A worker of a context while this lives. */
class Polled {
public:
	Polled(ibv_context *context, uint32_t idle) : context_(context)
	{
		REQUIRE_EQ(pavodv_poll(context, idle), 0, "pavodv_poll");
	}
	~Polled() { pavodv_poll(context_, 0); }
	Polled(const Polled &) = delete;

	void set(uint32_t idle)
	{
		REQUIRE_EQ(pavodv_poll(context_, idle), 0, "pavodv_poll");
	}

private:
	ibv_context *context_;
};

} // namespace

PV_TEST_LOCAL("poll.no_calls",
	      "10,000 writes are posted and polled without a system call; without a worker "
	      "each post is one")
{
	auto allowed = allow();
	Writes writes(env);
	Tracer tracer;

	const uint64_t kicked = tracer.calls();
	writes.many(10);
	REQUIRE_EQ(tracer.calls() - kicked, 10, "kicks of 10 posts");

	Polled polled(writes.context(), never);
	writes.must_be_awake();
	const uint64_t before = tracer.calls();
	writes.many(10'000);
	REQUIRE_EQ(tracer.calls() - before, 0, "system calls of 10,000 posts");
}

PV_TEST_LOCAL("poll.one_kick",
	      "the post after an idle time makes one system call, and those behind it none")
{
	auto allowed = allow();
	Writes writes(env);
	Polled polled(writes.context(), soon);
	Tracer tracer;

	for (int i = 0; i < 20; i++) {
		polled.set(soon);
		writes.must_fall_asleep();
		/* It sleeps, and will be awake for long when it is woken. */
		polled.set(never);
		REQUIRE(writes.asleep(), "a new limit woke the worker");
		const uint64_t before = tracer.calls();
		writes.post();
		REQUIRE_EQ(tracer.calls() - before, 1, "kicks after idling");
		writes.many(100);
		REQUIRE_EQ(tracer.calls() - before, 1, "kicks of posts behind");
	}
}
