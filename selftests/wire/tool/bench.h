/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The bench of the machine, beside libibverbs: a clock, the other end of the device's wire, and
 * the device's counters. The kernel gives them (kernel_bench.h), or the engine, which is the
 * module in this program (selftests/engine).
 *
 * Owns: the interface. Used by: the machine and the Dut.
 */
#pragma once

#include "link.h"

namespace pw {

class Bench {
public:
	virtual ~Bench() = default;

	/* The clock, in nanoseconds, and a little while in which the device may act. */
	virtual int64_t now() = 0;
	virtual void pass(int64_t until) = 0;
	/* Wait until counters are read as they are now or later. */
	virtual void settle_counters() = 0;

	/* The wire. As those of Link. */
	virtual void send(View frame) = 0;
	virtual std::optional<Arrival> next(int64_t deadline) = 0;
	virtual Mac mac() = 0; /* of this end */

	/* The device: MAC of one of its interfaces, and counters; nullopt: there is none. */
	virtual std::optional<Mac> device_mac(unsigned interface) = 0;
	virtual std::optional<uint64_t> counter(const std::string &name) = 0;

	/* Its interface refuses that many packets, from the next one on. */
	virtual void refuse(unsigned packets) = 0;

	/* Set a parameter of the module; its former value. */
	virtual int set_parameter(const std::string &name, int value) = 0;
};

} // namespace pw
