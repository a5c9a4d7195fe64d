// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Races of writes of several packets with the end of their key: the thread that ends it waits
 * for a packet that is just being copied, so that not a byte of the buffer changes afterwards.
 */
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "manager.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

constexpr uint64_t target_size = 4 * page;

/*
 * While they live all CPUs are interrupted as often as can be: so now and then a copy
 * takes longer than the way back from the end of its key.
 */
class Interrupts {
public:
	Interrupts()
	{
		perf_event_attr attr = {};

		attr.type = PERF_TYPE_SOFTWARE;
		attr.size = sizeof(attr);
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.sample_period = 10000;
		for (unsigned cpu = 0;
		     cpu < std::thread::hardware_concurrency(); cpu++)
			fds_.push_back(
				int(syscall(SYS_perf_event_open, &attr, -1, cpu,
					    -1, PERF_FLAG_FD_CLOEXEC)));
	}
	~Interrupts()
	{
		for (int fd : fds_)
			close(fd);
	}
	Interrupts(const Interrupts &) = delete;

private:
	std::vector<int> fds_;
};

} // namespace

/* UC: a write with a dead key is dropped, and the next one may be good. */
PV_TEST_TWO_CPUS(
	"rkm.race_long",
	"writes of several packets race with the end of their key: after "
	"its completion no byte of all the buffer changes")
{
	Link link = connect(env, {.type = IBV_QPT_UC}), binder = connect(env);
	Mr in = must_reg(env.b, {target_size, 0, bindable_access});
	Mr out = must_reg(env.a, {target_size});
	Window window(env.b, IBV_MW_TYPE_1);
	uint8_t *memory = local(env.b).memory(in.id);
	const std::vector<uint8_t> late = common::pattern<uint8_t>(1,
								   target_size),
				   written = common::pattern<uint8_t>(
					   2, target_size);
	const uint32_t rounds = env.options.races / 40;
	std::mt19937 random{1};
	uint32_t hits = 0;

	memcpy(local(env.a).memory(out.id), written.data(), target_size);
	Moved matches(env.b, "rkm_matches"), stalls(env.b, "rkm_stalls");
	Interrupts interrupts;
	Writer writer(env, link,
		      make_wr(Op::write, {out, 0}, target_size, {in, 0}));
	for (uint32_t round = 0; round < rounds; round++) {
		must_bind(env, binder.b, window, {in, 0, target_size});
		writer.key = window->rkey;
		/* Now and then wait for one, or all might be late. */
		while (round % 2 == 0 &&
		       !memcmp(memory, late.data(), target_size))
			std::this_thread::yield();
		for (auto turns = random() % 4096; turns; turns--)
			std::atomic_signal_fence(std::memory_order_seq_cst);
		must_bind(env, binder.b, window, {});
		hits += memcmp(memory, late.data(), target_size) != 0;
		memcpy(memory, late.data(), target_size);
		writer.next();
		REQUIRE(!memcmp(memory, late.data(), target_size), "round ",
			round);
	}
	note(str(rounds, " ends of a key, ", hits, " after a write by it; ",
		 matches.by(), " found in use, ", stalls.by(),
		 " just being copied"));
	REQUIRE(hits >= rounds / 2, hits, " hits");
}
