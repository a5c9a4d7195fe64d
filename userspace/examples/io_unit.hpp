// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* io_unit.hpp - messages between an I/O unit and its hosts, and bytes of a test disk. */
#ifndef PAVO_EXAMPLES_IO_UNIT_HPP
#define PAVO_EXAMPLES_IO_UNIT_HPP

#include <cstddef>
#include <cstdint>

namespace examples {

/** Port of rdma_cm where a unit waits for hosts. */
constexpr uint16_t io_port = 7478;
/** Bytes of an I/O at most. */
constexpr uint32_t io_most = 16 << 20;
/** I/Os that a host may have at a time. */
constexpr uint32_t io_depth = 64;

/** A host asks for a disk of the unit, with its request for a connection. */
struct IoQuestion {
	uint32_t disk; /* the first one is 0 */
};

/** The unit's answer, with its acceptance or refusal. */
struct IoAnswer {
	uint64_t size; /* bytes of the disk */
	uint32_t disks; /* of the unit */
	int32_t error; /* errno; 0: the connection is accepted */
};

enum class IoCommand : uint32_t {
	read = 1, /* of the disk: from there to the host's memory */
	write = 2, /* the other direction */
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
