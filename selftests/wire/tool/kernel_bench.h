/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The bench of a device of this machine's kernel: real time, a packet socket, sysfs.
 *
 * Owns: the socket. Used by: main.cpp.
 */
#pragma once

#include "bench.h"

namespace pw {

class KernelBench : public Bench {
public:
	/* `interface`: the tool's end of the wire of `device`. */
	KernelBench(const std::string &device, const std::string &interface);

	int64_t now() override { return now_ns(); }
	void pass(int64_t until) override;
	void settle_counters() override;
	void send(View frame) override { link_.send(frame); }
	std::optional<Arrival> next(int64_t deadline) override
	{
		return link_.next(deadline);
	}
	Mac mac() override { return mac_of(interface_); }
	std::optional<Mac> device_mac(unsigned interface) override;
	std::optional<uint64_t> counter(const std::string &name) override;
	void refuse(unsigned packets) override;
	int set_parameter(const std::string &name, int value) override;

private:
	std::string interface_;
	std::vector<std::string> counters_;
	Link link_;
};

} // namespace pw
