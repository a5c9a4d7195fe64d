/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * netlink.h - adapters as RDMA netlink shows them: counts of objects, and
 * queue pairs. Used by status.cpp and top.cpp.
 */
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pavo {

struct QueuePair {
	uint32_t number = 0;
	std::string type; /* "RC" */
	std::string state; /* "RTS" */
	uint32_t remote = 0; /* connected ones */
	uint32_t pid = 0; /* 0: of the kernel */
	std::string owner; /* program, or the kernel's user */
	std::map<std::string, uint64_t> details; /* of the driver */
};

/** Kind ("qp", "cq", "mr", ...) to count. */
using Resources = std::map<std::string, uint64_t>;

/** A conversation with the kernel. All functions throw Error. */
class Netlink {
public:
	Netlink();
	~Netlink();
	Netlink(const Netlink &) = delete;
	Netlink &operator=(const Netlink &) = delete;

	Resources resources(const std::string &device);
	std::vector<QueuePair> queue_pairs(const std::string &device);

private:
	struct Socket;

	uint32_t index_of(const std::string &device);

	Socket *socket_;
};

} // namespace pavo
