/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sync.h - the lock of queues and doorbell ring.
 *
 * Used by doorbell.h, queue.h and cq.cpp. Cheaper than a pthread mutex when
 * free (one exchange each way), spins briefly when taken and then sleeps, so that a waiter does
 * not burn its CPU while the owner is preempted. A lock made for a single thread (thread domain,
 * IBVERBS_SINGLE_THREADED) does nothing.
 */
#ifndef PAVO_PROVIDER_SYNC_H
#define PAVO_PROVIDER_SYNC_H

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pavo {

inline void cpu_relax()
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	asm volatile("yield" ::: "memory");
#endif
}

class Lock {
public:
	explicit Lock(bool shared = true) : shared_(shared) {}

	void lock()
	{
		uint32_t expected = free;

		if (!shared_)
			return;
		if (!word_.compare_exchange_strong(expected, taken,
						   std::memory_order_acquire))
			wait();
	}

	void unlock()
	{
		if (!shared_)
			return;
		if (word_.exchange(free, std::memory_order_release) == waited)
			futex(FUTEX_WAKE_PRIVATE, 1);
	}

private:
	enum : uint32_t { free, taken, waited };
	static constexpr int spins = 100;

	void wait()
	{
		for (int i = 0; i < spins; i++) {
			uint32_t expected = free;

			cpu_relax();
			if (word_.load(std::memory_order_relaxed) == free &&
			    word_.compare_exchange_weak(
				    expected, taken, std::memory_order_acquire))
				return;
		}
		/* Taken as waited: other threads may sleep. */
		while (word_.exchange(waited, std::memory_order_acquire) !=
		       free)
			futex(FUTEX_WAIT_PRIVATE, waited);
	}

	void futex(int op, uint32_t value)
	{
		syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word_), op,
			value, nullptr, nullptr, 0);
	}

	std::atomic<uint32_t> word_{free};
	bool shared_;
};

} // namespace pavo

#endif /* PAVO_PROVIDER_SYNC_H */
