/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One verbs device, its address, and what its network interface has counted.
 *
 * Owns: the device context. Used by: main.cpp, which opens two, and pair.cpp.
 */
#pragma once

#include <cstdint>
#include <string>

#include <netinet/in.h>
#include <infiniband/verbs.h>

namespace bench {

/* The thread is in a network namespace, by its name, as long as this lives; "" is no other. */
class Inside {
public:
	explicit Inside(const std::string &space);
	~Inside();
	Inside(const Inside &) = delete;
	Inside &operator=(const Inside &) = delete;

private:
	int home_ = -1;
};

/* The traffic of an interface since it was made. */
struct Traffic {
	uint64_t tx_packets = 0;
	uint64_t tx_bytes = 0;
	uint64_t rx_packets = 0;
	uint64_t rx_bytes = 0;
	uint64_t dropped = 0; /* by the interface, either way */
};

Traffic operator-(const Traffic &late, const Traffic &early);

/* Packets that found a CPU's backlog full, all CPUs. */
uint64_t backlog_drops();

class Device {
public:
	/* @space: name of the network namespace of its interface; "" is that of the program. */
	explicit Device(const std::string &name, const std::string &space = "");
	~Device();
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	ibv_context *context() const { return context_; }
	const std::string &name() const { return name_; }
	const std::string &space() const { return space_; }
	const std::string &netdev() const { return netdev_; }
	const ibv_gid &gid() const { return gid_; }
	int gid_index() const { return gid_index_; }
	/* iWARP has no RoCE addresses, and connects by rdma_cm. */
	bool is_iwarp() const
	{
		return context_->device->transport_type == IBV_TRANSPORT_IWARP;
	}
	/* That of IPv4. */
	in_addr address() const { return address_; }
	ibv_mtu mtu() const { return mtu_; }
	int max_reads() const { return max_reads_; }

	/* For an interface in the program's own namespace. */
	Traffic traffic() const;

private:
	void choose_gid();
	void find_interface();

	std::string name_;
	std::string space_;
	std::string netdev_;
	ibv_context *context_ = nullptr;
	ibv_gid gid_ = {};
	int gid_index_ = -1;
	in_addr address_ = {};
	ibv_mtu mtu_ = IBV_MTU_1024;
	int max_reads_ = 1;
};

} // namespace bench
