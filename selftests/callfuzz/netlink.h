/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * netlink.h - messages of RDMA netlink, right or wrong.
 */
#ifndef PAVO_CALLFUZZ_NETLINK_H
#define PAVO_CALLFUZZ_NETLINK_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace callfuzz {

using Bytes = std::vector<uint8_t>;

void add_attribute(Bytes &bytes, unsigned type, const void *value, size_t size);
void add_text(Bytes &bytes, unsigned type, const std::string &text);

/**
 * Sends command @command of nldev with @attributes. @each gets what comes back, message
 * by message, without headers. Returns 0 or an errno, the kernel's, too.
 */
int ask_nldev(unsigned command, unsigned flags, const Bytes &attributes,
	      const std::function<void(const uint8_t *, size_t)> &each = {});

/** Value of attribute @type, or nullptr. */
const uint8_t *find_attribute(const uint8_t *at, size_t size, unsigned type);

} // namespace callfuzz

#endif /* PAVO_CALLFUZZ_NETLINK_H */
