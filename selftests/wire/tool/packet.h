/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * InfiniBand transport packets: the opcode table, and encoding and decoding of
 * BTH, extension headers, payload and pad (IBA volume 1, chapter 9; docs/protocol.md for
 * opcodes of pavo's own).
 *
 * Owns: struct Packet and the names of its fields, which are also the names that
 * scripts use. Opcodes and extension headers are those of kernel/wire/packets.h. Used by: the
 * script machine (to build and to compare) and the self-test. Pure.
 */
#pragma once

#include <string_view>

#include "bytes.h"
#include "wire/packets.h"

namespace pw {

/* In the place of an enum pavo_op_flag: a field that every packet has. */
constexpr unsigned in_bth = 0;

struct Opcode {
	uint8_t code;
	std::string_view name;
	unsigned headers; /* enum pavo_op_flag */
	bool response;
};

/* nullptr: no such opcode. */
const Opcode *opcode_by_name(std::string_view name);
const Opcode *opcode_by_code(uint8_t code);

/*
 * Every field is a plain number, so that a script may set any of them to
 * anything; encoding cuts it to the field's width.
 */
struct Packet {
	uint64_t opcode = 0;
	/* BTH */
	uint64_t se = 0, migreq = 0, pad = 0, tver = 0, pkey = 0xffff;
	uint64_t fecn = 0, becn = 0, resv6 = 0, qpn = 0;
	uint64_t ackreq = 0, sack = 0, attempt = 0, psn = 0;
	/* Fields of extension headers, by the names of kernel/wire/packets.h */
	uint64_t srqn = 0, qkey = 0, sqpn = 0;
	uint64_t feth = 0, va = 0, rkey = 0, dlen = 0;
	uint64_t aop = 0, id = 0, swap = 0, mask = 0, cmp = 0, cmask = 0;
	uint64_t dups = 0, from = 0, tries = 0, space = 0, echo = 0;
	uint64_t map0 = 0, map1 = 0, map2 = 0, map3 = 0;
	uint64_t syn = 0, msn = 0, orig = 0, imm = 0, inv = 0;
	/* The reserved bits above aop, and above feth */
	uint64_t resv28 = 0, resv26 = 0;

	Bytes payload; /* without pad */
};

struct Field {
	std::string_view name;
	unsigned bits;
	unsigned header; /* those that have it, or in_bth: every packet */
	uint64_t Packet::*member;
};

std::span<const Field> fields();
const Field *field_by_name(std::string_view name);

/* Kinds of AETH, bits 7..5 of the syndrome, and the NAK codes below them. */
enum : uint64_t {
	aeth_kind_mask = 0xe0,
	aeth_ack = 0x00,
	aeth_rnr = 0x20,
	aeth_nak = 0x60,
};

/*
 * Headers (as `layout` says), payload and `pad` bytes of zero. The layout is a
 * parameter because a script may put a foreign opcode on it.
 */
Bytes encode(const Packet &packet, unsigned layout);

/*
 * The opposite: takes apart the transport bytes without ICRC. Throws Malformed on
 * anything a correct sender never sends: unknown opcode, missing bytes, payload
 * where there is none, a pad that does not complete 4 bytes or is not zero.
 */
Packet decode(View transport);

/* One line for people: name, PSN, and every field of the packet's headers. */
std::string describe(const Packet &packet);

/* Names of packets of XRC begin with it; those of RC are the same without it. */
constexpr std::string_view xrc_prefix = "XRC_";
std::string_view without_service(std::string_view name);

/* The name of a packet: of its opcode, or ACK, NAK, RNR by its syndrome. */
std::string name_of(const Packet &packet);

} // namespace pw
