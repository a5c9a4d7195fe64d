// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* direction.h - the library's names for what tests keep as flags, where they try both. */
#ifndef PAVO_COMMON_DIRECTION_H
#define PAVO_COMMON_DIRECTION_H

#include <pavo/rdma.hpp>

namespace common {

inline pavo::Direction direction_of(bool write)
{
	return write ? pavo::Direction::write : pavo::Direction::read;
}

inline pavo::RdmaEnd end_of(bool fifo)
{
	return fifo ? pavo::RdmaEnd::fifo : pavo::RdmaEnd::memory;
}

} // namespace common

#endif // PAVO_COMMON_DIRECTION_H
