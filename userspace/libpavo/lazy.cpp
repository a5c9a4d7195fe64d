// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* lazy.cpp - options, owner and seconds of caches; see lazy.hpp. */
#include "lazy.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include <rdma/pavo-abi.h>

#include "error.hpp"

namespace pavo {

namespace {

constexpr uint32_t most_segments = 16384;

} // namespace

pavo_cache_options completed(const pavo_cache_options &options)
{
	pavo_cache_options all = {
		.entries = options.entries ? options.entries : 1024,
		.segments = options.segments ? options.segments : 64,
		.idle_limit = options.idle_limit ? options.idle_limit : 60,
		.flags = options.flags,
	};

	if (all.entries > PAVO_WATCH_SLOTS)
		fail(EINVAL, "a cache of " + std::to_string(all.entries) +
				     " entries: at most " +
				     std::to_string(PAVO_WATCH_SLOTS));
	if (all.segments > most_segments)
		fail(EINVAL, "a cache of " + std::to_string(all.segments) +
				     " segments: at most " +
				     std::to_string(most_segments));
	if (all.flags & ~uint32_t(PAVO_CACHE_NO_TIMER | PAVO_CACHE_EXACT))
		fail(EINVAL, "unknown flags of a cache");
	return all;
}

Owner::Owner()
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *at = mmap(nullptr, page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		fail(errno, "page of a cache's owner");
	if (madvise(at, page, MADV_WIPEONFORK)) {
		int err = errno;

		munmap(at, page);
		fail(err, "page of a cache's owner");
	}
	*static_cast<uint32_t *>(at) = 1;
	word_ = static_cast<uint32_t *>(at);
}

Owner::~Owner()
{
	munmap(const_cast<uint32_t *>(word_), sysconf(_SC_PAGESIZE));
}

Ticker::Ticker(std::function<void()> tick)
{
	/* Signals are for the threads of the application. */
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	thread_ = std::thread([this, tick = std::move(tick)] {
		std::unique_lock lock(mutex_);

		while (!wake_.wait_for(lock, std::chrono::seconds(1),
				       [this] { return stop_; }))
			tick();
	});
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Ticker::~Ticker()
{
	{
		std::lock_guard lock(mutex_);

		stop_ = true;
	}
	wake_.notify_one();
	thread_.join();
}

} // namespace pavo
