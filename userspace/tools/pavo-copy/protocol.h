/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * protocol.h - the messages between the two sides of pavo-copy.
 *
 * Owns the layout of the private data exchanged while connecting, and the
 * meaning of immediate data. Used by sender.cpp and receiver.cpp.
 *
 * The sender offers a file size; the receiver answers with a ring of slots in
 * its memory. Chunk n of the file is written by RDMA into slot n % slots, its
 * length being the immediate data. The receiver returns a slot with an empty
 * message (DATA_TAKEN), and says DATA_DONE once the file is complete on disk.
 * All numbers are big-endian. Each side checks all numbers of the other.
 */
#pragma once

#include <cstdint>

namespace copy {

constexpr uint32_t MAGIC = 0x7061766f; /* "pavo" */
constexpr uint32_t VERSION = 1;
constexpr uint32_t CHUNK_MAX = 16u << 20;
constexpr uint32_t SLOTS_MAX = 256;

struct Offer {
	uint32_t magic;
	uint32_t version;
	uint64_t size;
};

struct Answer {
	uint32_t magic;
	uint32_t version;
	uint64_t address;
	uint32_t rkey;
	uint32_t slots;
	uint32_t slot_size;
	uint32_t reserved;
};

/* immediate data of the receiver's messages */
constexpr uint32_t DATA_TAKEN = 1;
constexpr uint32_t DATA_DONE = 2;

} // namespace copy
