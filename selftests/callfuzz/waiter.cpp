// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * waiter.cpp - see director.h: an ordinary process that is without the CPU while the
 * kernel, or another process, has it. Time in which the host gave the machine no CPU does
 * not count: the kernel counts a tick for each time that its timer interrupts, and none
 * for those that it slept through.
 */
#include <algorithm>
#include <cstdio>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "director.h"

namespace callfuzz {
namespace {

constexpr uint64_t rest_ms = 5;

uint64_t now_ms()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return uint64_t(now.tv_sec) * 1000 + uint64_t(now.tv_nsec) / 1000000;
}

/* Milliseconds that the CPUs did something, by ticks. */
uint64_t busy_ms(int stat)
{
	unsigned long long user = 0, nice = 0, system = 0, idle = 0, io = 0,
			   hard = 0, soft = 0;
	char text[512];
	ssize_t n = pread(stat, text, sizeof(text) - 1, 0);

	text[std::max<ssize_t>(n, 0)] = 0;
	sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice,
	       &system, &idle, &io, &hard, &soft);
	return (user + nice + system + hard + soft) * 1000 /
	       uint64_t(sysconf(_SC_CLK_TCK));
}

[[noreturn]] void wait_and_note(Shared &shared)
{
	const int stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	const timespec rest = {0, long{rest_ms} * 1000000};

	for (;;) {
		const uint64_t begun = now_ms(), busy = busy_ms(stat);

		nanosleep(&rest, nullptr);
		const uint64_t slept = now_ms() - begun;
		if (slept <= rest_ms)
			continue;
		const uint64_t without =
			std::min(slept - rest_ms, busy_ms(stat) - busy);
		uint32_t most = shared.starved_ms;
		while (without > most &&
		       !shared.starved_ms.compare_exchange_weak(
			       most, uint32_t(without)))
			;
	}
}

} // namespace

pid_t start_waiter(Shared &shared)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_and_note(shared);
	}
	return pid;
}

/* Has @cpu for that long, before all that is ordinary. */
[[noreturn]] static void hold_cpu(int cpu, unsigned ms)
{
	const sched_param first = {.sched_priority = 50};
	const uint64_t end = now_ms() + ms;
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	if (sched_setaffinity(0, sizeof(only), &only) ||
	    sched_setscheduler(0, SCHED_FIFO, &first))
		_exit(1);
	while (now_ms() < end)
		;
	_exit(0);
}

void starve_all(unsigned ms)
{
	std::vector<pid_t> holders;

	for (int cpu = int(sysconf(_SC_NPROCESSORS_ONLN)); cpu--;) {
		const pid_t pid = fork();

		if (!pid)
			hold_cpu(cpu, ms);
		holders.push_back(pid);
	}
	for (pid_t pid : holders)
		if (pid > 0)
			waitpid(pid, nullptr, 0);
}

} // namespace callfuzz
