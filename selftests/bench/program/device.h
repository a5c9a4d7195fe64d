/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One verbs device, its address, and what its network interface has counted.
 *
 * Owns: the device context. Used by: main.cpp, which opens two, and pair.cpp.
 */
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <infiniband/verbs.h>

namespace bench {

/* The thread is in a network namespace, by its name, as long as this lives; "" is no other. */
class Inside {
public:
	explicit Inside(const std::string &space);
	~Inside();
	Inside(const Inside &) = delete;

private:
	int home_ = -1;
};

struct Device {
	/* @space: name of the network namespace of its interface; "" is that of the program. */
	explicit Device(const std::string &name, const std::string &space = "");
	~Device() { ibv_close_device(context); }
	Device(const Device &) = delete;

	/* iWARP has no RoCE addresses, and connects by rdma_cm. */
	bool is_iwarp() const
	{
		return context->device->transport_type == IBV_TRANSPORT_IWARP;
	}

	const std::string name, space;
	ibv_context *const context;
	std::string netdev;
	ibv_gid gid = {}; /* that of IPv4; iWARP: its MAC address */
	int gid_index = 0;
	ibv_mtu mtu = IBV_MTU_1024;
	int max_reads = 1;
};

/* The traffic since this was made, of a device whose interface is in the program's namespace. */
class Traffic {
public:
	explicit Traffic(const Device &device);

	/* A file of /sys/class/net/NAME/statistics. */
	uint64_t moved(const std::string &what) const;
	/* By the interface, either way, and by a CPU whose backlog was full. */
	uint64_t drops() const;

private:
	uint64_t read(const std::string &what) const;

	std::string netdev_;
	std::map<std::string, uint64_t> before_;
};

} // namespace bench
