// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* address.hpp - which window of a job is meant: the one type for it in the library. */
#ifndef PAVO_ADDRESS_HPP
#define PAVO_ADDRESS_HPP

#include <compare>
#include <cstdint>

namespace pavo {

/** Names a window to all windows of its job: {node, window}. */
struct WindowAddress {
	/** Number of its machine in the job. */
	uint16_t node = 0;
	/** Its number there: Window::number(). */
	uint32_t window = 0;

	friend auto operator<=>(const WindowAddress &,
				const WindowAddress &) = default;
};

} // namespace pavo

#endif // PAVO_ADDRESS_HPP
