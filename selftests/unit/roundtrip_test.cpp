// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * roundtrip_test.cpp - for random fields: build and parse undo each other, in
 * both directions; and what build does with what does not fit.
 */
#include <gtest/gtest.h>

#include <algorithm>

#include <cstring>

#include "wire_env.h"

namespace {

constexpr int rounds = 2000;

TEST(RoundTrip, ParseOfBuildGivesTheFields)
{
	Random random;

	for (uint8_t opcode : known_opcodes()) {
		for (int i = 0; i < rounds; i++) {
			pavo_pkt pkt = random_packet(random, opcode);
			unsigned int payload =
				random.below(64) * 4 + 4 - pkt.pad;

			if (!(flags_of(opcode) & PAVO_OPF_PAYLOAD)) {
				pkt.pad = 0;
				payload = 0;
			}
			Parsed parsed = parse(packet(pkt, payload));

			ASSERT_EQ(parsed.status, PAVO_PARSE_OK);
			EXPECT_EQ(parsed.pkt.payload, payload);
			expect_same_fields(parsed.pkt, pkt);
			ASSERT_FALSE(HasFailure())
				<< "opcode " << int(opcode) << ", round " << i;
		}
	}
}

/* Random bytes, of which those that are transmitted as constants are set. */
TEST(RoundTrip, BuildOfParseGivesTheBytes)
{
	Random random;

	for (uint8_t opcode : known_opcodes()) {
		for (int i = 0; i < rounds; i++) {
			Bytes headers(pavo_opcode_get_info(opcode)->hdr_len);

			for (uint8_t &byte : headers)
				byte = static_cast<uint8_t>(random.bits());
			headers[0] = opcode;
			headers[1] = static_cast<uint8_t>((headers[1] & 0x80) |
							  0x40);
			headers[4] &= 0xc0;
			if (flags_of(opcode) & PAVO_OPF_DETH)
				headers[PAVO_BTH_LEN + 4] = 0;
			if (flags_of(opcode) & PAVO_OPF_XRCETH)
				headers[PAVO_BTH_LEN] = 0;
			if (flags_of(opcode) & PAVO_OPF_WETH)
				std::fill_n(&headers[PAVO_BTH_LEN + 11], 2, 0);
			if (flags_of(opcode) & PAVO_OPF_WTETH)
				std::fill_n(headers.end() - PAVO_WTETH_LEN + 2,
					    3, 0);
			if (flags_of(opcode) & PAVO_OPF_CNPETH)
				std::fill_n(&headers[PAVO_BTH_LEN],
					    PAVO_CNPETH_LEN, 0);
			if (flags_of(opcode) & PAVO_OPF_SACKETH) {
				uint8_t *header =
					&headers[PAVO_BTH_LEN + PAVO_AETH_LEN];

				header[2] = 0;
				header[3] &= 0x3f;
				header[4] = 0;
			}
			if (flags_of(opcode) & PAVO_OPF_FETH) {
				uint8_t *header =
					&headers[behind_xrceth(opcode)];

				std::fill_n(header, 3, 0);
				header[3] &= 0x3f;
			}
			if (flags_of(opcode) & PAVO_OPF_EXTATOMICETH) {
				uint8_t *header =
					&headers[behind_xrceth(opcode)];

				std::fill_n(header, 3, 0);
				header[3] &= 0x0f;
			}

			Bytes udp = headers;

			udp.resize(udp.size() + PAVO_ICRC_LEN);
			Parsed parsed = parse(udp);

			ASSERT_EQ(parsed.status, PAVO_PARSE_OK);
			ASSERT_EQ(to_hex(build(parsed.pkt)), to_hex(headers));
		}
	}
}

TEST(Build, UnknownOpcodesWriteNothing)
{
	for (int opcode = 0; opcode < 256; opcode++) {
		uint8_t block[PAVO_MAX_HDR_LEN];
		uint8_t before[PAVO_MAX_HDR_LEN];

		if (pavo_opcode_get_info(static_cast<uint8_t>(opcode)))
			continue;
		std::memset(block, 0x5a, sizeof(block));
		std::memcpy(before, block, sizeof(block));
		pavo_pkt pkt = {.opcode = static_cast<uint8_t>(opcode)};
		EXPECT_EQ(pavo_build(block, &pkt), 0u) << "opcode " << opcode;
		EXPECT_EQ(std::memcmp(block, before, sizeof(block)), 0);
	}
}

/* A PSN that was not masked must not leak into the bits beside it. */
TEST(Build, TooLargeNumbersStayInTheirFields)
{
	for (uint8_t opcode : known_opcodes()) {
		pavo_pkt pkt = {.opcode = opcode};

		Bytes zero = build(pkt);

		pkt.pad = 0xfc;
		pkt.dqpn = 0xff000000;
		pkt.psn = 0xff000000;
		pkt.msn = 0xff000000;
		pkt.sqpn = 0xff000000;
		pkt.aop = 0xf0;
		pkt.feth = 0xc0;
		EXPECT_EQ(to_hex(build(pkt)), to_hex(zero))
			<< "opcode " << int(opcode);
	}
}

} // namespace
