// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* first_tid.hpp - tids of a process that may come after another one. Private to the library. */
#ifndef PAVO_FIRST_TID_HPP
#define PAVO_FIRST_TID_HPP

#include <chrono>
#include <cstdint>

namespace pavo {

/**
 * Return a tid that is above those of all processes that used the same contexts or group before, also
 * on other machines if their clocks agree. None needs more than a million a second.
 */
inline uint64_t first_tid()
{
	const auto now = std::chrono::system_clock::now().time_since_epoch();

	return uint64_t(
		std::chrono::duration_cast<std::chrono::microseconds>(now)
			.count());
}

} // namespace pavo

#endif // PAVO_FIRST_TID_HPP
