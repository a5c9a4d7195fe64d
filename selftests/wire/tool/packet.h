/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * InfiniBand transport packets: the opcode table, and encoding and decoding of
 * BTH, extension headers, payload and pad (IBA volume 1, chapter 9; docs/protocol.md for
 * opcodes of pavo's own).
 *
 * Owns: struct Packet and the names of its fields, which are also the names that
 * scripts use. Used by: the script machine (to build and to compare) and the
 * self-test. Pure.
 */
#pragma once

#include <string_view>

#include "bytes.h"

namespace pw {

/* Extension headers and payload an opcode has, in the order of the wire. */
enum Header : unsigned {
	hdr_bth = 0,
	hdr_deth = 1 << 0,
	hdr_reth = 1 << 1,
	hdr_atomic = 1 << 2,
	hdr_aeth = 1 << 3,
	hdr_atomic_ack = 1 << 4,
	hdr_imm = 1 << 5,
	hdr_ieth = 1 << 6,
	hdr_payload = 1 << 7,
	hdr_xrc = 1 << 8,
	hdr_ext_atomic = 1 << 9,
	hdr_ext_ack = 1 << 10,
};

struct Opcode {
	uint8_t code;
	std::string_view name;
	unsigned headers;
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
	uint64_t ackreq = 0, resv7 = 0, psn = 0;
	/* XRCETH */
	uint64_t srqn = 0;
	/* DETH */
	uint64_t qkey = 0, sqpn = 0;
	/* RETH and AtomicETH (va, rkey); dlen only RETH; swap, cmp only AtomicETH */
	uint64_t va = 0, rkey = 0, dlen = 0, swap = 0, cmp = 0;
	/* AETH, AtomicAckETH, ImmDt, IETH */
	uint64_t syn = 0, msn = 0, orig = 0, imm = 0, inv = 0;
	/* Extended atomic requests, which have va, rkey, swap and cmp, too; id, their answers */
	uint64_t resv28 = 0, aop = 0, id = 0, mask = 0, cmask = 0;

	Bytes payload; /* without pad */
};

struct Field {
	std::string_view name;
	unsigned bits;
	unsigned header; /* one that has it, or hdr_bth: every packet */
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
