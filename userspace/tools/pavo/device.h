/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * device.h - pavo's adapters as sysfs shows them. Reads only; used by
 * status.cpp and top.cpp.
 */
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace pavo {

/** An error, with advice, for the user to read. */
struct Error : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct Gid {
	unsigned int index;
	std::string gid; /* as the kernel writes it, eight groups */
	std::string type;
	std::string netdev;
};

/** An adapter as it is at this moment. */
struct Device {
	std::string name;
	std::string netdev; /* empty if the interface was removed */
	std::string state; /* "ACTIVE", "DOWN" */
	std::string phys_state;
	std::string rate; /* "10 Gb/sec (4X SDR)" */
	unsigned int netdev_mtu = 0; /* 0: no interface */
	bool netdev_up = true; /* an administrator's choice */
	bool carrier = true;
	std::string node_guid;
	std::vector<Gid> gids; /* RoCE v2 entries */
};

/** Name to value, of the port (as in `rdma statistic`) and of the device. */
using Counters = std::map<std::string, uint64_t>;

/** Names of all pavo adapters that this namespace can see, sorted. */
std::vector<std::string> device_names();

/**
 * @wanted, or all adapters if it is empty. Throws Error if one of them does not
 * exist or is not pavo's, or if there is none at all.
 */
std::vector<std::string> choose_devices(const std::vector<std::string> &wanted);

/** Throws Error if the adapter was removed. */
Device read_device(const std::string &name);
/** Likewise; empty if its device is in another network namespace, and only seen from here. */
Counters read_counters(const std::string &name);

} // namespace pavo
