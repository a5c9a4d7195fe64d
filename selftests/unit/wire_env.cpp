// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* wire_env.cpp - see wire_env.h. */
#include "wire_env.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <stdexcept>

Bytes from_hex(std::string_view text)
{
	Bytes bytes;
	std::string digits;

	for (unsigned char c : text) {
		if (std::isspace(c))
			continue;
		if (!std::isxdigit(c))
			throw std::invalid_argument("not hexadecimal");
		digits += static_cast<char>(c);
		if (digits.size() == 2) {
			bytes.push_back(static_cast<uint8_t>(
				std::stoul(digits, nullptr, 16)));
			digits.clear();
		}
	}
	if (!digits.empty())
		throw std::invalid_argument("half a byte");
	return bytes;
}

std::string to_hex(const Bytes &bytes)
{
	static const char digit[] = "0123456789abcdef";
	std::string text;

	for (uint8_t byte : bytes) {
		text += digit[byte >> 4];
		text += digit[byte & 15];
	}
	return text;
}

std::vector<uint8_t> known_opcodes()
{
	std::vector<uint8_t> opcodes;

	for (int opcode = 0; opcode < 256; opcode++)
		if (pavo_opcode_get_info(static_cast<uint8_t>(opcode)))
			opcodes.push_back(static_cast<uint8_t>(opcode));
	return opcodes;
}

uint32_t flags_of(uint8_t opcode)
{
	const struct pavo_op_info *info = pavo_opcode_get_info(opcode);

	if (!info)
		throw std::invalid_argument("unknown opcode");
	return info->flags;
}

pavo_pkt random_packet(Random &random, uint8_t opcode)
{
	pavo_pkt pkt = {.opcode = opcode,
			.pad = static_cast<uint8_t>(random.below(4)),
			.solicited = random.coin(),
			.ack_req = random.coin(),
			.wants_sack = random.coin(),
			.attempt = static_cast<uint8_t>(random.below(64)),
			.fecn = random.coin(),
			.becn = random.coin(),
			.pkey = static_cast<uint16_t>(random.bits()),
			.dqpn = random.below(1 << 24),
			.psn = random.below(1 << 24),
			.feth = static_cast<uint8_t>(random.below(64)),
			.va = random.bits(),
			.rkey = static_cast<uint32_t>(random.bits()),
			.dma_len = static_cast<uint32_t>(random.bits()),
			.swap_add = random.bits(),
			.compare = random.bits(),
			.swap_add_mask = random.bits(),
			.compare_mask = random.bits(),
			.request_id = static_cast<uint32_t>(random.bits()),
			.aop = static_cast<uint8_t>(random.below(16)),
			.atomic_orig = random.bits(),
			.syndrome = static_cast<uint8_t>(random.bits()),
			.msn = random.below(1 << 24),
			.imm = static_cast<uint32_t>(random.bits()),
			.inv_rkey = static_cast<uint32_t>(random.bits()),
			.qkey = static_cast<uint32_t>(random.bits()),
			.sqpn = random.below(1 << 24),
			.srqn = random.below(1 << 24),
			.window_key = random.bits(),
			.src_node = static_cast<uint16_t>(random.bits()),
			.kind = static_cast<uint8_t>(random.bits()),
			.src_window = random.below(1 << 24)};

	pkt.sack = {.dups = static_cast<uint16_t>(random.bits()),
		    .from = static_cast<uint8_t>(random.bits()),
		    .attempt = static_cast<uint8_t>(random.below(64)),
		    .space = static_cast<uint8_t>(random.bits()),
		    .echo = random.below(1 << 24),
		    .map = {random.bits(), random.bits(), random.bits(),
			    random.bits()}};
	pkt.rdma = {
		.rcxt = static_cast<uint32_t>(random.bits()),
		.peer_rcxt = static_cast<uint32_t>(random.bits()),
		.tid = random.bits(),
		.pvo = random.bits(),
		.total = static_cast<uint32_t>(random.bits()),
		.fragment = static_cast<uint32_t>(random.bits()),
		.tag = static_cast<uint32_t>(random.bits()),
		.attempts = static_cast<uint16_t>(random.bits()),
		.flags = static_cast<uint8_t>(random.bits()),
		.status = static_cast<uint8_t>(random.bits()),
		.back_pvo = random.bits(),
		.third_node = static_cast<uint16_t>(random.bits()),
		.third_window = random.below(1 << 24),
		.third_rcxt = static_cast<uint32_t>(random.bits()),
	};
	return pkt;
}

Bytes build(const pavo_pkt &pkt)
{
	const struct pavo_op_info *info = pavo_opcode_get_info(pkt.opcode);
	/*
	 * Exactly as long as the headers, although callers give more: the
	 * sanitizer then sees a byte too many.
	 */
	size_t room = info ? info->hdr_len : 0;
	std::unique_ptr<uint8_t[]> block(new uint8_t[room]);

	std::memset(block.get(), 0xa5, room);
	unsigned int len = pavo_build(block.get(), &pkt);

	EXPECT_EQ(len, room);
	return Bytes(block.get(), block.get() + std::min<size_t>(len, room));
}

Parsed parse(const Bytes &readable, unsigned int len)
{
	std::unique_ptr<uint8_t[]> block(new uint8_t[readable.size()]);
	Parsed parsed;

	std::copy(readable.begin(), readable.end(), block.get());
	/* A field that parse leaves out shall not look like a plausible zero. */
	std::memset(&parsed, 0xa5, sizeof(parsed));
	parsed.status = pavo_parse(&parsed.pkt, block.get(),
				   static_cast<unsigned int>(readable.size()),
				   len);
	return parsed;
}

Parsed parse(const Bytes &udp)
{
	size_t avail = std::min<size_t>(udp.size(), PAVO_MAX_HDR_LEN);

	return parse(Bytes(udp.begin(), udp.begin() + static_cast<long>(avail)),
		     static_cast<unsigned int>(udp.size()));
}

Bytes packet(const pavo_pkt &pkt, unsigned int payload)
{
	Bytes udp = build(pkt);

	for (unsigned int i = 0; i < payload; i++)
		udp.push_back(static_cast<uint8_t>(0xd0 + i));
	udp.resize(udp.size() + pkt.pad + PAVO_ICRC_LEN);
	return udp;
}

void expect_same_fields(const pavo_pkt &actual, const pavo_pkt &expected)
{
	uint32_t flags = flags_of(expected.opcode);

	EXPECT_EQ(actual.opcode, expected.opcode);
	EXPECT_EQ(actual.pad, expected.pad);
	EXPECT_EQ(actual.solicited, expected.solicited);
	EXPECT_EQ(actual.ack_req, expected.ack_req);
	EXPECT_EQ(actual.wants_sack, expected.wants_sack);
	EXPECT_EQ(actual.attempt, expected.attempt);
	EXPECT_EQ(actual.fecn, expected.fecn);
	EXPECT_EQ(actual.becn, expected.becn);
	EXPECT_EQ(actual.pkey, expected.pkey);
	EXPECT_EQ(actual.dqpn, expected.dqpn);
	EXPECT_EQ(actual.psn, expected.psn);
	// clang-format off
#define NUMBER(bits, used, name, member) \
	EXPECT_EQ(actual.member, expected.member);
#define BYTES(bits, name, member) NUMBER(bits, bits, name, member)
#define RESERVED(bits)
#define HEADER(NAME, name, more)                              \
	if (flags & PAVO_OPF_##NAME) {                        \
		PAVO_##NAME##_FIELDS(NUMBER, BYTES, RESERVED) \
	}
	PAVO_HEADERS(HEADER, 0)
#undef HEADER
#undef RESERVED
#undef BYTES
#undef NUMBER
	// clang-format on
}
