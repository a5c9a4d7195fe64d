// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct_register.hpp - reads a register of a direct window that the adapter may be writing. Used by
 * the provider and by libpavo.
 */
#ifndef PAVO_DIRECT_REGISTER_HPP
#define PAVO_DIRECT_REGISTER_HPP

#include <atomic>
#include <cstdint>
#include <cstring>

#include <rdma/pavo-abi-direct.h>

namespace pavo {

/**
 * Returns the register as of one moment. The adapter makes its sequence number odd, writes the
 * values, and makes it even.
 */
inline pavo_direct_register read_register(const pavo_direct_register &at)
{
	std::atomic_ref number(const_cast<uint32_t &>(at.sequence));
	pavo_direct_register copy;
	uint32_t before;

	do {
		before = number.load(std::memory_order_acquire);
		std::memcpy(&copy, &at, sizeof(copy));
		std::atomic_thread_fence(std::memory_order_acquire);
	} while (before & 1 ||
		 number.load(std::memory_order_relaxed) != before);
	return copy;
}

} // namespace pavo

#endif // PAVO_DIRECT_REGISTER_HPP
