// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kcov.cpp - see kcov.h and shared.h: coverage, and waiting for words in shared memory.
 */
#include "kcov.h"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/kcov.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace callfuzz {

/* PAVO_KCOV_ID of kernel/kcov.h. */
constexpr uint64_t packets_id = 0x7061;

bool wait_word(std::atomic<int> &word, int value, int ms)
{
	timespec time = {ms / 1000, ms % 1000 * 1000000L};

	if (word.load() != value)
		return true;
	return !syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr,
			0) ||
	       errno != ETIMEDOUT;
}

void wake_word(std::atomic<int> &word)
{
	syscall(SYS_futex, &word, FUTEX_WAKE, 64, nullptr, nullptr, 0);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15;
	return x ^ x >> 29;
}

void note(Shared &shared, uint32_t kind, uint64_t what)
{
	shared.others[mix(what * 64 + kind) % other_bits] = 1;
}

uint64_t find_module()
{
	FILE *file = fopen("/sys/module/pavo/sections/.text", "r");
	unsigned long long at = 0;

	if (file) {
		if (fscanf(file, "%llx", &at) != 1)
			at = 0;
		fclose(file);
	}
	return at;
}

Kcov::Kcov(size_t words)
	: words_(words), fd_(open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC))
{
	if (fd_ < 0 || ioctl(fd_, KCOV_INIT_TRACE, words))
		return;
	void *at = mmap(nullptr, words * 8, PROT_READ | PROT_WRITE, MAP_SHARED,
			fd_, 0);
	if (at != MAP_FAILED)
		area_ = static_cast<uint64_t *>(at);
}

void Kcov::watch(bool learns)
{
	learns_ = learns;
	if (area_ &&
	    ioctl(fd_, KCOV_ENABLE, learns ? KCOV_TRACE_CMP : KCOV_TRACE_PC))
		perror("# KCOV_ENABLE");
}

void Kcov::watch_packets()
{
	kcov_remote_arg arg = {};

	arg.trace_mode = KCOV_TRACE_PC;
	arg.area_size = uint32_t(words_);
	arg.common_handle =
		kcov_remote_handle(KCOV_SUBSYSTEM_COMMON, packets_id);
	if (area_ && ioctl(fd_, KCOV_REMOTE_ENABLE, &arg))
		perror("# KCOV_REMOTE_ENABLE");
}

void Kcov::begin()
{
	if (area_)
		__atomic_store_n(area_, 0, __ATOMIC_RELAXED);
}

void Kcov::end(Shared &shared, uint64_t base)
{
	if (!area_)
		return;
	const uint64_t count = __atomic_load_n(area_, __ATOMIC_RELAXED);

	if (learns_)
		end_compared(shared, count);
	else
		end_places(shared, base, count);
}

void Kcov::end_places(Shared &shared, uint64_t base, uint64_t count)
{
	uint64_t last = 0;

	for (uint64_t i = 0; i < count && i + 1 < words_; i++) {
		const uint64_t place = (area_[i + 1] - base) >> 2;

		if (place < most_places)
			shared.reached[place] = 1;
		shared.edges[mix(last * 3 + place) % edge_bits] = 1;
		last = place;
	}
}

void Kcov::end_compared(Shared &shared, uint64_t count)
{
	for (uint64_t i = 0; i < count && 4 * i + 4 < words_; i++) {
		const uint64_t *one = &area_[1 + 4 * i];

		if (!(one[0] & KCOV_CMP_CONST) || one[1] == one[2] || !one[2])
			continue;
		const uint32_t n = shared.compared_count.fetch_add(1);

		if (n < most_compared)
			shared.compared[n] = {one[1], one[2]};
	}
}

} // namespace callfuzz
