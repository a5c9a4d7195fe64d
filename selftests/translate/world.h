// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * world.h - what the tests of this group share: the two adapters, memory to map,
 * what is pinned, and other processes.
 */
#ifndef PAVO_TRANSLATE_WORLD_H
#define PAVO_TRANSLATE_WORLD_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <system_error>

#include <pavo/cache.h>
#include <pavo/device.hpp>
#include <pavo/job.hpp>

#include "../common/parameter.h"

namespace world {

inline constexpr size_t page = 4096;
inline constexpr size_t fragment = PAVO_CACHE_FRAGMENT;
/* Caches whose seconds go by when the test says so, and which give up after two. */
inline constexpr pavo_cache_options by_hand = {.entries = 0,
					       .segments = 0,
					       .idle_limit = 2,
					       .flags = PAVO_CACHE_NO_TIMER};
inline constexpr uint32_t job_id = 0x1000;
inline constexpr uint64_t job_key = 0x5ec2e7;

/* Two adapters of this machine: PAVO_DEV and PAVO_PEER of the environment. */
pavo::Device adapter();
pavo::Device other_adapter();

using common::parameter;
using common::Parameter;

/* Pages that are pinned for this process (VmPin). */
size_t pinned();

/* Anonymous or shared memory, unmapped at the end; written to once. */
class Memory {
public:
	explicit Memory(size_t bytes, int flags = 0);
	/* Another view of a file (memfd). */
	Memory(int fd, size_t bytes);
	~Memory();
	Memory(const Memory &) = delete;

	/* Other pages at the same address. */
	void replace();
	/* None there; before the end, which leaves alone what may be there then. */
	void unmap();

	std::span<std::byte> all() const { return {at_, bytes_}; }
	std::span<std::byte> part(size_t from, size_t bytes) const
	{
		return all().subspan(from, bytes);
	}
	std::byte *at() const { return at_; }

private:
	std::byte *at_;
	size_t bytes_;
	bool mapped_ = true;
};

/* errno of what a call throws; 0: nothing. */
int refusal(const std::function<void()> &call);

/*
 * A process of its own, which does what it is told and says whether it did. It
 * ends without running destructors of the parent's objects.
 */
class Process {
public:
	/* @body: its result is true if all was as it should be */
	explicit Process(const std::function<bool(Process &)> &body);
	~Process();
	Process(const Process &) = delete;

	/* Meeting points: each side says so and waits for the other. */
	void meet();
	/* Ends it at once. */
	void kill();
	/* Waits for its end. Return: what @body did. */
	bool good();

private:
	int sockets_[2];
	int pid_;
	bool child_ = false;
	bool reaped_ = false;
};

/* Whether threads run at the same time here; a kernel with one CPU lets none meet. */
bool has_two_cpus();

/* From now on this process is an ordinary user with that limit of locked bytes. */
void become_user(size_t memlock, unsigned user = 65534);

} // namespace world

#endif // PAVO_TRANSLATE_WORLD_H
