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
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include <unistd.h>

#include "../common/adapter.h"
#include "../common/child.h"
#include "../common/parameter.h"
#include "../common/tracer.h"
#include "../common/worker.h"
#include "link.h"
#include "pavo_dv.h"
#include "tap.h"

using namespace pv;
using common::Tracer;
using common::worker_sleeps;

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
			REQUIRE(watchdog_.barks() - barks < 2,
				"lost: ", completed_.load(), " of ", posted_,
				" writes completed");
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

/* Without giving the CPU away. */
void pause_for(uint64_t us)
{
	const auto until = clock::now() + microseconds(us);

	while (clock::now() < until)
		;
}

/* With both devices open of its own: posts, tells, and posts until it is killed. */
void in_killed_child(Env &env, uint32_t idle, int ready)
{
	LocalHost a(env.device_a), b(env.device_b);
	Env mine(a, b, env.options, env.device_a, env.device_b);
	Writes writes(mine);
	Polled polled(writes.context(), idle);

	writes.many(10);
	if (write(ready, "", 1) != 1)
		return;
	for (;;)
		writes.many(10);
}

} // namespace

PV_TEST_LOCAL(
	"poll.no_calls",
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

PV_TEST_LOCAL(
	"poll.one_kick",
	"the post after an idle time makes one system call, and those behind it none")
{
	auto allowed = allow();
	Writes writes(env);
	Polled polled(writes.context(), soon);
	Tracer tracer;

	for (int i = 0; i < 20; i++) {
		polled.set(soon);
		REQUIRE(eventually(env, worker_sleeps), "the worker is awake");
		/* It will be awake for long when it is woken. */
		polled.set(never);
		REQUIRE(writes.asleep(), "a new limit woke the worker");
		const uint64_t before = tracer.calls();
		writes.post();
		REQUIRE_EQ(tracer.calls() - before, 1, "kicks after idling");
		writes.many(100);
		REQUIRE_EQ(tracer.calls() - before, 1, "kicks of posts behind");
	}
}

PV_TEST_LOCAL("poll.around",
	      "posts with pauses around the idle limit: none is lost")
{
	constexpr uint32_t idle = 50;
	const uint64_t count = env.options.races / 5;
	auto allowed = allow();
	Writes writes(env);
	Polled polled(writes.context(), idle);
	std::minstd_rand random(7);
	uint64_t slept = 0, awake = 0;

	for (uint64_t i = 0; i < count; i++) {
		pause_for(random() % (2 * idle));
		(writes.asleep() ? slept : awake)++;
		writes.post();
		writes.wait(0, [] { std::this_thread::yield(); });
	}
	/* Else the pauses were on one side of the limit. */
	REQUIRE(slept && awake, slept, " posts found the worker asleep, ",
		awake, " awake");
}

PV_TEST_LOCAL(
	"poll.flags",
	"a process overwrites the flag all the time: its worker sleeps all the same, its "
	"next kick takes all doorbells, and another context notices nothing")
{
	auto allowed = allow();
	Writes writes(env);
	Polled polled(writes.context(), soon);
	LocalHost witness_host(env.device_a);
	Env other(witness_host, env.b, env.options, env.device_a, env.device_b);
	Writes witness(other);
	std::atomic_ref flags(writes.page()->flags);
	std::atomic<uint64_t> written = 0;
	std::jthread hostile([&](std::stop_token stop) {
		std::minstd_rand random(9);

		while (!stop.stop_requested()) {
			flags = random() % 3 ? uint32_t(random()) :
					       random() % 2;
			if (++written % 64 == 0)
				std::this_thread::yield();
		}
	});

	/* On one CPU the hostile thread runs when these have nothing to do. */
	for (int i = 0; i < 200 || written < 1000; i++) {
		std::this_thread::yield();
		writes.post();
		/* Where the flag says awake and is wrong, the process kicks. */
		writes.wait(0, [&] {
			std::this_thread::yield();
			REQUIRE_EQ(pavodv_kick_send(writes.qp()), 0, "kick");
		});
		witness.many(1);
	}
	REQUIRE(eventually(env, worker_sleeps), "the worker does not sleep");
	hostile.request_stop();
	hostile.join();
	REQUIRE(eventually(env, worker_sleeps), "the worker does not sleep");
	polled.set(never);
	REQUIRE_EQ(pavodv_kick_send(writes.qp()), 0, "kick");
	writes.must_be_awake();
	writes.many(100);
}

PV_TEST_LOCAL(
	"poll.garbage",
	"a worker takes doorbells of no queue pair and counts them; it sleeps behind them")
{
	auto allowed = allow();
	LocalHost host(env.device_a);
	Env mine(host, env.b, env.options, env.device_a, env.device_b);
	Writes writes(mine);
	Polled polled(writes.context(), soon);
	common::Moved bad(device_name(env.a), "db_bad_qpn");
	const uint64_t garbage = uint64_t(0xfffffe) << PAVO_DB_QPN_SHIFT;

	for (int i = 0; i < 1000; i++) {
		while (pavodv_ring(writes.context(), garbage))
			std::this_thread::yield();
		if (writes.asleep())
			REQUIRE_EQ(pavodv_kick_send(writes.qp()), 0, "kick");
	}
	writes.many(10);
	REQUIRE_EQ(bad.by(), 1000, "doorbells of no queue pair");
	writes.must_fall_asleep();
	/* The ring's own count, wherever it points. */
	std::atomic_ref(writes.page()->prod) = 0x12345678;
	polled.set(never);
	REQUIRE_EQ(pavodv_kick_send(writes.qp()), 0, "kick");
	writes.must_be_awake();
	polled.set(soon);
	writes.must_fall_asleep();
}

PV_TEST_LOCAL(
	"poll.refused",
	"the administrator's limit: 0 refuses a worker and ends one; less than asked for "
	"bounds its idle time")
{
	auto allowed = allow();
	Writes writes(env);
	{
		common::Parameter none("poll_idle_max", 0);

		REQUIRE_EQ(pavodv_poll(writes.context(), 1000), EPERM,
			   "pavodv_poll");
		REQUIRE_EQ(pavodv_poll(writes.context(), 0), 0, "to end it");
		REQUIRE(writes.asleep(), "the flag");
		writes.many(10);
	}
	Polled polled(writes.context(), never);
	writes.must_be_awake();
	{
		common::Parameter little("poll_idle_max", soon);

		writes.must_fall_asleep();
	}
	writes.post();
	writes.must_be_awake();
	{
		common::Parameter none("poll_idle_max", 0);

		writes.must_fall_asleep();
		writes.many(10);
		REQUIRE(writes.asleep(), "a worker that is not allowed");
		REQUIRE_EQ(pavodv_poll(writes.context(), never), EPERM,
			   "pavodv_poll again");
	}
	polled.set(never);
	writes.must_be_awake();
	writes.many(10);
}

PV_TEST_LOCAL(
	"poll.environment",
	"PAVO_POLL gives a context a worker, and nonsense in it gives none")
{
	auto allowed = allow();

	for (const char *text :
	     {"3600000000", "", "0", "-1", "4294967296", "7x", "x"}) {
		setenv("PAVO_POLL", text, 1);
		LocalHost host(env.device_a);
		unsetenv("PAVO_POLL");
		std::atomic_ref flags(page_of(host.context())->flags);

		if (text[0] == '3')
			REQUIRE(eventually(env, [&] { return !flags; }),
				"no worker");
		else
			REQUIRE(flags & PAVO_DB_NEED_KICK, "PAVO_POLL=", text);
	}
}

PV_TEST_LOCAL(
	"poll.again",
	"workers begin and end again and again, while posts go on: none is lost")
{
	auto allowed = allow();
	Writes writes(env);

	for (int i = 0; i < 100; i++) {
		Polled polled(writes.context(), i % 2 ? 1 : never);

		writes.many(20);
	}
	writes.many(20);
	REQUIRE(writes.asleep(), "the flag without a worker");
}

PV_TEST_LOCAL(
	"poll.child",
	"a child of fork() posts beside its parent's worker, and leaves the worker alone when "
	"it closes the context")
{
	auto allowed = allow();
	Writes writes(env);
	Polled polled(writes.context(), never);

	writes.must_be_awake();
	writes.many(10);
	common::Child child([&] {
		/* The watchdog is a thread of the parent. */
		alarm(env.options.patience_ms / 1000);
		writes.many(200);
		REQUIRE(!ibv_close_device(writes.context()), "close");
	});
	child.must_end_well();
	REQUIRE(!writes.asleep(), "the child has ended its parent's worker");
	writes.many(100);
}

PV_TEST_LOCAL(
	"poll.killed",
	"a process is killed while its worker is awake, or asleep: nothing is left")
{
	auto allowed = allow();

	for (uint32_t idle : {never, soon, 1u}) {
		int ready[2];

		REQUIRE(!pipe(ready), "pipe");
		common::Child child(
			[&] { in_killed_child(env, idle, ready[1]); });
		close(ready[1]);
		char byte;
		REQUIRE_EQ(read(ready[0], &byte, 1), 1, "the child posts");
		close(ready[0]);
		REQUIRE(WIFSIGNALED(child.kill_now()), "it has ended itself");
	}
	Writes writes(env);
	Polled polled(writes.context(), never);
	writes.many(100);
}

PV_TEST_TWO_CPUS(
	"poll.two_cpus",
	"threads post on four queue pairs of one context beside its worker, with pauses "
	"around the idle limit: none is lost")
{
	constexpr uint32_t idle = 20;
	const uint64_t all = env.options.races;
	/* Of each thread. */
	const uint64_t count = all < many_races ? all / 8 : all / 4;
	auto allowed = allow();
	std::deque<Writes> writes;
	std::vector<std::jthread> threads;
	std::mutex mutex;
	std::string wrong;

	for (int i = 0; i < 4; i++)
		writes.emplace_back(env);
	Polled polled(writes[0].context(), idle);
	for (Writes &mine : writes)
		threads.emplace_back([&] {
			std::minstd_rand random(uint32_t(&mine - &writes[0]));

			try {
				for (uint64_t i = 0; i < count; i++) {
					pause_for(random() % (2 * idle));
					mine.post();
					mine.wait(0, [] {
						std::this_thread::yield();
					});
				}
			} catch (const std::exception &error) {
				std::lock_guard guard(mutex);
				wrong = error.what();
			}
		});
	threads.clear();
	REQUIRE(wrong.empty(), wrong);
}
