/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * interface.h - network interfaces over windows, by methods of an adapter's uverbs file. Used by
 * interface_commands.cpp.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rdma/pavo-abi.h>

namespace pavo {

/** An adapter's uverbs file, open; closed with the object. */
class UverbsFile {
public:
	/** Throws Error: it cannot be opened, with advice. */
	explicit UverbsFile(const std::string &adapter);
	~UverbsFile();
	UverbsFile(const UverbsFile &) = delete;
	UverbsFile &operator=(const UverbsFile &) = delete;

	/** All throw Error. */
	pavo_interface_info
	add(const pavo_interface_args &args,
	    const std::vector<pavo_interface_node> &nodes) const;
	void remove(uint32_t ifindex) const;
	void set_node(uint32_t ifindex, const pavo_interface_node &node) const;
	std::vector<pavo_interface_info> list() const;

private:
	std::string adapter_;
	int fd_ = -1;
};

/** Parses "NODE=ADDRESS" or "NODE=ADDRESS/WINDOW". Throws Error. @window: if it names none */
pavo_interface_node parse_node(const std::string &text, uint32_t window);

} // namespace pavo
