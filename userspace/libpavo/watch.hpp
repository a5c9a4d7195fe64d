// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * watch.hpp - reports of the kernel about changes of this process's memory
 * (PAVO_OBJECT_WATCH of <rdma/pavo-abi.h>). Private to the library.
 */
#ifndef PAVO_WATCH_HPP
#define PAVO_WATCH_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pavo {

class Watch {
public:
	/**
	 * @fd: uverbs file, which has to live longer
	 * Throws Failure: EPROTONOSUPPORT, EOPNOTSUPP: this kernel or
	 * adapter reports no changes; ENOMEM.
	 */
	Watch(int fd, uint32_t slots);
	~Watch();
	Watch(const Watch &) = delete;
	Watch &operator=(const Watch &) = delete;

	/** Let @slot watch a range; @length 0: no memory. Return: 0 or an errno. */
	int set(uint32_t slot, uintptr_t start, size_t length) noexcept;

	bool changed(uint32_t slot) const noexcept
	{
		return std::atomic_ref(words_[slot])
			.load(std::memory_order_acquire);
	}

	/** The process is a child of the one that made it. */
	void forget() noexcept { fd_ = -1; }

private:
	int fd_;
	uint32_t handle_;
	uint32_t *words_;
	size_t size_;
};

} // namespace pavo

#endif // PAVO_WATCH_HPP
