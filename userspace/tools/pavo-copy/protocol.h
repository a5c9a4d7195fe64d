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
 * A receiver that refuses a caller rejects the connection with a Refusal. A side
 * that fails later says DATA_FAILED with its errno.
 * All numbers are big-endian. Each side checks all numbers of the other.
 */
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <arpa/inet.h>

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

/* The most that a rejection carries is 148 bytes, some of which rdma_cm may use. */
struct Refusal {
	uint32_t magic;
	char text[120]; /* ends with a zero */
};

inline Refusal make_refusal(const std::string &text)
{
	Refusal refusal = {htonl(MAGIC), {}};

	memcpy(refusal.text, text.data(),
	       std::min(text.size(), sizeof(refusal.text) - 1));
	return refusal;
}

/* The text that the other side sent, without bytes that a terminal would obey; empty: none */
inline std::string read_reason(std::span<const std::byte> data)
{
	std::string text;
	Refusal refusal;

	if (data.size() < sizeof(refusal))
		return text;
	memcpy(&refusal, data.data(), sizeof(refusal));
	if (ntohl(refusal.magic) != MAGIC)
		return text;
	for (char c : refusal.text) {
		if (!c)
			break;
		text += c < ' ' || c > '~' ? '?' : c;
	}
	return text;
}

/* immediate data of messages */
constexpr uint32_t DATA_TAKEN = 1;
constexpr uint32_t DATA_DONE = 2;
/* and errno, 0 to 4095, in the lower bits */
constexpr uint32_t DATA_FAILED = 0x10000;
constexpr uint32_t FAILED_ERRNO = 0xfff;

inline bool is_failure(uint32_t data)
{
	return (data & ~FAILED_ERRNO) == DATA_FAILED;
}

} // namespace copy
