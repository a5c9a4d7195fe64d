/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sync.h - the lock of queues and doorbell ring.
 *
 * Used by doorbell.h, queue.h and cq.cpp. Cheaper than a pthread mutex when
 * free (one exchange each way), spins briefly when taken and then sleeps, so
 * that a holder that lost its CPU does not cost the waiter its own. A lock
 * made for a single thread (thread domain, IBVERBS_SINGLE_THREADED) does
 * nothing.
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
		uint32_t expected = FREE;

		if (!shared_)
			return;
		if (!word_.compare_exchange_strong(expected, TAKEN,
						   std::memory_order_acquire))
			wait();
	}

	void unlock()
	{
		if (!shared_)
			return;
		if (word_.exchange(FREE, std::memory_order_release) == WAITED)
			futex(FUTEX_WAKE_PRIVATE, 1);
	}

private:
	enum : uint32_t { FREE, TAKEN, WAITED };
	static constexpr int SPINS = 100;

	void wait()
	{
		for (int i = 0; i < SPINS; i++) {
			uint32_t expected = FREE;

			cpu_relax();
			if (word_.load(std::memory_order_relaxed) == FREE &&
			    word_.compare_exchange_weak(
				    expected, TAKEN, std::memory_order_acquire))
				return;
		}
		/* Taken as WAITED: others may sleep behind us. */
		while (word_.exchange(WAITED, std::memory_order_acquire) !=
		       FREE)
			futex(FUTEX_WAIT_PRIVATE, WAITED);
	}

	void futex(int op, uint32_t value)
	{
		syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word_), op,
			value, nullptr, nullptr, 0);
	}

	std::atomic<uint32_t> word_{FREE};
	bool shared_;
};

} // namespace pavo

#endif /* PAVO_PROVIDER_SYNC_H */
