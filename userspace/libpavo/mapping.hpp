// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* mapping.hpp - mapping memory for a job, without an owner. Private to the library. */
#ifndef PAVO_MAPPING_HPP
#define PAVO_MAPPING_HPP

#include <cstdint>

#include <rdma/pavo-abi.h>

namespace pavo {

/** Map memory. @handle: set, for unmap_memory(). Return: 0 or an errno. */
int map_memory(int fd, uint32_t job, const pavo_map_args &args,
	       pavo_map_resp &resp, uint32_t &handle) noexcept;

void unmap_memory(int fd, uint32_t handle) noexcept;

} // namespace pavo

#endif // PAVO_MAPPING_HPP
