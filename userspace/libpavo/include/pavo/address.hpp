// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* address.hpp - types for addresses of windows and adapters. */
#ifndef PAVO_ADDRESS_HPP
#define PAVO_ADDRESS_HPP

#include <pavo/language.hpp>

#include <array>
#include <compare>
#include <cstdint>

#pragma GCC visibility push(default)

namespace pavo {

/** A GID: an IPv6 address, or an IPv4 address as ::ffff:a.b.c.d; in network order. */
using Gid = std::array<uint8_t, 16>;

/** An address of an adapter: an entry of its GID table. */
struct AdapterAddress {
	uint16_t index = 0;
	Gid gid = {};
};

enum class IpVersion { v4 = 4, v6 = 6 };

/** Names a window to all windows of its job: {node, window}. */
struct WindowAddress {
	/** Number of the machine in the job. */
	uint16_t node = 0;
	/** Number of the window on that machine: Window::number(). */
	uint32_t window = 0;

	friend auto operator<=>(const WindowAddress &,
				const WindowAddress &) = default;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_ADDRESS_HPP
