// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * icrc_test.cpp - the invariant CRC against packets published by others, and
 * which bits it does not cover.
 *
 * The vectors are from Scapy's RoCE tests (test/contrib/roce.uts in
 * https://github.com/secdev/scapy): three packets captured from ConnectX
 * hardware and two computed by Scapy's own implementation.
 */
#include <gtest/gtest.h>

#include <span>

#include "wire_env.h"

namespace {

/* CRC-32 (IEEE 802.3), bit by bit: slow, but beyond doubt. */
uint32_t crc32(std::span<const uint8_t> bytes, uint32_t crc = 0)
{
	crc = ~crc;
	for (uint8_t byte : bytes) {
		crc ^= byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* An IP packet, split into the bytes of pavo_icrc_build_head() and the rest. */
struct Frame {
	bool ipv6;
	Bytes ip;
	Bytes udp;
	Bytes bth;
	Bytes rest; /* to the end of the pad */
	Bytes icrc; /* as on the wire */
};

Frame cut(bool ipv6, const char *hex, size_t udp_len = 8)
{
	Bytes bytes = from_hex(hex);
	size_t at = 0;
	auto next = [&](size_t len) {
		auto begin = bytes.begin() + static_cast<long>(at);

		at += len;
		return Bytes(begin, begin + static_cast<long>(len));
	};
	Frame frame = {.ipv6 = ipv6,
		       .ip = next(ipv6 ? 40 : 20),
		       .udp = next(udp_len),
		       .bth = next(12),
		       .rest = next(bytes.size() - at - 4),
		       .icrc = next(4)};

	return frame;
}

Bytes head(const Frame &frame)
{
	Bytes out(8 + frame.ip.size() + frame.udp.size() + frame.bth.size());
	unsigned int len = pavo_icrc_build_head(out.data(), frame.ip.data(),
						frame.ipv6, frame.udp.data(),
						frame.bth.data());

	EXPECT_EQ(len, out.size());
	EXPECT_LE(len, static_cast<unsigned int>(PAVO_ICRC_HEAD_MAX));
	return out;
}

/* Least significant byte first, as it is sent. */
std::string wire_order(uint32_t crc)
{
	return to_hex({static_cast<uint8_t>(crc),
		       static_cast<uint8_t>(crc >> 8),
		       static_cast<uint8_t>(crc >> 16),
		       static_cast<uint8_t>(crc >> 24)});
}

std::string icrc_of(const Frame &frame)
{
	return wire_order(crc32(frame.rest, crc32(head(frame))));
}

/* UC SEND Only over IPv4, Scapy "RoCE layer". */
const char *const uc_send_ipv4 =
	"4501 0040 0478 4000 4011 b4d5 c0a80007 c0a80007"
	"c000 12b7 002c aca2"
	"24 60 ffff 00 0000d3 00 cf1710"
	"4630818be28935d90e9a95505401be885e500000"
	"78f353f3";

/* The same datagram over IPv6, Scapy "RoCE over IPv6". */
const char *const uc_send_ipv6 = "6e21face 002c 11 ff"
				 "20220000000000000000000000001023"
				 "20230000000000000000000000001024"
				 "c000 12b7 002c e7c5"
				 "24 60 ffff 00 0000d3 00 cf1710"
				 "4630818be28935d90e9a95505401be885e500000"
				 "3e5b743b";

/* Congestion notification, Scapy "RoCE CNP captured on ConnectX-4 Lx". */
const char *const cnp_ipv4 = "45c2 003c 718c 4000 4011 9161 0a001101 0a001201"
			     "0000 12b7 0028 0000"
			     "81 00 ffff 40 000118 00 000000"
			     "00000000000000000000000000000000"
			     "82fd002a";

/* RoCE v1: the same BTH directly after the GRH, which is an IPv6 header. */
const char *const v1_write =
	"60200000 0028 1b 40"
	"00000000000000000000ffff0f000002"
	"00000000000000000000ffff0f000002"
	"0a 70 ffff 00 00010a 80 a788bc"
	"000055d4c0726000 000047b3 00000005 0000000001000000"
	"e3d856bb";

const char *const v1_ack = "60200000 0014 1b 40"
			   "00000000000000000000ffff0f000002"
			   "00000000000000000000ffff0f000002"
			   "11 40 ffff 00 000109 00 a788c0 00000005"
			   "25f0c038";

TEST(Icrc, Crc32OfTheTestIsTheRightOne)
{
	const Bytes digits = from_hex("313233343536373839");

	EXPECT_EQ(crc32(digits), 0xcbf43926u);
}

TEST(Icrc, PublishedUcSendOverIpv4)
{
	Frame frame = cut(false, uc_send_ipv4);

	EXPECT_EQ(icrc_of(frame), to_hex(frame.icrc));
}

TEST(Icrc, PublishedUcSendOverIpv6)
{
	Frame frame = cut(true, uc_send_ipv6);

	EXPECT_EQ(icrc_of(frame), to_hex(frame.icrc));
}

TEST(Icrc, CapturedCongestionNotification)
{
	Frame frame = cut(false, cnp_ipv4);

	EXPECT_EQ(icrc_of(frame), to_hex(frame.icrc));
}

/*
 * RoCE v1 has no UDP header; without that part the head must give the ICRC
 * that hardware computed, which proves the masks of the IPv6 header.
 */
TEST(Icrc, CapturedRoceV1WithoutTheUdpPart)
{
	for (const char *hex : {v1_write, v1_ack}) {
		Frame frame = cut(true, hex, 0);

		frame.udp.resize(8);
		Bytes bytes = head(frame);

		bytes.erase(bytes.begin() + 8 + 40, bytes.begin() + 8 + 40 + 8);
		EXPECT_EQ(wire_order(crc32(frame.rest, crc32(bytes))),
			  to_hex(frame.icrc));
	}
}

/* Bits that routers and congestion change on the way (annex A17.3.3). */
struct Mask {
	const char *ip;
	const char *udp;
	const char *bth;
};

const Mask ipv4_mask = {"00ff0000 00000000 ff00ffff 00000000 00000000",
			"000000000000ffff", "00000000ff00000000000000"};
const Mask ipv6_mask = {"0fffffff 000000ff"
			"00000000000000000000000000000000"
			"00000000000000000000000000000000",
			"000000000000ffff", "00000000ff00000000000000"};

/* Flips every bit of @part: the ICRC changes unless the bit is in @mask. */
void expect_covers_all_but(Frame &frame, Bytes &part, const char *mask_hex)
{
	Bytes mask = from_hex(mask_hex);
	std::string before = icrc_of(frame);

	ASSERT_EQ(mask.size(), part.size());
	for (size_t bit = 0; bit < part.size() * 8; bit++) {
		auto flip = static_cast<uint8_t>(0x80 >> bit % 8);
		bool variant = mask[bit / 8] & flip;

		part[bit / 8] ^= flip;
		EXPECT_EQ(icrc_of(frame) == before, variant)
			<< "byte " << bit / 8 << ", bit " << bit % 8;
		part[bit / 8] ^= flip;
	}
}

TEST(Icrc, CoversAllBitsOfIpv4ButTheVariantOnes)
{
	Frame frame = cut(false, uc_send_ipv4);

	expect_covers_all_but(frame, frame.ip, ipv4_mask.ip);
	expect_covers_all_but(frame, frame.udp, ipv4_mask.udp);
	expect_covers_all_but(frame, frame.bth, ipv4_mask.bth);
}

TEST(Icrc, CoversAllBitsOfIpv6ButTheVariantOnes)
{
	Frame frame = cut(true, uc_send_ipv6);

	expect_covers_all_but(frame, frame.ip, ipv6_mask.ip);
	expect_covers_all_but(frame, frame.udp, ipv6_mask.udp);
	expect_covers_all_but(frame, frame.bth, ipv6_mask.bth);
}

TEST(Icrc, LeavesTheHeadersAlone)
{
	const Frame before = cut(true, uc_send_ipv6);
	Frame frame = before;

	head(frame);
	EXPECT_EQ(frame.ip, before.ip);
	EXPECT_EQ(frame.udp, before.udp);
	EXPECT_EQ(frame.bth, before.bth);
}

} // namespace
