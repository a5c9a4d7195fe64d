/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets between windows (docs/protocol.md, "Windows"): BTH, WETH, and of RDMA WRETH,
 * PVOETH and WTETH.
 *
 * Owns: their fields, by the names that dialogues use. Pure.
 */
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "../../wire/tool/bytes.h"

namespace wf {

struct WindowPacket {
	uint64_t opcode = 0xc0;
	/* BTH */
	uint64_t pkey = 0xffff, qpn = 0, psn = 0, pad = 0, tver = 0;
	/* WETH */
	uint64_t key = 0, node = 1, kind = 0, reserved = 0, from = 0x200;
	/* WRETH */
	uint64_t rcxt = 0, peer_rcxt = 0, tid = 0, pvo = 0, total = 0;
	uint64_t fragment = 0, tag = 0, attempts = 0, flags = 0, status = 0;
	/* PVOETH */
	uint64_t back = 0;
	/* WTETH */
	uint64_t third_node = 1, third_window = 0x201, third_rcxt = 0;
	pw::Bytes payload;
};

struct WindowField {
	std::string_view name;
	unsigned octets;
	unsigned layout; /* packets that have it: a bit of window_layout(); 0: all */
	uint64_t WindowPacket::*member;
};

std::span<const WindowField> window_fields();

/* W_MESSAGE, W_DATA, W_READ, W_DONE, W_THIRD_READ, W_THIRD_DATA: the opcode. */
std::optional<uint8_t> window_opcode(std::string_view name);
std::string_view window_name(uint8_t opcode);
/* The headers that it has: 1 of RDMA, 2 of reads, 4 of third parties. */
unsigned window_layout(uint8_t opcode);

pw::Bytes encode(const WindowPacket &packet, unsigned layout);
/* Throws pw::Malformed. */
WindowPacket decode_window(pw::View transport);

} // namespace wf
