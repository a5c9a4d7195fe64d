/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * findings.h - what is wrong with this machine and its adapters, and what to type. Pure: all input
 * is in Machine and Device, which machine.cpp and device.cpp read. Used by status.cpp.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device.h"
#include "netlink.h"
#include "trouble.h"

namespace pavo {

/** One thing that an administrator should know. */
struct Finding {
	Severity severity = Severity::trouble;
	std::string
		what; /* name for programs, such as "link_down"; of a counter its own */
	std::string text; /* what is the case; of a counter its advice */
	std::string remedy = {}; /* commands, a line each; may be empty */
	uint64_t value = 0; /* of a counter, or of a queue pair */
	bool counter = false;
	uint32_t qpn = 0; /* of a queue pair, if not 0 */
};

/** This machine, as far as RDMA depends on it. */
struct Machine {
	std::string kernel; /* uname -r */
	bool loaded = true; /* the module */
	bool installed = true; /* for this kernel */
	std::vector<std::string> kernels; /* that have the module */
	bool must_sign = false; /* the kernel takes signed modules only */
	bool has_signature = true; /* the file of the module */
	bool signature_refused =
		false; /* the kernel has refused a module, as its log says */
	bool port_bound = false; /* UDP 4791, in this network namespace */
	bool rxe_loaded = false;
	std::vector<std::string> rxe_adapters;
	std::optional<uint64_t> memlock; /* bytes; nothing: no limit */
	bool has_rdma_cm = true; /* for programs */
	std::string interface = "eth0"; /* one that could carry an adapter */
	std::string rules; /* JSON of nft; empty: none, or unknown */
	bool rules_unknown =
		false; /* there may be some, which this user may not read */
};

/** Of the machine; @adapters: names of its adapters */
std::vector<Finding> find_in(const Machine &machine,
			     const std::vector<std::string> &adapters);
/** Of an adapter: link, MTU, addresses, and the packet filter on the way to it. */
std::vector<Finding> find_in(const Device &device, const Machine &machine);
/** Of the counters that moved, trouble first. */
std::vector<Finding> find_in(const Counters &counters);
std::vector<Finding> find_in(const std::vector<QueuePair> &queue_pairs);

bool has_trouble(const std::vector<Finding> &findings);

/** "trouble", "note" */
const char *severity_name(Severity severity);

/** Has that kernel the module? @dependencies: its modules.dep */
bool has_module(const std::string &dependencies);
/** Has the kernel refused a module for its signature? @log: lines of dmesg */
bool refuses_signatures(const std::string &log);
/** Is UDP port 4791 among the sockets of /proc/net/udp? */
bool has_bound_port(const std::string &sockets);

} // namespace pavo
