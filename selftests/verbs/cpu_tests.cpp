// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CPU time that the kernel spends for a process that sleeps, as the ticks of /proc/stat
 * have it: it has a bound, and threads that compute get their share beside it. In a guest
 * whose time counts instructions: elsewhere a busy host makes each tick dearer, and User-Mode
 * Linux charges all ticks to the kernel.
 */
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "link.h"
#include "manager.h"
#include "tap.h"

using namespace pv;

namespace {

/* Of one CPU since the boot; the unit is a hundredth of a second. */
struct Ticks {
	uint64_t user = 0; /* of any process */
	uint64_t system = 0; /* for processes and threads of the kernel */
	uint64_t interrupts = 0; /* with softirqs at their end */
	uint64_t idle = 0;

	uint64_t kernel() const { return system + interrupts; }
	uint64_t all() const { return user + kernel() + idle; }
};

Ticks operator-(const Ticks &a, const Ticks &b)
{
	return {a.user - b.user, a.system - b.system,
		a.interrupts - b.interrupts, a.idle - b.idle};
}

std::vector<Ticks> ticks_of_cpus()
{
	std::ifstream file("/proc/stat");
	std::vector<Ticks> cpus;

	for (std::string line; std::getline(file, line);) {
		std::istringstream words(line);
		std::string name;
		uint64_t user, nice, system, idle, iowait, irq, softirq;

		words >> name >> user >> nice >> system >> idle >> iowait >>
			irq >> softirq;
		/* The line "cpu" is the sum. */
		if (words && name.starts_with("cpu") && name != "cpu")
			cpus.push_back({user + nice, system, irq + softirq,
					idle + iowait});
	}
	REQUIRE(!cpus.empty(), "/proc/stat");
	return cpus;
}

/* The work of each CPU until @enough of its ticks have passed. */
std::vector<Ticks> watch_cpus(uint64_t enough)
{
	const std::vector<Ticks> before = ticks_of_cpus();
	std::vector<Ticks> during;

	for (bool all = false; !all; usleep(10000)) {
		const std::vector<Ticks> now = ticks_of_cpus();

		REQUIRE_EQ(now.size(), before.size(), "CPUs");
		during.clear();
		all = true;
		for (size_t i = 0; i < now.size(); i++) {
			during.push_back(now[i] - before[i]);
			all = all && during[i].all() >= enough;
		}
	}
	return during;
}

/* A thread on each CPU that does nothing but compute. */
class Computing {
public:
	explicit Computing(size_t cpus)
	{
		for (size_t i = 0; i < cpus; i++)
			threads_.emplace_back([this, i] { compute(i); });
	}

	~Computing()
	{
		stop_ = true;
		for (std::thread &thread : threads_)
			thread.join();
	}
	Computing(const Computing &) = delete;

private:
	void compute(size_t cpu)
	{
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		while (!stop_)
			;
	}

	std::atomic<bool> stop_ = false;
	std::vector<std::thread> threads_;
};

std::string to_text(const Ticks &ticks)
{
	return str("user ", ticks.user, ", system ", ticks.system,
		   ", interrupts ", ticks.interrupts, ", idle ", ticks.idle);
}

} // namespace

PV_TEST_TICKS("cpu.queued_reads",
	      "reads that a sleeping process has queued leave to threads that "
	      "compute an eighth of each CPU at least")
{
	constexpr uint64_t length = 8 << 20;
	constexpr uint32_t links_made = 16, depth = 48;
	Mr in = must_reg(env.a, {length}), from = must_reg(env.b, {length});
	std::vector<Link> links;
	Moved came(env.a, "rx_packets");

	for (uint32_t i = 0; i < links_made; i++)
		links.push_back(connect(env));
	for (Link &link : links)
		must_post(link.a, std::vector<SendWr>(
					  depth, make_wr(Op::read, {in, 0},
							 length, {from, 0})));
	std::vector<Ticks> cpus;
	{
		Computing threads(ticks_of_cpus().size());

		cpus = watch_cpus(100);
	}
	for (Link &link : links)
		REQUIRE(env.a.poll(link.a.send_cq.id, depth, 0).size() < depth,
			"the reads were over too soon");
	for (size_t i = 0; i < cpus.size(); i++) {
		printf("# CPU %zu: %s\n", i, to_text(cpus[i]).c_str());
		REQUIRE(8 * cpus[i].user >= cpus[i].all(), "CPU ", i, ": ",
			to_text(cpus[i]));
	}
	REQUIRE(came.by() > links_made, "nothing was read");
	for (Link &link : links)
		to_state(link.a, IBV_QPS_RESET);
}

PV_TEST_TICKS(
	"cpu.not_ready",
	"a sender that tries for ever, of a receiver that sleeps, costs an "
	"eighth of a CPU at most")
{
	LinkSpec spec;
	spec.min_rnr_timer = 1; /* 10 us */
	Link link = connect(env, spec);
	Moved naks(env.a, "rnr_nak_retry_err");

	must_post(link.a, make_wr(Op::send, {}, 0));
	/* It has slowed down by then. */
	REQUIRE(eventually(env, [&] { return naks.by() > 20; }),
		"there are no NAKs");
	const uint64_t before = naks.by();
	uint64_t kernel = 0, all = 0;

	for (const Ticks &ticks : watch_cpus(100)) {
		kernel += ticks.kernel();
		all = std::max(all, ticks.all());
	}
	REQUIRE(naks.by() > before, "it tries no more");
	printf("# kernel %lu of %lu ticks\n", kernel, all);
	REQUIRE(8 * kernel <= all, kernel, " of ", all, " ticks");
	to_state(link.a, IBV_QPS_RESET);
}
