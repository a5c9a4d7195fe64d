/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The tool's end of the wire: a packet socket on one end of a veth pair, and the
 * conditions a script waits for, all with a deadline.
 *
 * Owns: the socket and the queue of received RoCE frames. Used by: the machine.
 * Touches: only that interface; the host's own stack never speaks there, because
 * nothing has an address on it.
 */
#pragma once

#include <optional>
#include <string>

#include "frame.h"

namespace pw {

/* Nanoseconds of the clock that the kernel stamps packets with. */
int64_t now_ns();

/* The device did something else than the script says. */
struct Mismatch : std::runtime_error {
	using std::runtime_error::runtime_error;
};

Mac mac_of(const std::string &interface);

struct Arrival {
	int64_t time;
	Opened frame;
};

/*
 * While it lives the kernel stamps packets. It patches its own code for the first socket that asks
 * for that, and after the last; once for all cases is better: an emulated CPU that runs
 * that code at that moment has been seen to stop at half of it (int3 in netif_rx_internal).
 */
class Stamping {
public:
	Stamping();
	~Stamping();
	Stamping(const Stamping &) = delete;

private:
	int socket_;
};

class Link {
public:
	explicit Link(const std::string &interface);
	~Link();
	Link(const Link &) = delete;
	Link &operator=(const Link &) = delete;

	void send(View frame);

	/*
	 * The next RoCE packet; nullopt when there is none by `deadline`. Throws
	 * Mismatch if one came that is broken in lengths, checksums or ICRC.
	 */
	std::optional<Arrival> next(int64_t deadline);

private:
	std::optional<Arrival> read_one();

	int socket_ = -1;
};

} // namespace pw
