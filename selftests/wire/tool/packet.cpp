// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * InfiniBand transport packets: see packet.h.
 */
#include "packet.h"

#include <array>
#include <cstdio>

namespace pw {

namespace {

constexpr unsigned send_imm = hdr_imm | hdr_payload;
constexpr unsigned write = hdr_reth | hdr_payload;
constexpr unsigned response = hdr_aeth | hdr_payload;

/* IBA table 38. Reliable connection has no prefix, it is what most scripts speak. */
constexpr std::array opcodes = {
	Opcode{0x00, "SEND_FIRST", hdr_payload, false},
	Opcode{0x01, "SEND_MIDDLE", hdr_payload, false},
	Opcode{0x02, "SEND_LAST", hdr_payload, false},
	Opcode{0x03, "SEND_LAST_IMM", send_imm, false},
	Opcode{0x04, "SEND_ONLY", hdr_payload, false},
	Opcode{0x05, "SEND_ONLY_IMM", send_imm, false},
	Opcode{0x06, "WRITE_FIRST", write, false},
	Opcode{0x07, "WRITE_MIDDLE", hdr_payload, false},
	Opcode{0x08, "WRITE_LAST", hdr_payload, false},
	Opcode{0x09, "WRITE_LAST_IMM", send_imm, false},
	Opcode{0x0a, "WRITE_ONLY", write, false},
	Opcode{0x0b, "WRITE_ONLY_IMM", write | hdr_imm, false},
	Opcode{0x0c, "READ_REQ", hdr_reth, false},
	Opcode{0x0d, "READ_RESP_FIRST", response, true},
	Opcode{0x0e, "READ_RESP_MIDDLE", hdr_payload, true},
	Opcode{0x0f, "READ_RESP_LAST", response, true},
	Opcode{0x10, "READ_RESP_ONLY", response, true},
	Opcode{0x11, "ACK", hdr_aeth, true},
	Opcode{0x12, "ATOMIC_ACK", hdr_aeth | hdr_atomic_ack, true},
	Opcode{0x13, "CMP_SWAP", hdr_atomic, false},
	Opcode{0x14, "FETCH_ADD", hdr_atomic, false},
	Opcode{0x16, "SEND_LAST_INV", hdr_ieth | hdr_payload, false},
	Opcode{0x17, "SEND_ONLY_INV", hdr_ieth | hdr_payload, false},
	Opcode{0x1d, "ATOMIC_WRITE", write, false},
	Opcode{0x20, "UC_SEND_FIRST", hdr_payload, false},
	Opcode{0x21, "UC_SEND_MIDDLE", hdr_payload, false},
	Opcode{0x22, "UC_SEND_LAST", hdr_payload, false},
	Opcode{0x23, "UC_SEND_LAST_IMM", send_imm, false},
	Opcode{0x24, "UC_SEND_ONLY", hdr_payload, false},
	Opcode{0x25, "UC_SEND_ONLY_IMM", send_imm, false},
	Opcode{0x26, "UC_WRITE_FIRST", write, false},
	Opcode{0x27, "UC_WRITE_MIDDLE", hdr_payload, false},
	Opcode{0x28, "UC_WRITE_LAST", hdr_payload, false},
	Opcode{0x29, "UC_WRITE_LAST_IMM", send_imm, false},
	Opcode{0x2a, "UC_WRITE_ONLY", write, false},
	Opcode{0x2b, "UC_WRITE_ONLY_IMM", write | hdr_imm, false},
	Opcode{0x64, "UD_SEND_ONLY", hdr_deth | hdr_payload, false},
	Opcode{0x65, "UD_SEND_ONLY_IMM", hdr_deth | send_imm, false},
	/* annex A14: requests name a queue, responses do not */
	Opcode{0xa0, "XRC_SEND_FIRST", hdr_xrc | hdr_payload, false},
	Opcode{0xa1, "XRC_SEND_MIDDLE", hdr_xrc | hdr_payload, false},
	Opcode{0xa2, "XRC_SEND_LAST", hdr_xrc | hdr_payload, false},
	Opcode{0xa3, "XRC_SEND_LAST_IMM", hdr_xrc | send_imm, false},
	Opcode{0xa4, "XRC_SEND_ONLY", hdr_xrc | hdr_payload, false},
	Opcode{0xa5, "XRC_SEND_ONLY_IMM", hdr_xrc | send_imm, false},
	Opcode{0xa6, "XRC_WRITE_FIRST", hdr_xrc | write, false},
	Opcode{0xa7, "XRC_WRITE_MIDDLE", hdr_xrc | hdr_payload, false},
	Opcode{0xa8, "XRC_WRITE_LAST", hdr_xrc | hdr_payload, false},
	Opcode{0xa9, "XRC_WRITE_LAST_IMM", hdr_xrc | send_imm, false},
	Opcode{0xaa, "XRC_WRITE_ONLY", hdr_xrc | write, false},
	Opcode{0xab, "XRC_WRITE_ONLY_IMM", hdr_xrc | write | hdr_imm, false},
	Opcode{0xac, "XRC_READ_REQ", hdr_xrc | hdr_reth, false},
	Opcode{0xad, "XRC_READ_RESP_FIRST", response, true},
	Opcode{0xae, "XRC_READ_RESP_MIDDLE", hdr_payload, true},
	Opcode{0xaf, "XRC_READ_RESP_LAST", response, true},
	Opcode{0xb0, "XRC_READ_RESP_ONLY", response, true},
	Opcode{0xb1, "XRC_ACK", hdr_aeth, true},
	Opcode{0xb2, "XRC_ATOMIC_ACK", hdr_aeth | hdr_atomic_ack, true},
	Opcode{0xb3, "XRC_CMP_SWAP", hdr_xrc | hdr_atomic, false},
	Opcode{0xb4, "XRC_FETCH_ADD", hdr_xrc | hdr_atomic, false},
	Opcode{0xb6, "XRC_SEND_LAST_INV", hdr_xrc | hdr_ieth | hdr_payload,
	       false},
	Opcode{0xb7, "XRC_SEND_ONLY_INV", hdr_xrc | hdr_ieth | hdr_payload,
	       false},
	/* docs/protocol.md */
	Opcode{0xe0, "EXT_ATOMIC", hdr_ext_atomic, false},
	Opcode{0xe1, "EXT_ATOMIC_ACK", hdr_aeth | hdr_ext_ack, true},
	Opcode{0xe2, "IMM64", hdr_payload, false},
	Opcode{0xe3, "IMM64_SE", hdr_payload, false},
	Opcode{0xe4, "XRC_EXT_ATOMIC", hdr_xrc | hdr_ext_atomic, false},
	Opcode{0xe5, "XRC_EXT_ATOMIC_ACK", hdr_aeth | hdr_ext_ack, true},
	Opcode{0xe6, "XRC_IMM64", hdr_xrc | hdr_payload, false},
	Opcode{0xe7, "XRC_IMM64_SE", hdr_xrc | hdr_payload, false},
};

constexpr std::array field_table = {
	Field{"opcode", 8, hdr_bth, &Packet::opcode},
	Field{"se", 1, hdr_bth, &Packet::se},
	Field{"migreq", 1, hdr_bth, &Packet::migreq},
	Field{"pad", 2, hdr_bth, &Packet::pad},
	Field{"tver", 4, hdr_bth, &Packet::tver},
	Field{"pkey", 16, hdr_bth, &Packet::pkey},
	Field{"fecn", 1, hdr_bth, &Packet::fecn},
	Field{"becn", 1, hdr_bth, &Packet::becn},
	Field{"resv6", 6, hdr_bth, &Packet::resv6},
	Field{"qpn", 24, hdr_bth, &Packet::qpn},
	Field{"ackreq", 1, hdr_bth, &Packet::ackreq},
	Field{"resv7", 7, hdr_bth, &Packet::resv7},
	Field{"psn", 24, hdr_bth, &Packet::psn},
	Field{"srqn", 24, hdr_xrc, &Packet::srqn},
	Field{"qkey", 32, hdr_deth, &Packet::qkey},
	Field{"sqpn", 24, hdr_deth, &Packet::sqpn},
	Field{"resv28", 28, hdr_ext_atomic, &Packet::resv28},
	Field{"aop", 4, hdr_ext_atomic, &Packet::aop},
	Field{"id", 32, hdr_ext_atomic | hdr_ext_ack, &Packet::id},
	Field{"va", 64, hdr_reth | hdr_atomic | hdr_ext_atomic, &Packet::va},
	Field{"rkey", 32, hdr_reth | hdr_atomic | hdr_ext_atomic,
	      &Packet::rkey},
	Field{"dlen", 32, hdr_reth, &Packet::dlen},
	Field{"swap", 64, hdr_atomic | hdr_ext_atomic, &Packet::swap},
	Field{"add", 64, hdr_atomic | hdr_ext_atomic, &Packet::swap},
	Field{"mask", 64, hdr_ext_atomic, &Packet::mask},
	Field{"cmp", 64, hdr_atomic | hdr_ext_atomic, &Packet::cmp},
	Field{"cmask", 64, hdr_ext_atomic, &Packet::cmask},
	Field{"syn", 8, hdr_aeth, &Packet::syn},
	Field{"msn", 24, hdr_aeth, &Packet::msn},
	Field{"orig", 64, hdr_atomic_ack | hdr_ext_ack, &Packet::orig},
	Field{"imm", 32, hdr_imm, &Packet::imm},
	Field{"inv", 32, hdr_ieth, &Packet::inv},
};

uint64_t cut(uint64_t value, unsigned bits)
{
	return bits == 64 ? value : value & ((1ull << bits) - 1);
}

void encode_ext_atomic(Bytes &out, const Packet &p)
{
	put(out, p.resv28 << 4 | p.aop, 4);
	put(out, p.id, 4);
	put(out, p.rkey, 4);
	put(out, p.va, 8);
	put(out, p.swap, 8);
	put(out, p.mask, 8);
	put(out, p.cmp, 8);
	put(out, p.cmask, 8);
}

void decode_ext_atomic(Packet &p, View &in)
{
	const uint64_t word = take(in, 4, "the extended atomic request");

	p.resv28 = word >> 4;
	p.aop = word & 15;
	p.id = take(in, 4, "the extended atomic request");
	p.rkey = take(in, 4, "the extended atomic request");
	p.va = take(in, 8, "the extended atomic request");
	p.swap = take(in, 8, "the extended atomic request");
	p.mask = take(in, 8, "the extended atomic request");
	p.cmp = take(in, 8, "the extended atomic request");
	p.cmask = take(in, 8, "the extended atomic request");
}

} // namespace

const Opcode *opcode_by_name(std::string_view name)
{
	for (const Opcode &op : opcodes)
		if (op.name == name)
			return &op;
	return nullptr;
}

const Opcode *opcode_by_code(uint8_t code)
{
	for (const Opcode &op : opcodes)
		if (op.code == code)
			return &op;
	return nullptr;
}

std::span<const Field> fields()
{
	return field_table;
}

const Field *field_by_name(std::string_view name)
{
	for (const Field &field : field_table)
		if (field.name == name)
			return &field;
	return nullptr;
}

Bytes encode(const Packet &packet, unsigned layout)
{
	Packet p = packet;
	Bytes out;

	for (const Field &field : field_table)
		p.*field.member = cut(p.*field.member, field.bits);
	put(out, p.opcode, 1);
	put(out, p.se << 7 | p.migreq << 6 | p.pad << 4 | p.tver, 1);
	put(out, p.pkey, 2);
	put(out, p.fecn << 7 | p.becn << 6 | p.resv6, 1);
	put(out, p.qpn, 3);
	put(out, p.ackreq << 7 | p.resv7, 1);
	put(out, p.psn, 3);
	if (layout & hdr_xrc)
		put(out, p.srqn, 4);
	if (layout & hdr_deth) {
		put(out, p.qkey, 4);
		put(out, p.sqpn, 4);
	}
	if (layout & (hdr_reth | hdr_atomic)) {
		put(out, p.va, 8);
		put(out, p.rkey, 4);
	}
	if (layout & hdr_reth)
		put(out, p.dlen, 4);
	if (layout & hdr_atomic) {
		put(out, p.swap, 8);
		put(out, p.cmp, 8);
	}
	if (layout & hdr_ext_atomic)
		encode_ext_atomic(out, p);
	if (layout & hdr_aeth)
		put(out, p.syn << 24 | p.msn, 4);
	if (layout & hdr_atomic_ack)
		put(out, p.orig, 8);
	if (layout & hdr_ext_ack) {
		put(out, p.id, 4);
		put(out, p.orig, 8);
	}
	if (layout & hdr_imm)
		put(out, p.imm, 4);
	if (layout & hdr_ieth)
		put(out, p.inv, 4);
	out.insert(out.end(), p.payload.begin(), p.payload.end());
	out.insert(out.end(), p.pad, 0);
	return out;
}

static void decode_bth(Packet &p, View &in)
{
	uint64_t word = take(in, 4, "the BTH");

	p.opcode = word >> 24;
	p.se = word >> 23 & 1;
	p.migreq = word >> 22 & 1;
	p.pad = word >> 20 & 3;
	p.tver = word >> 16 & 15;
	p.pkey = word & 0xffff;
	word = take(in, 4, "the BTH");
	p.fecn = word >> 31;
	p.becn = word >> 30 & 1;
	p.resv6 = word >> 24 & 0x3f;
	p.qpn = word & 0xffffff;
	word = take(in, 4, "the BTH");
	p.ackreq = word >> 31;
	p.resv7 = word >> 24 & 0x7f;
	p.psn = word & 0xffffff;
}

static void decode_extensions(Packet &p, View &in, unsigned layout)
{
	if (layout & hdr_xrc) {
		if (take(in, 1, "the XRCETH"))
			throw Malformed(
				"the reserved byte of the XRCETH is not 0");
		p.srqn = take(in, 3, "the XRCETH");
	}
	if (layout & hdr_deth) {
		p.qkey = take(in, 4, "the DETH");
		if (take(in, 1, "the DETH"))
			throw Malformed(
				"the reserved byte of the DETH is not 0");
		p.sqpn = take(in, 3, "the DETH");
	}
	if (layout & (hdr_reth | hdr_atomic)) {
		p.va = take(in, 8, "the RETH or AtomicETH");
		p.rkey = take(in, 4, "the RETH or AtomicETH");
	}
	if (layout & hdr_reth)
		p.dlen = take(in, 4, "the RETH");
	if (layout & hdr_atomic) {
		p.swap = take(in, 8, "the AtomicETH");
		p.cmp = take(in, 8, "the AtomicETH");
	}
	if (layout & hdr_ext_atomic)
		decode_ext_atomic(p, in);
	if (layout & hdr_aeth) {
		p.syn = take(in, 1, "the AETH");
		p.msn = take(in, 3, "the AETH");
	}
	if (layout & hdr_atomic_ack)
		p.orig = take(in, 8, "the AtomicAckETH");
	if (layout & hdr_ext_ack) {
		p.id = take(in, 4, "the extended atomic answer");
		p.orig = take(in, 8, "the extended atomic answer");
	}
	if (layout & hdr_imm)
		p.imm = take(in, 4, "the ImmDt");
	if (layout & hdr_ieth)
		p.inv = take(in, 4, "the IETH");
}

Packet decode(View in)
{
	Packet p;

	decode_bth(p, in);

	const Opcode *op = opcode_by_code(static_cast<uint8_t>(p.opcode));

	if (!op)
		throw Malformed("unknown opcode " + std::to_string(p.opcode));
	decode_extensions(p, in, op->headers);
	if (in.size() % 4)
		throw Malformed("payload and pad are not whole 4-byte words");
	if (in.size() < p.pad)
		throw Malformed("pad count beyond the payload");
	if (!(op->headers & hdr_payload) && in.size())
		throw Malformed("payload on " + std::string(op->name));
	p.payload.assign(in.begin(), in.end() - static_cast<long>(p.pad));
	for (uint8_t byte : in.last(p.pad))
		if (byte)
			throw Malformed("pad bytes are not zero");
	return p;
}

std::string_view without_service(std::string_view name)
{
	return name.substr(name.starts_with(xrc_prefix) ? xrc_prefix.size() :
							  0);
}

std::string name_of(const Packet &packet)
{
	const Opcode *op = opcode_by_code(static_cast<uint8_t>(packet.opcode));

	if (!op)
		return "OPCODE_" + std::to_string(packet.opcode);

	const std::string_view plain = without_service(op->name);
	const std::string service(op->name, 0, op->name.size() - plain.size());

	if (plain == "ACK" && (packet.syn & aeth_kind_mask) == aeth_rnr)
		return service + "RNR";
	if (plain == "ACK" && (packet.syn & aeth_kind_mask) == aeth_nak)
		return service + "NAK";
	return std::string(op->name);
}

std::string describe(const Packet &packet)
{
	const Opcode *op = opcode_by_code(static_cast<uint8_t>(packet.opcode));
	const Packet defaults;
	std::string text = name_of(packet);
	char buffer[64];

	std::snprintf(buffer, sizeof(buffer), " psn=%06llx",
		      static_cast<unsigned long long>(packet.psn));
	text += buffer;
	for (const Field &field : field_table) {
		uint64_t value = packet.*field.member;
		bool in_bth = field.header == hdr_bth;

		if (field.name == "psn" || field.name == "opcode" ||
		    field.name == "add")
			continue;
		/* Of the BTH only what is unusual, of the rest everything. */
		if (in_bth ? value == defaults.*field.member :
			     !op || !(op->headers & field.header))
			continue;
		std::snprintf(buffer, sizeof(buffer), " %.*s=0x%llx",
			      static_cast<int>(field.name.size()),
			      field.name.data(),
			      static_cast<unsigned long long>(value));
		text += buffer;
	}
	if (!packet.payload.empty())
		text += " payload=" + std::to_string(packet.payload.size());
	return text;
}

} // namespace pw
