// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ipfrag_test.cpp - IP packets split into fragments: a reader of its own checks each fragment, and
 * puts the packet together again. Packets are made at random, and random bytes are split, too.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "random.h"

extern "C" {
#include "netif/ipfrag.h"
}

namespace {

using Bytes = std::vector<uint8_t>;

void put16(Bytes &to, size_t at, uint32_t value)
{
	to[at] = uint8_t(value >> 8);
	to[at + 1] = uint8_t(value);
}

uint32_t get16(const Bytes &from, size_t at)
{
	return uint32_t(from[at] << 8 | from[at + 1]);
}

uint32_t get32(const Bytes &from, size_t at)
{
	return get16(from, at) << 16 | get16(from, at + 2);
}

uint32_t sum_of(const Bytes &head, size_t length)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < length; i += 2)
		sum += get16(head, i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

void set_sum(Bytes &packet, size_t header)
{
	put16(packet, 10, 0);
	put16(packet, 10, ~sum_of(packet, header) & 0xffff);
}

void append_data(Bytes &packet, size_t length)
{
	for (size_t i = 0; i < length; i++)
		packet.push_back(uint8_t(i * 7 + i / 253 + 1));
}

Bytes ip4(size_t data, const Bytes &options = {}, uint32_t id = 0x1234,
	  uint32_t fragment = 0)
{
	size_t header = 20 + options.size();
	Bytes packet(20);

	packet[0] = uint8_t(0x40 | header / 4);
	packet[8] = 64;
	packet[9] = 17;
	put16(packet, 2, uint32_t(header + data));
	put16(packet, 4, id);
	put16(packet, 6, fragment);
	put16(packet, 12, 0x0a09);
	put16(packet, 16, 0x0aff);
	packet.insert(packet.end(), options.begin(), options.end());
	set_sum(packet, header);
	append_data(packet, data);
	return packet;
}

/* @chain: headers behind the first one, with the type of each. */
Bytes ip6(size_t data, const std::vector<std::pair<uint8_t, Bytes>> &chain = {})
{
	Bytes packet(40);
	size_t next = 6;

	packet[0] = 0x60;
	packet[7] = 64;
	packet[8] = 0xfd;
	packet[24] = 0xff;
	for (const auto &[type, header] : chain) {
		packet[next] = type;
		next = packet.size();
		packet.insert(packet.end(), header.begin(), header.end());
	}
	packet[next] = 17;
	append_data(packet, data);
	put16(packet, 4, uint32_t(packet.size() - 40));
	return packet;
}

/* A header of IPv6 with options that are padding. */
Bytes padded(size_t length)
{
	Bytes header(length, 0);

	header[1] = uint8_t(length / 8 - 1);
	return header;
}

int begin(pavo_ipfrag &split, const Bytes &packet, uint32_t room,
	  uint32_t id = 0xabcd9876)
{
	/* Of its own size, so that a sanitizer sees a read beyond its end. */
	Bytes head(packet.begin(),
		   packet.begin() + std::ptrdiff_t(std::min<size_t>(
					    packet.size(), PAVO_IPFRAG_LOOK)));

	head.shrink_to_fit();
	return pavo_ipfrag_begin(&split, head.data(), uint32_t(packet.size()),
				 room, id);
}

std::vector<Bytes> fragments_of(const Bytes &packet, uint32_t room,
				uint32_t id = 0xabcd9876)
{
	pavo_ipfrag split;
	pavo_ipfrag_piece piece;
	std::vector<Bytes> all;

	if (begin(split, packet, room, id))
		return all;
	while (!pavo_ipfrag_next(&split, &piece)) {
		Bytes one(piece.head, piece.head + piece.head_len);

		EXPECT_LE(piece.from + piece.len, packet.size());
		one.insert(one.end(), packet.begin() + piece.from,
			   packet.begin() + piece.from + piece.len);
		EXPECT_LE(one.size(), room);
		all.push_back(one);
		if (all.size() > packet.size())
			break;
	}
	return all;
}

/* A fragment as a receiver reads it. */
struct Read {
	uint32_t id, offset;
	bool more;
	Bytes head, data;
	uint8_t type;
};

Read read4(const Bytes &one)
{
	size_t header = (one[0] & 15) * 4u;

	EXPECT_EQ(one[0] >> 4, 4);
	EXPECT_EQ(get16(one, 2), one.size());
	EXPECT_EQ(sum_of(one, header), 0xffffu);
	EXPECT_FALSE(one[6] & 0xc0);
	return {get16(one, 4),
		(get16(one, 6) & 0x1fff) * 8,
		(one[6] & 0x20) != 0,
		Bytes(one.begin(), one.begin() + std::ptrdiff_t(header)),
		Bytes(one.begin() + std::ptrdiff_t(header), one.end()),
		one[9]};
}

/* Where the fragment header is, by the order of headers of RFC 8200. */
Read read6(const Bytes &one)
{
	size_t at = 40;
	uint8_t type = one[6];

	EXPECT_EQ(get16(one, 4) + 40, one.size());
	while (type == 0 || type == 43 || type == 60) {
		type = one[at];
		at += (one[at + 1] + 1u) * 8;
	}
	EXPECT_EQ(type, 44);
	return {get32(one, at + 4),
		get16(one, at + 2) & 0xfff8,
		(one[at + 3] & 1) != 0,
		Bytes(one.begin(), one.begin() + std::ptrdiff_t(at)),
		Bytes(one.begin() + std::ptrdiff_t(at) + 8, one.end()),
		one[at]};
}

struct Whole {
	Bytes data, head;
	uint32_t id, from;
	bool more;
	uint8_t type;
};

/* Puts fragments together that come in any order; checks that none overlap or lack. */
Whole reassemble(std::vector<Bytes> all, Random &random)
{
	std::map<uint32_t, Read> parts;
	Whole whole{};

	for (size_t i = all.size(); i > 1; i--)
		std::swap(all[i - 1], all[random.below(uint32_t(i))]);
	for (const Bytes &one : all) {
		Read part = one[0] >> 4 == 4 ? read4(one) : read6(one);
		EXPECT_TRUE(parts.emplace(part.offset, part).second);
	}
	whole.id = parts.begin()->second.id;
	whole.from = parts.begin()->first;
	whole.head = parts.begin()->second.head;
	whole.type = parts.begin()->second.type;
	for (const auto &[offset, part] : parts) {
		bool last = offset == parts.rbegin()->first;

		EXPECT_EQ(offset, whole.from + whole.data.size());
		EXPECT_EQ(part.id, whole.id);
		EXPECT_TRUE(last || part.more);
		EXPECT_TRUE(last || part.data.size() % 8 == 0);
		whole.more = part.more;
		whole.data.insert(whole.data.end(), part.data.begin(),
				  part.data.end());
	}
	return whole;
}

Bytes tail(const Bytes &packet, size_t from)
{
	return {packet.begin() + std::ptrdiff_t(from), packet.end()};
}

TEST(Fragments, OfIp4GiveThePacketBack)
{
	Random random;

	for (int i = 0; i < 600; i++) {
		size_t data = 1 + random.below(random.coin() ? 65000 : 3000);
		uint32_t room = 28 + random.below(2000);
		Bytes packet = ip4(data);
		Whole whole = reassemble(fragments_of(packet, room), random);

		EXPECT_EQ(whole.data, tail(packet, 20));
		EXPECT_EQ(whole.id, 0x1234u);
		EXPECT_EQ(whole.from, 0u);
		EXPECT_FALSE(whole.more);
	}
}

TEST(Fragments, FillTheirRoom)
{
	/* 1400 - 20 is 172 units of 8 bytes, and 4 bytes left. */
	std::vector<Bytes> all = fragments_of(ip4(60000), 1400);

	ASSERT_EQ(all.size(), (60000u + 1375) / 1376);
	EXPECT_EQ(all.front().size(), 1396u);
	/* The last one may use the 4 bytes. */
	EXPECT_EQ(fragments_of(ip4(1380), 1400).size(), 1u);
	EXPECT_EQ(fragments_of(ip4(1381), 1400).size(), 2u);
}

TEST(Fragments, HaveAFreshIdentificationWhereDontFragmentLeftNone)
{
	Random random;

	for (uint32_t old : {0u, 0x77u}) {
		Bytes packet = ip4(5000, {}, old, 0x4000);
		Whole whole =
			reassemble(fragments_of(packet, 600, 0x15678), random);

		EXPECT_EQ(whole.id, 0x5678u);
		EXPECT_EQ(whole.data, tail(packet, 20));
	}
}

TEST(Fragments, OfAFragmentContinueItsOffset)
{
	Random random;
	Bytes middle = ip4(4000, {}, 9, 0x2000 | 100);
	Whole whole = reassemble(fragments_of(middle, 600), random);

	EXPECT_EQ(whole.from, 800u);
	EXPECT_EQ(whole.id, 9u);
	EXPECT_TRUE(whole.more);
	EXPECT_EQ(whole.data, tail(middle, 20));

	/* Its identification is that of the others, with "don't fragment", too. */
	Bytes last = ip4(4001, {}, 9, 0x4000 | 100);
	whole = reassemble(fragments_of(last, 600), random);
	EXPECT_EQ(whole.id, 9u);
	EXPECT_FALSE(whole.more);
	EXPECT_EQ(whole.data, tail(last, 20));
}

TEST(Fragments, CarryTheOptionsWithTheCopiedBit)
{
	/* Record route, no operation, security (copied), timestamp, end. */
	const Bytes options = {7,    7, 4, 0, 0, 0, 0, 1, 0x82, 6, 1, 2, 3, 4,
			       0x44, 8, 5, 0, 0, 0, 0, 0, 0x94, 4, 0, 0, 0, 0};
	Bytes packet = ip4(3000, options);
	std::vector<Bytes> all = fragments_of(packet, 600);
	Random random;

	ASSERT_GT(all.size(), 4u);
	EXPECT_EQ(tail(read4(all[0]).head, 20), options);
	const Bytes copied = {0x82, 6, 1, 2, 3, 4, 0x94, 4, 0, 0, 0, 0};
	for (size_t i = 1; i < all.size(); i++)
		EXPECT_EQ(tail(read4(all[i]).head, 20), copied);
	EXPECT_EQ(reassemble(all, random).data, tail(packet, 48));
}

TEST(Fragments, OfIp6GiveThePacketBack)
{
	Random random;
	const std::vector<std::vector<std::pair<uint8_t, Bytes>>> chains = {
		{},
		{{0, padded(8)}},
		{{0, padded(16)}, {43, padded(24)}},
		{{0, padded(8)}, {60, padded(16)}, {43, padded(8)}},
	};

	for (int i = 0; i < 500; i++) {
		const auto &chain = chains[random.below(4)];
		Bytes packet = ip6(1 + random.below(60000), chain);
		size_t header = 40;

		for (const auto &[type, bytes] : chain)
			header += bytes.size();
		uint32_t room = uint32_t(header) + 16 + random.below(1400);
		Whole whole = reassemble(fragments_of(packet, room), random);

		EXPECT_EQ(whole.head.size(), header);
		EXPECT_EQ(whole.data, tail(packet, header));
		EXPECT_EQ(whole.id, 0xabcd9876u);
		EXPECT_EQ(whole.type, 17u);
	}
}

TEST(Fragments, OfIp6LeaveOptionsOfTheDestinationToTheData)
{
	Random random;
	Bytes packet = ip6(3000, {{0, padded(8)}, {60, padded(16)}});
	Whole whole{};

	for (const Bytes &one : fragments_of(packet, 600))
		EXPECT_EQ(one[40], 44u);
	EXPECT_EQ(fragments_of(packet, 600)[0][48], 60u);
	packet = ip6(3000, {{44, Bytes(8, 0)}});
	packet[43] = 0x41; /* offset 64, more */
	packet[47] = 5;
	packet.resize(48 + 3000);
	whole = reassemble(fragments_of(packet, 600), random);
	EXPECT_EQ(whole.from, 64u);
	EXPECT_TRUE(whole.more);
	EXPECT_EQ(whole.id, 5u);
	EXPECT_EQ(whole.data, tail(packet, 48));
}

/* So Linux makes them: a second header of fragments would not be taken. */
TEST(Fragments, OfIp6FragmentsBehindOptionsHaveOneHeader)
{
	Random random;
	const std::vector<std::vector<std::pair<uint8_t, Bytes>>> before = {
		{{60, padded(8)}},
		{{0, padded(8)}, {60, padded(24)}},
		{{0, padded(8)}, {43, padded(8)}, {60, padded(16)}},
	};

	for (auto chain : before) {
		chain.emplace_back(44, Bytes(8, 0));
		Bytes packet = ip6(3000, chain);
		size_t header = packet.size() - 3000;

		packet[header - 5] = 0x41; /* offset 64, more */
		packet[header - 1] = 5;
		Whole whole = reassemble(fragments_of(packet, 600), random);

		EXPECT_EQ(whole.head.size(), header - 8);
		EXPECT_EQ(whole.type, 17u);
		EXPECT_EQ(whole.from, 64u);
		EXPECT_TRUE(whole.more);
		EXPECT_EQ(whole.id, 5u);
		EXPECT_EQ(whole.data, tail(packet, header));
	}
}

TEST(Fragments, LeavePaddingOfTheLinkOut)
{
	Random random;
	Bytes packet = ip4(100);

	packet.resize(200, 0xee);
	EXPECT_EQ(reassemble(fragments_of(packet, 60), random).data.size(),
		  100u);
}

TEST(Fragments, AreRefusedOfWhatIsNoPacket)
{
	pavo_ipfrag split;
	Bytes bad;

	EXPECT_EQ(begin(split, {}, 600), -EINVAL);
	EXPECT_EQ(begin(split, Bytes(100, 0x55), 600), -EINVAL);
	EXPECT_EQ(begin(split, {0x45}, 600), -EINVAL);
	EXPECT_EQ(begin(split, {0x60}, 600), -EINVAL);
	bad = ip4(1000);
	bad[0] = 0x44;
	EXPECT_EQ(begin(split, bad, 600), -EINVAL);
	bad = ip4(1000);
	put16(bad, 2, 1021);
	EXPECT_EQ(begin(split, bad, 600), -EINVAL);
	put16(bad, 2, 19);
	EXPECT_EQ(begin(split, bad, 600), -EINVAL);
	/* an option beyond the header, and one without a length */
	EXPECT_EQ(begin(split, ip4(1000, {7, 5, 0, 0}), 600), -EINVAL);
	EXPECT_EQ(begin(split, ip4(1000, {1, 1, 1, 7}), 600), -EINVAL);
	/* a part that is not the last, with a length that no other can follow */
	EXPECT_EQ(begin(split, ip4(1001, {}, 1, 0x2000), 600), -EINVAL);
	/* beyond the end of any packet */
	EXPECT_EQ(begin(split, ip4(1000, {}, 1, 0x1fff), 600), -EINVAL);
	bad = ip6(1000);
	put16(bad, 4, 0);
	EXPECT_EQ(begin(split, bad, 600), -EINVAL);
	bad = ip6(4, {{0, padded(8)}});
	bad[41] = 200;
	EXPECT_EQ(begin(split, bad, 600), -EINVAL);
	EXPECT_EQ(begin(split, ip6(1000, {{0, padded(256)}}), 600), -EINVAL);
}

TEST(Fragments, NeedRoomForData)
{
	pavo_ipfrag split;

	EXPECT_EQ(begin(split, ip4(1000), 27), -EMSGSIZE);
	EXPECT_EQ(begin(split, ip4(1000), 28), 0);
	EXPECT_EQ(begin(split, ip6(1000), 55), -EMSGSIZE);
	EXPECT_EQ(begin(split, ip6(1000), 56), 0);
}

/* Fragments of any bytes are valid, and end; sanitizers see the rest. */
TEST(Fragments, OfRandomBytesAreValid)
{
	Random random;
	int split = 0;

	for (int i = 0; i < 30000; i++) {
		Bytes packet = random.coin() ?
				       ip4(8 * random.below(60)) :
				       ip6(8 * random.below(60),
					   {{0, padded(8)}, {44, padded(8)}});
		uint32_t room = random.below(300);

		for (uint32_t n = random.below(6); n; n--)
			packet[random.below(uint32_t(packet.size()))] =
				uint8_t(random.bits());
		packet.resize(packet.size() - random.below(8));
		if (packet[0] >> 4 == 6 && random.coin())
			packet[6] = uint8_t(random.coin() ? 43 : 60);
		std::vector<Bytes> all = fragments_of(packet, room);
		split += !all.empty();
		for (const Bytes &one : all)
			one[0] >> 4 == 4 ? read4(one) : read6(one);
	}
	EXPECT_GT(split, 3000);
}

} // namespace
