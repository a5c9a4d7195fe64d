/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The adapter's counters: those of the port by one question to the kernel, those of the device
 * from sysfs.
 *
 * Owns: the netlink socket, and the open files of the device's counters. Used by: the campaign, to see what a dialogue reached.
 */
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wf {

class Counters {
public:
	/* @netif: an interface whose counters count, too; or empty */
	Counters(const std::string &device, std::string netif);
	~Counters();
	Counters(const Counters &) = delete;

	const std::vector<std::string> &names() const { return names_; }
	/* In the order of names(). Where memory lacks: those of before. */
	const std::vector<uint64_t> &read();
	uint64_t sum(const std::vector<std::string> &names);

private:
	struct Message;

	uint32_t find_device(const std::string &device);
	bool ask(Message &message, size_t length);
	void take(const uint8_t *from, size_t length);
	void open_files(const std::string &device);
	bool read_port();
	void read_files();
	void read_netif();

	struct File {
		std::string name;
		int fd;
	};

	int socket_;
	std::string netif_;
	uint32_t device_;
	std::vector<File> files_;
	std::vector<std::string> names_;
	std::vector<uint64_t> values_;
};

} // namespace wf
