// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extended atomics are atomic towards each other, standard ones, other adapters and the CPUs
 * (sources.md#ext-atomicity).
 */
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "ext.h"
#include "pavo_dv.h"
#include "tap.h"

using namespace pv;

namespace {

struct Deregister {
	void operator()(ibv_mr *mr) const { ibv_dereg_mr(mr); }
};
using Region = std::unique_ptr<ibv_mr, Deregister>;

Region must_register(Host &host, void *at, size_t length)
{
	Region region(
		ibv_reg_mr(local(host).raw_pd(0), at, length, int(all_access)));

	REQUIRE(region, "reg_mr");
	return region;
}

/* Counts in a word of the other adapter, in a thread of its own. */
class Counter {
public:
	Counter(Side &from, Host &to, uint64_t *word)
		: ex_(ibv_qp_to_qp_ex(local(*from.host).raw_qp(from.qp.id))),
		  cq_(local(*from.host).raw_cq(from.send_cq.id)),
		  answers_(must_register(*from.host, old_, sizeof(old_))),
		  word_(must_register(to, word, sizeof(*word)))
	{
		REQUIRE(ex_, "not an extended QP");
	}

	/* Return: that all went well. */
	bool count_to(size_t number)
	{
		while (seen.size() < number)
			if (!add_some())
				return false;
		return true;
	}

	std::vector<uint64_t> seen; /* values of before */

private:
	static constexpr size_t at_a_time = 8;

	bool add_some()
	{
		ibv_wr_start(ex_);
		for (size_t i = 0; i < at_a_time; i++) {
			ex_->wr_id = i;
			ex_->wr_flags = IBV_SEND_SIGNALED;
			add_one(i);
			ibv_wr_set_sge(ex_, answers_->lkey, uintptr_t(&old_[i]),
				       sizeof(old_[i]));
		}
		if (ibv_wr_complete(ex_))
			return false;
		for (size_t i = 0; i < at_a_time;) {
			ibv_wc wc;

			if (!ibv_poll_cq(cq_, 1, &wc))
				continue;
			if (wc.status != IBV_WC_SUCCESS || wc.wr_id != i)
				return false;
			seen.push_back(old_[i++]);
		}
		return true;
	}

	/* By each instruction that the adapter has for it. */
	void add_one(size_t number)
	{
		const auto at = uintptr_t(word_->addr);

		if (number % 3 == 0)
			ibv_wr_atomic_fetch_add(ex_, word_->rkey, at, 1);
		else
			pavodv_wr_ext_fetch_add(ex_, word_->rkey, at, 1,
						number % 3 == 1 ? 0 :
								  1ull << 63);
	}

	uint64_t old_[at_a_time] = {};
	ibv_qp_ex *ex_;
	ibv_cq *cq_;
	Region answers_;
	Region word_;
};

/*
 * CPU threads that count in the upper half of the same word, to tell them apart. They let
 * others run in between: on a kernel whose checkers make the adapter slow, a thread that only
 * counts changes the word at each of the adapter's attempts (copy.c, ATTEMPTS).
 */
class CpuCounters {
public:
	CpuCounters(uint64_t *word, size_t count)
	{
		for (size_t i = 0; i < count; i++)
			threads_.emplace_back([this, word] {
				while (!stop_) {
					__atomic_fetch_add(word, 1ull << 32,
							   __ATOMIC_RELAXED);
					added_++;
					std::this_thread::yield();
				}
			});
	}
	~CpuCounters() { stop(); }
	CpuCounters(const CpuCounters &) = delete;

	/* Return: how often they have added 1. */
	uint64_t stop()
	{
		stop_ = true;
		for (std::thread &thread : threads_)
			if (thread.joinable())
				thread.join();
		return added_;
	}

private:
	std::atomic<bool> stop_ = false;
	std::atomic<uint64_t> added_ = 0;
	std::vector<std::thread> threads_;
};

} // namespace

PV_TEST_LOCAL("ext.atomic",
	      "queue pairs of two adapters and CPUs count in one word: each "
	      "number is seen once, and the sum is exact")
{
	constexpr size_t links_made = 4, each = 2048;
	auto word = std::make_unique<uint64_t>(0);
	std::vector<ExtLink> links;
	std::vector<std::unique_ptr<Counter>> counters;
	std::vector<std::thread> threads;
	std::atomic<size_t> failed = 0;

	for (size_t i = 0; i < links_made; i++) {
		links.push_back(connect_ext(env));
		/* Half of them the other way. */
		counters.push_back(
			i % 2 ? std::make_unique<Counter>(links[i].b, env.a,
							  word.get()) :
				std::make_unique<Counter>(links[i].a, env.b,
							  word.get()));
	}
	CpuCounters cpus(word.get(), 2);
	for (auto &counter : counters)
		threads.emplace_back([&] {
			if (!counter->count_to(each))
				failed++;
		});
	for (std::thread &thread : threads)
		thread.join();
	const uint64_t by_cpus = cpus.stop();
	REQUIRE_EQ(failed.load(), 0u, "threads that failed");

	std::vector<uint64_t> all;
	for (const auto &counter : counters) {
		/* Those of one queue pair grow. */
		REQUIRE(std::ranges::is_sorted(counter->seen), "order");
		for (uint64_t number : counter->seen)
			all.push_back(number & 0xffffffff);
	}
	std::ranges::sort(all);
	for (size_t i = 0; i < all.size(); i++)
		REQUIRE_EQ(all[i], i, "a number twice or never");
	REQUIRE(by_cpus, "no CPU has counted");
	REQUIRE_EQ(*word, (by_cpus << 32) + links_made * each, "the sum");
}
