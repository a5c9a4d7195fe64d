// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * parse_test.cpp - what is no packet: cut anywhere, of another version,
 * unknown, with payload where none may be; and what must be ignored.
 */
#include <gtest/gtest.h>

#include <algorithm>

#include "wire_env.h"

namespace {

constexpr unsigned int flags_at = 1; /* SE, MigReq, PadCnt, TVer */
constexpr unsigned int marks_at = 4; /* FECN, BECN, reserved */
constexpr unsigned int ack_at = 8; /* AckReq, reserved */

pavo_pkt plain_packet(uint8_t opcode, uint8_t pad = 0)
{
	pavo_pkt pkt = {
		.opcode = opcode, .pad = pad, .pkey = PAVO_PKEY_DEFAULT};

	return pkt;
}

bool has_payload(uint8_t opcode)
{
	return flags_of(opcode) & PAVO_OPF_PAYLOAD;
}

/* All pads with the payload that needs them; none where there is none. */
std::vector<Bytes> packets_of(uint8_t opcode)
{
	std::vector<Bytes> packets = {packet(plain_packet(opcode), 0)};

	if (has_payload(opcode))
		for (uint8_t pad = 0; pad < 4; pad++)
			packets.push_back(
				packet(plain_packet(opcode, pad), 8u - pad));
	return packets;
}

TEST(Parse, EveryTruncationOfTheHeadersIsShort)
{
	for (uint8_t opcode : known_opcodes()) {
		Bytes udp = packet(plain_packet(opcode), 0);

		ASSERT_EQ(parse(udp).status, PAVO_PARSE_OK);
		while (!udp.empty()) {
			udp.pop_back();
			EXPECT_EQ(parse(udp).status, PAVO_PARSE_SHORT)
				<< "opcode " << int(opcode) << ", "
				<< udp.size() << " bytes";
		}
	}
}

TEST(Parse, EveryTruncationOfPayloadAndPadIsShortOrShorterPayload)
{
	for (uint8_t opcode : known_opcodes()) {
		for (Bytes udp : packets_of(opcode)) {
			unsigned int pad = udp[flags_at] >> 4 & 3;
			unsigned int least =
				pavo_opcode_get_info(opcode)->hdr_len + pad +
				PAVO_ICRC_LEN;

			for (; !udp.empty(); udp.pop_back()) {
				Parsed parsed = parse(udp);
				/* Only whole words make a packet. */
				bool whole = udp.size() % 4 == 0 &&
					     udp.size() >= least;

				ASSERT_EQ(parsed.status,
					  whole ? PAVO_PARSE_OK :
						  PAVO_PARSE_SHORT)
					<< "opcode " << int(opcode) << ", "
					<< udp.size() << " bytes";
				if (whole) {
					EXPECT_EQ(parsed.pkt.payload,
						  udp.size() - least);
				}
			}
		}
	}
}

TEST(Parse, TooFewReadableBytesAreShortAndNotReadBeyond)
{
	for (uint8_t opcode : known_opcodes()) {
		Bytes udp = packet(plain_packet(opcode), 0);
		unsigned int hdr_len = pavo_opcode_get_info(opcode)->hdr_len;

		for (unsigned int avail = 0; avail < hdr_len; avail++)
			EXPECT_EQ(parse(Bytes(udp.begin(), udp.begin() + avail),
					static_cast<unsigned int>(udp.size()))
					  .status,
				  PAVO_PARSE_SHORT)
				<< "opcode " << int(opcode) << ", " << avail
				<< " readable";
		EXPECT_EQ(parse(Bytes(udp.begin(), udp.begin() + hdr_len),
				static_cast<unsigned int>(udp.size()))
				  .status,
			  PAVO_PARSE_OK);
	}
}

TEST(Parse, PayloadLengthIsWhatIsLeft)
{
	for (uint8_t opcode : known_opcodes()) {
		if (!has_payload(opcode))
			continue;
		Bytes readable = packet(plain_packet(opcode), 64);
		unsigned int hdr_len = pavo_opcode_get_info(opcode)->hdr_len;

		readable.resize(PAVO_MAX_HDR_LEN);
		for (unsigned int payload : {64u, 256u, 4096u, 65480u}) {
			Parsed parsed = parse(readable, hdr_len + payload +
								PAVO_ICRC_LEN);

			ASSERT_EQ(parsed.status, PAVO_PARSE_OK);
			EXPECT_EQ(parsed.pkt.payload, payload);
		}
	}
}

TEST(Parse, EveryPadWithItsPayload)
{
	for (uint8_t opcode : known_opcodes()) {
		if (!has_payload(opcode))
			continue;
		for (uint8_t pad = 0; pad < 4; pad++) {
			Parsed parsed = parse(
				packet(plain_packet(opcode, pad), 20u - pad));

			ASSERT_EQ(parsed.status, PAVO_PARSE_OK);
			EXPECT_EQ(parsed.pkt.pad, pad);
			EXPECT_EQ(parsed.pkt.payload, 20u - pad);
		}
	}
}

TEST(Parse, PadThatDoesNotFillTheWordIsShort)
{
	for (uint8_t opcode : known_opcodes()) {
		for (uint8_t pad = 0; pad < 4; pad++) {
			for (unsigned int payload = 0; payload < 9; payload++) {
				if ((payload + pad) % 4 == 0)
					continue;
				EXPECT_EQ(
					parse(packet(plain_packet(opcode, pad),
						     payload))
						.status,
					PAVO_PARSE_SHORT)
					<< "opcode " << int(opcode) << ", pad "
					<< int(pad) << ", payload " << payload;
			}
		}
	}
}

TEST(Parse, PadWithoutAnythingToPadIsShort)
{
	for (uint8_t opcode : known_opcodes()) {
		for (uint8_t pad = 1; pad < 4; pad++) {
			Bytes udp = packet(plain_packet(opcode), 0);

			udp[flags_at] |= static_cast<uint8_t>(pad << 4);
			EXPECT_EQ(parse(udp).status, PAVO_PARSE_SHORT)
				<< "opcode " << int(opcode) << ", pad "
				<< int(pad);
		}
	}
}

TEST(Parse, PayloadWhereThereIsNoneIsSurplus)
{
	unsigned int tried = 0;

	for (uint8_t opcode : known_opcodes()) {
		if (has_payload(opcode))
			continue;
		for (unsigned int words = 1; words < 300; words++) {
			for (uint8_t pad = 0; pad < 4; pad++) {
				Bytes udp = packet(plain_packet(opcode, pad),
						   words * 4 - pad);

				EXPECT_EQ(parse(udp).status,
					  PAVO_PARSE_SURPLUS);
				tried++;
			}
		}
	}
	/* seven of RC, and of XRC, three of windows, four of extended atomics, and CNP */
	EXPECT_EQ(tried, 22u * 299 * 4);
}

TEST(Parse, EveryOtherVersionIsRefused)
{
	for (uint8_t opcode : known_opcodes()) {
		for (uint8_t version = 1; version < 16; version++) {
			Bytes udp = packet(plain_packet(opcode), 0);

			udp[flags_at] |= version;
			EXPECT_EQ(parse(udp).status, PAVO_PARSE_VERSION)
				<< "opcode " << int(opcode) << ", version "
				<< int(version);
		}
	}
}

TEST(Parse, EveryUnknownOpcodeIsRefusedAtAnyLength)
{
	unsigned int unknown = 0;

	for (int opcode = 0; opcode < 256; opcode++) {
		if (pavo_opcode_get_info(static_cast<uint8_t>(opcode)))
			continue;
		unknown++;
		for (size_t len = 16; len <= 96; len += 4) {
			Bytes udp(len);

			udp[0] = static_cast<uint8_t>(opcode);
			EXPECT_EQ(parse(udp).status, PAVO_PARSE_OPCODE)
				<< "opcode " << opcode << ", " << len
				<< " bytes";
		}
	}
	EXPECT_EQ(unknown, 256 - known_opcodes().size());
}

TEST(Parse, VersionIsLookedAtBeforeTheOpcode)
{
	Bytes udp(16);

	udp[0] = 0xff;
	udp[flags_at] = 1;
	EXPECT_EQ(parse(udp).status, PAVO_PARSE_VERSION);
}

TEST(Parse, MigReqAndReservedBitsAreIgnored)
{
	Random random;

	for (uint8_t opcode : known_opcodes()) {
		pavo_pkt pkt = random_packet(random, opcode);

		pkt.pad = 0;
		Bytes clear = packet(pkt, 0);
		Bytes set = clear;

		clear[flags_at] &= 0xbf;
		set[flags_at] |= 0x40;
		set[marks_at] |= 0x3f;
		if (flags_of(opcode) & PAVO_OPF_DETH)
			set[PAVO_BTH_LEN + 4] = 0xff;
		if (flags_of(opcode) & PAVO_OPF_XRCETH)
			set[PAVO_BTH_LEN] = 0xff;
		if (flags_of(opcode) & PAVO_OPF_EXTATOMICETH) {
			uint8_t *header = &set[behind_xrceth(opcode)];

			std::fill_n(header, 3, 0xff);
			header[3] |= 0xf0;
		}
		if (flags_of(opcode) & PAVO_OPF_FETH) {
			uint8_t *header = &set[behind_xrceth(opcode)];

			std::fill_n(header, 3, 0xff);
			header[3] |= 0xc0;
		}
		if (flags_of(opcode) & PAVO_OPF_SACKETH)
			set[PAVO_BTH_LEN + PAVO_AETH_LEN + 3] |= 0xc0;
		for (const Bytes &udp : {clear, set}) {
			Parsed parsed = parse(udp);

			ASSERT_EQ(parsed.status, PAVO_PARSE_OK);
			expect_same_fields(parsed.pkt, pkt);
		}
	}
}

} // namespace
