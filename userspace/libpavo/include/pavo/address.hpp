// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* address.hpp - addresses of windows and of adapters: the types for them in the library. */
#ifndef PAVO_ADDRESS_HPP
#define PAVO_ADDRESS_HPP

#include <array>
#include <compare>
#include <cstdint>

namespace pavo {

/** A GID: an IPv6 address, or one of IPv4 as ::ffff:a.b.c.d; bytes as on the wire. */
using Gid = std::array<uint8_t, 16>;

/** An address of an adapter: an entry of its GID table. */
struct AdapterAddress {
	uint16_t index = 0;
	Gid gid = {};
};

enum class IpVersion { v4 = 4, v6 = 6 };

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
