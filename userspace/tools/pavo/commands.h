/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * commands.h - the functions of the command. Options come from main.cpp;
 * results go to standard output; all throw Error.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pavo {

struct StatusOptions {
	std::vector<std::string> devices; /* empty: all */
	bool json = false;
	bool queue_pairs = false;
	bool all_counters = false;
	bool forget = false; /* the counts up to now */
};

struct CheckOptions {
	std::vector<std::string> devices;
	bool json = false;
};

struct MetricsOptions {
	std::vector<std::string> devices;
	std::string output; /* file that gets them; empty: standard output */
	std::string listen; /* serve them there; empty: print them once */
};

struct TopOptions {
	std::vector<std::string> devices;
	bool json = false;
	bool queue_pairs = false; /* the busiest, too */
	double interval = 1.0; /* seconds */
	unsigned int count = 0; /* rounds; 0: until interrupted */
};

struct InterfaceOptions {
	std::string device;
	std::string name; /* empty: the kernel chooses */
	uint32_t job = 0;
	std::string key; /* empty: in @key_file */
	std::string key_file;
	uint16_t node = 0;
	uint32_t nodes = 0; /* 0: as the numbers need */
	uint32_t window = 0; /* 0: any */
	int gid_index = -1; /* -1: the first of the nodes' IP version */
	std::vector<std::string> peers;
};

/** Makes a network interface over a window, and prints it. */
void add_interface(const InterfaceOptions &options);
void delete_interface(const std::string &name);
/** Changes what it knows of its peers; each as --peer has it. */
void set_interface_nodes(const std::string &name,
			 const std::vector<std::string> &nodes);
void show_interfaces(const std::vector<std::string> &adapters, bool json);

/** Shows the adapters' state at this moment. Return: false: there is trouble. */
bool status(const StatusOptions &options);

/** Shows what is wrong with this machine and the adapters, and what to type. Return: likewise. */
bool check(const CheckOptions &options);

/** Prints, writes or serves all that a monitoring system wants to know of the adapters. */
void metrics(const MetricsOptions &options);

/** Shows the adapters' rates periodically. */
void top(const TopOptions &options);

} // namespace pavo
