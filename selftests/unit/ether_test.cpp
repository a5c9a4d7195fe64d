// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ether_test.cpp - hardware addresses of interfaces over windows, and which packets of a peer are
 * taken: each check has packets just inside and just outside of it.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "random.h"

extern "C" {
#include "netif/ether.h"
}

namespace {

using Packet = std::vector<uint8_t>;

const uint8_t peer[PAVO_ETHER_ADDRESS] = {2, 0, 9, 0, 3, 0x85};

/* @length: behind the Ethernet header */
Packet packet(uint16_t type, size_t length)
{
	Packet made(PAVO_ETHER_HEADER + length);

	std::copy_n(peer, sizeof(peer), made.begin() + PAVO_ETHER_SOURCE);
	made[PAVO_ETHER_TYPE] = uint8_t(type >> 8);
	made[PAVO_ETHER_TYPE + 1] = uint8_t(type);
	return made;
}

Packet ip4_packet(size_t length, uint8_t first, size_t total)
{
	Packet made = packet(0x0800, length);

	made[14] = first;
	made[16] = uint8_t(total >> 8);
	made[17] = uint8_t(total);
	return made;
}

pavo_ether_result judge(const Packet &packet)
{
	/* Of its own size, so that a sanitizer sees a read beyond its end. */
	Packet head(packet.begin(),
		    packet.begin() + std::ptrdiff_t(std::min<size_t>(
					     packet.size(), PAVO_ETHER_LOOK)));

	head.shrink_to_fit();
	return pavo_ether_check(head.data(), uint32_t(packet.size()), peer);
}

TEST(Ether, AddressesNameNodeAndWindow)
{
	Random random;
	uint8_t address[PAVO_ETHER_ADDRESS];
	uint32_t node, window;

	for (int i = 0; i < 1000; i++) {
		uint16_t in_node = uint16_t(random.bits());
		uint32_t in_window = random.below(1 << 24);

		pavo_ether_name(address, in_node, in_window);
		EXPECT_EQ(address[0], 2);
		EXPECT_EQ(pavo_ether_parse(address, &node, &window), 0);
		EXPECT_EQ(node, in_node);
		EXPECT_EQ(window, in_window);
		address[0] = uint8_t(random.bits()) & ~2u;
		EXPECT_EQ(pavo_ether_parse(address, &node, &window), -EINVAL);
	}
}

TEST(Ether, PacketsHaveAHeaderFromTheirSender)
{
	Packet short_one = packet(0x1234, 0);

	EXPECT_EQ(judge(short_one), PAVO_ETHER_OK);
	short_one.pop_back();
	EXPECT_EQ(judge(short_one), PAVO_ETHER_SHORT);
	EXPECT_EQ(judge({}), PAVO_ETHER_SHORT);
	for (size_t i = 6; i < 12; i++) {
		Packet spoofed = packet(0x1234, 10);

		spoofed[i] ^= 1;
		EXPECT_EQ(judge(spoofed), PAVO_ETHER_SPOOFED);
	}
}

TEST(Ether, Ip4HasWhatItSays)
{
	EXPECT_EQ(judge(ip4_packet(20, 0x45, 20)), PAVO_ETHER_OK);
	EXPECT_EQ(judge(ip4_packet(19, 0x45, 19)), PAVO_ETHER_TRUNCATED);
	EXPECT_EQ(judge(ip4_packet(20, 0x45, 21)), PAVO_ETHER_TRUNCATED);
	EXPECT_EQ(judge(ip4_packet(30, 0x45, 19)), PAVO_ETHER_TRUNCATED);
	EXPECT_EQ(judge(ip4_packet(46, 0x45, 20)), PAVO_ETHER_OK);
	EXPECT_EQ(judge(ip4_packet(20, 0x46, 20)), PAVO_ETHER_TRUNCATED);
	EXPECT_EQ(judge(ip4_packet(24, 0x46, 24)), PAVO_ETHER_OK);
	EXPECT_EQ(judge(ip4_packet(24, 0x44, 24)), PAVO_ETHER_TRUNCATED);
	EXPECT_EQ(judge(ip4_packet(24, 0x65, 24)), PAVO_ETHER_TRUNCATED);
}

TEST(Ether, Ip6AndArpHaveWhatTheySay)
{
	Packet six = packet(0x86dd, 40);

	EXPECT_EQ(judge(six), PAVO_ETHER_TRUNCATED);
	six[14] = 0x60;
	EXPECT_EQ(judge(six), PAVO_ETHER_OK);
	six[19] = 1;
	EXPECT_EQ(judge(six), PAVO_ETHER_TRUNCATED);
	six.push_back(0);
	EXPECT_EQ(judge(six), PAVO_ETHER_OK);
	six.resize(14 + 39);
	six[19] = 0;
	EXPECT_EQ(judge(six), PAVO_ETHER_TRUNCATED);
	EXPECT_EQ(judge(packet(0x0806, 27)), PAVO_ETHER_TRUNCATED);
	EXPECT_EQ(judge(packet(0x0806, 28)), PAVO_ETHER_OK);
}

} // namespace
