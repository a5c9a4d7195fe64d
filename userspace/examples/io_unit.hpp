// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* io_unit.hpp - messages between an I/O unit and its host, and bytes of a test disk. */
#ifndef PAVO_EXAMPLES_IO_UNIT_HPP
#define PAVO_EXAMPLES_IO_UNIT_HPP

#include <cstddef>
#include <cstdint>
#include <string>

#include <pavo/group.hpp>

namespace examples {

/** The unit and its host, as a group. @unit: its address; empty: this is the unit. */
inline pavo::Result<pavo::Group> meet(const std::string &unit)
{
	return pavo::Group::join(
		{.host = unit, .port = 7478, .size = 2, .key = 0x696f756e6974});
}

/** Bytes of an I/O at most. */
constexpr uint32_t io_most = 16 << 20;
/** I/Os that a host may have at a time. */
constexpr uint32_t io_depth = 64;

enum class IoCommand : uint32_t {
	read = 1, /* of the disk: from there to the host's memory */
	write = 2, /* the other direction */
	end = 3, /* the host has no more */
};

/** A host asks for this. */
struct IoRequest {
	uint64_t address; /* of its memory */
	uint64_t offset; /* on the disk */
	uint32_t rkey;
	uint32_t length;
	IoCommand command;
	uint32_t tag; /* of the answer */
};

/** The unit's answer, when all bytes are where they belong. */
struct IoStatus {
	uint32_t tag;
	int32_t error; /* errno */
};

/** Byte of a disk with a pattern, by its place. */
inline std::byte io_byte(uint64_t seed, uint64_t place)
{
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15 + place;

	x ^= x >> 32;
	x *= 0xbf58476d1ce4e5b9;
	return std::byte(x >> 56);
}

} // namespace examples

#endif // PAVO_EXAMPLES_IO_UNIT_HPP
