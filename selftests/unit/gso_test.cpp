// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* gso_test.cpp - the packets of a GSO super-packet, and the backoff of same-host batching. */
#include <gtest/gtest.h>

#include "wire_env.h"

extern "C" {
#include "net/gso_backoff.h"
}

namespace {

/* Headers of all segments of a super-packet, parsed as a receiver does; 4 bytes of payload each. */
std::vector<pavo_pkt> segments_of(const pavo_pkt &gso)
{
	std::vector<pavo_pkt> packets;

	for (uint32_t i = 0; i < gso.npkts; i++) {
		Bytes bytes(PAVO_MAX_HDR_LEN);

		bytes.resize(pavo_gso_segment_head(bytes.data(), &gso, i));
		/* payload, pad and ICRC */
		bytes.resize(bytes.size() + 4 + PAVO_ICRC_LEN);
		Parsed parsed = parse(bytes);

		EXPECT_EQ(parsed.status, PAVO_PARSE_OK) << "packet " << i;
		packets.push_back(parsed.pkt);
	}
	return packets;
}

std::vector<int> opcodes_of(uint8_t opcode, uint32_t npkts)
{
	Random random;
	pavo_pkt gso = random_packet(random, opcode);
	std::vector<int> opcodes;

	gso.npkts = npkts;
	for (const pavo_pkt &packet : segments_of(gso))
		opcodes.push_back(packet.opcode);
	return opcodes;
}

using Opcodes = std::vector<int>;

TEST(Gso, OpcodesAreThoseOfTheMessageInPackets)
{
	const struct {
		uint8_t gso;
		Opcodes three;
		Opcodes two;
	} cases[] = {
		{PAVO_OP_SEND_FIRST, {0, 1, 1}, {0, 1}},
		{PAVO_OP_SEND_MIDDLE, {1, 1, 1}, {1, 1}},
		{PAVO_OP_SEND_LAST, {1, 1, 2}, {1, 2}},
		{PAVO_OP_SEND_LAST_IMM, {1, 1, 3}, {1, 3}},
		{PAVO_OP_SEND_LAST_INV, {1, 1, 0x16}, {1, 0x16}},
		{PAVO_OP_SEND_ONLY, {0, 1, 2}, {0, 2}},
		{PAVO_OP_SEND_ONLY_IMM, {0, 1, 3}, {0, 3}},
		{PAVO_OP_SEND_ONLY_INV, {0, 1, 0x16}, {0, 0x16}},
		{PAVO_OP_WRITE_FIRST, {6, 7, 7}, {6, 7}},
		{PAVO_OP_WRITE_MIDDLE, {7, 7, 7}, {7, 7}},
		{PAVO_OP_WRITE_LAST, {7, 7, 8}, {7, 8}},
		{PAVO_OP_WRITE_LAST_IMM, {7, 7, 9}, {7, 9}},
		{PAVO_OP_WRITE_ONLY, {6, 7, 8}, {6, 8}},
		{PAVO_OP_WRITE_ONLY_IMM, {6, 7, 9}, {6, 9}},
		{PAVO_OP_READ_RESP_FIRST, {0xd, 0xe, 0xe}, {0xd, 0xe}},
		{PAVO_OP_READ_RESP_MIDDLE, {0xe, 0xe, 0xe}, {0xe, 0xe}},
		{PAVO_OP_READ_RESP_LAST, {0xe, 0xe, 0xf}, {0xe, 0xf}},
		{PAVO_OP_READ_RESP_ONLY, {0xd, 0xe, 0xf}, {0xd, 0xf}},
	};

	for (const auto &c : cases) {
		EXPECT_TRUE(pavo_gso_is_allowed(c.gso));
		EXPECT_EQ(opcodes_of(c.gso, 3), c.three) << int(c.gso);
		EXPECT_EQ(opcodes_of(c.gso, 2), c.two) << int(c.gso);
	}
}

TEST(Gso, KeepsItsService)
{
	EXPECT_EQ(opcodes_of(pavo_opcode_make(PAVO_SVC_XRC, PAVO_OP_WRITE_ONLY),
			     3),
		  (Opcodes{0xa6, 0xa7, 0xa8}));
	EXPECT_EQ(opcodes_of(pavo_opcode_make(PAVO_SVC_UC, PAVO_OP_SEND_ONLY),
			     3),
		  (Opcodes{0x20, 0x21, 0x22}));
}

/* One packet is itself, whatever it is. */
TEST(Gso, OfOnePacketIsThatPacket)
{
	Random random;

	for (uint8_t opcode : known_opcodes()) {
		pavo_pkt pkt = random_packet(random, opcode);
		Bytes built(PAVO_MAX_HDR_LEN), first(PAVO_MAX_HDR_LEN);

		pkt.npkts = 1;
		pavo_build(built.data(), &pkt);
		pavo_gso_segment_head(first.data(), &pkt, 0);
		EXPECT_EQ(built, first) << int(opcode);
	}
}

TEST(Gso, OnlyMessagesOfManyPacketsCanBeOne)
{
	for (uint8_t opcode :
	     {PAVO_OP_READ_REQ, PAVO_OP_ACK, PAVO_OP_ATOMIC_ACK,
	      PAVO_OP_CMP_SWAP, PAVO_OP_FETCH_ADD, PAVO_OP_ATOMIC_WRITE,
	      PAVO_OP_FLUSH})
		EXPECT_FALSE(pavo_gso_is_allowed(opcode)) << int(opcode);
	for (int opcode = 0xc0; opcode < 0x100; opcode++)
		EXPECT_FALSE(pavo_gso_is_allowed(uint8_t(opcode))) << opcode;
}

/* PSNs are consecutive, also where they wrap; AckReq is in the last packet only. */
TEST(Gso, PutsEachFieldWhereThePacketsHaveIt)
{
	Random random;
	pavo_pkt gso = random_packet(random, PAVO_OP_WRITE_ONLY_IMM);

	gso.npkts = 4;
	gso.psn = 0xfffffe;
	gso.ack_req = true;
	gso.solicited = true;
	gso.pad = 3;
	std::vector<pavo_pkt> p = segments_of(gso);

	for (uint32_t i = 0; i < 4; i++) {
		const bool last = i == 3;

		EXPECT_EQ(p[i].psn, (0xfffffe + i) & PAVO_PSN_MASK);
		EXPECT_EQ(p[i].ack_req, last);
		EXPECT_EQ(p[i].solicited, last);
		EXPECT_EQ(p[i].pad, last ? 3 : 0);
		EXPECT_EQ(p[i].dqpn, gso.dqpn);
		EXPECT_EQ(p[i].npkts, 1u);
	}
	EXPECT_EQ(p[0].va, gso.va);
	EXPECT_EQ(p[0].rkey, gso.rkey);
	EXPECT_EQ(p[0].dma_len, gso.dma_len);
	EXPECT_EQ(p[3].imm, gso.imm);
}

TEST(Gso, AnswersHaveTheAethInFirstAndLast)
{
	Random random;
	pavo_pkt gso = random_packet(random, PAVO_OP_READ_RESP_ONLY);

	gso.npkts = 3;
	std::vector<pavo_pkt> p = segments_of(gso);
	for (int i : {0, 2}) {
		EXPECT_EQ(p[size_t(i)].msn, gso.msn);
		EXPECT_EQ(p[size_t(i)].syndrome, gso.syndrome);
	}
}

TEST(Gso, CountsTheBytesOfItsPackets)
{
	Random random;
	constexpr uint32_t unit = 256;

	for (uint8_t opcode : known_opcodes())
		for (uint32_t npkts : {1u, 2u, 3u, 30u}) {
			if (npkts > 1 && !pavo_gso_is_allowed(opcode))
				continue;
			pavo_pkt gso = random_packet(random, opcode);
			uint32_t bytes = 0;
			const uint32_t payload = npkts * unit - gso.pad;

			gso.npkts = npkts;
			for (uint32_t i = 0; i < npkts; i++) {
				Bytes head(PAVO_MAX_HDR_LEN);

				bytes += pavo_gso_segment_head(head.data(),
							       &gso, i) +
					 unit + PAVO_ICRC_LEN;
			}
			EXPECT_EQ(pavo_gso_count_bytes(&gso, payload), bytes)
				<< int(opcode) << ", " << npkts;
		}
}

/* Packets of a message of @npkts packets, parsed as they arrive; the last one is one byte long. */
std::vector<pavo_pkt> arrived(uint8_t opcode, uint32_t npkts)
{
	Random random;
	pavo_pkt message = random_packet(random, opcode);

	message.npkts = npkts;
	message.pad = 3;
	message.ack_req = true;
	std::vector<pavo_pkt> packets = segments_of(message);

	for (pavo_pkt &packet : packets)
		packet.payload = packet.pad ? 1 : 4;
	return packets;
}

/* How many of the packets join the first one, and what becomes of that. */
struct Joined {
	uint32_t count;
	pavo_pkt gso;
};

Joined joined(const std::vector<pavo_pkt> &packets)
{
	Joined result = {0, packets[0]};

	for (size_t i = 1; i < packets.size(); i++)
		result.count += !pavo_gso_append(&result.gso, 4, &packets[i]);
	return result;
}

TEST(GsoAppend, PacketsOfAMessageBecomeItsSuperPacket)
{
	for (uint8_t service : {PAVO_SVC_RC, PAVO_SVC_XRC})
		for (uint8_t op :
		     {PAVO_OP_SEND_ONLY, PAVO_OP_WRITE_ONLY, PAVO_OP_SEND_LAST,
		      PAVO_OP_WRITE_LAST, PAVO_OP_READ_RESP_ONLY}) {
			const uint8_t opcode = pavo_opcode_make(service, op);

			if (!pavo_opcode_get_info(opcode))
				continue;
			const auto packets = arrived(opcode, 5);
			const Joined all = joined(packets);

			EXPECT_EQ(all.count, 4u) << int(opcode);
			EXPECT_EQ(all.gso.opcode, opcode);
			EXPECT_EQ(all.gso.npkts, 5u);
			EXPECT_EQ(all.gso.payload, 17u);
			EXPECT_EQ(all.gso.pad, 3u);
			EXPECT_EQ(all.gso.psn, packets[0].psn);
			EXPECT_TRUE(all.gso.ack_req);
			EXPECT_FALSE(pavo_gso_may_grow(&all.gso));
		}
}

/* The header of the last packet is longer than the space that the super-packet has for it. */
TEST(GsoAppend, ALongerHeaderStaysAlone)
{
	for (uint8_t opcode :
	     {PAVO_OP_SEND_ONLY_IMM, PAVO_OP_SEND_ONLY_INV,
	      PAVO_OP_WRITE_ONLY_IMM, PAVO_OP_READ_RESP_LAST}) {
		const Joined most = joined(arrived(opcode, 5));

		EXPECT_EQ(most.count, 3u) << int(opcode);
		EXPECT_TRUE(pavo_gso_may_grow(&most.gso));
	}
}

TEST(GsoAppend, OnlyPacketsOfTheReliableServicesAreMerged)
{
	EXPECT_EQ(joined(arrived(pavo_opcode_make(PAVO_SVC_UC,
						  PAVO_OP_WRITE_ONLY),
				 5))
			  .count,
		  0u);
}

/* Each of these fields alone keeps two packets apart. */
TEST(GsoAppend, WhatDoesNotFollowStaysAlone)
{
	void (*const changes[])(pavo_pkt &) = {
		[](pavo_pkt &p) { p.psn = pavo_psn_add(p.psn, 1); },
		[](pavo_pkt &p) { p.psn = pavo_psn_add(p.psn, -1); },
		[](pavo_pkt &p) { p.dqpn ^= 1; },
		[](pavo_pkt &p) { p.pkey ^= 1; },
		[](pavo_pkt &p) { p.fecn = !p.fecn; },
		[](pavo_pkt &p) { p.becn = !p.becn; },
		[](pavo_pkt &p) { p.wants_sack = !p.wants_sack; },
		[](pavo_pkt &p) { p.attempt ^= 1; },
		[](pavo_pkt &p) { p.payload = 5; },
		[](pavo_pkt &p) { p.payload = 3; },
		[](pavo_pkt &p) { p.payload = 0; },
		[](pavo_pkt &p) { p.opcode = PAVO_OP_SEND_MIDDLE; },
		[](pavo_pkt &p) { p.opcode = PAVO_OP_WRITE_FIRST; },
		[](pavo_pkt &p) { p.srqn ^= 1; },
	};
	const uint8_t opcode =
		pavo_opcode_make(PAVO_SVC_XRC, PAVO_OP_WRITE_ONLY);

	for (size_t i = 0; i < std::size(changes); i++) {
		const auto packets = arrived(opcode, 3);
		pavo_pkt gso = packets[0], next = packets[1];

		EXPECT_EQ(pavo_gso_append(&gso, 4, &next), 0);
		gso = packets[0];
		changes[i](next);
		next.info = pavo_opcode_get_info(next.opcode);
		EXPECT_EQ(pavo_gso_append(&gso, 4, &next), -EINVAL) << i;
		EXPECT_EQ(gso.npkts, 1u);
	}
}

TEST(GsoAppend, NothingFollowsAPacketWithAckReq)
{
	const auto packets = arrived(PAVO_OP_WRITE_ONLY, 4);
	pavo_pkt gso = packets[0], next = packets[1];

	next.ack_req = true;
	EXPECT_EQ(pavo_gso_append(&gso, 4, &next), 0);
	EXPECT_TRUE(gso.ack_req);
	EXPECT_EQ(pavo_gso_append(&gso, 4, &packets[2]), -EINVAL);
}

/* The first packets of a super-packet are duplicates. */
TEST(GsoSkip, TheRestIsASuperPacketOfTheOtherPackets)
{
	for (uint8_t opcode :
	     {PAVO_OP_SEND_ONLY, PAVO_OP_SEND_FIRST, PAVO_OP_WRITE_ONLY,
	      PAVO_OP_WRITE_MIDDLE, PAVO_OP_WRITE_LAST, PAVO_OP_READ_RESP_ONLY})
		for (uint32_t n = 1; n < 5; n++) {
			Random random;
			pavo_pkt gso = random_packet(random, opcode);

			gso.info = pavo_opcode_get_info(opcode);
			gso.npkts = 5;
			gso.payload = 17;
			const auto packets = segments_of(gso);

			pavo_gso_skip(&gso, 4, n);
			EXPECT_EQ(gso.payload, 17 - 4 * n);
			const auto rest = segments_of(gso);

			EXPECT_EQ(rest.size(), 5 - n);
			for (uint32_t i = 0; i < rest.size(); i++) {
				EXPECT_EQ(rest[i].opcode, packets[n + i].opcode)
					<< int(opcode) << ", " << n;
				EXPECT_EQ(rest[i].psn, packets[n + i].psn);
			}
		}
}

TEST(GsoBackoff, AllPacketsToASameHostPeerMayHaveADeferredIcrc)
{
	const pavo_gso_backoff backoff = {};

	EXPECT_TRUE(pavo_gso_backoff_is_over(&backoff, true));
	EXPECT_FALSE(pavo_gso_backoff_is_over(&backoff, false));
}

/* Number of packets of the peer until all packets to it may have a deferred ICRC. */
uint32_t packets_until_all(pavo_gso_backoff &backoff)
{
	uint32_t packets = 0;

	while (!pavo_gso_backoff_is_over(&backoff, true)) {
		pavo_gso_backoff_seen(&backoff);
		packets++;
	}
	return packets;
}

TEST(GsoBackoff, TakesLongerAfterEachLossUpToABound)
{
	pavo_gso_backoff backoff = {};
	uint32_t before = 0;

	for (uint32_t i = 0; i < PAVO_GSO_BACKOFF_LOSSES + 4; i++) {
		pavo_gso_backoff_lost(&backoff, true);
		EXPECT_FALSE(pavo_gso_backoff_is_over(&backoff, true));
		const uint32_t packets = packets_until_all(backoff);

		if (i <= PAVO_GSO_BACKOFF_LOSSES)
			EXPECT_GT(packets, before);
		else
			EXPECT_EQ(packets, before);
		before = packets;
	}
	EXPECT_EQ(before, PAVO_GSO_BACKOFF_PACKETS << PAVO_GSO_BACKOFF_LOSSES);
}

/* Batching did not depend on such a peer, so there is no backoff. */
TEST(GsoBackoff, ALossToARemotePeerDoesNotDelayASameHostPeer)
{
	pavo_gso_backoff backoff = {};

	for (int i = 0; i < 100; i++)
		pavo_gso_backoff_lost(&backoff, false);
	EXPECT_TRUE(pavo_gso_backoff_is_over(&backoff, true));
}

TEST(GsoBackoff, ADeviceSegmentsPacketsUntilOneIsLost)
{
	pavo_gso_backoff backoff = {};

	for (int i = 0; i < 100; i++)
		EXPECT_TRUE(pavo_gso_backoff_pass(&backoff));
}

/* Losses come in bursts: those after the first one of a burst do not count. */
TEST(GsoBackoff, PacketsAreSentSinglyForAWhileAfterALoss)
{
	pavo_gso_backoff backoff = {};

	for (uint32_t i = 0; i < PAVO_GSO_BACKOFF_LOSSES + 4; i++) {
		uint32_t single = 0;

		pavo_gso_backoff_lost(&backoff, false);
		pavo_gso_backoff_lost(&backoff, false);
		while (!pavo_gso_backoff_pass(&backoff))
			single++;
		EXPECT_EQ(single, PAVO_GSO_BACKOFF_PACKETS << std::min(
					  i, PAVO_GSO_BACKOFF_LOSSES));
	}
}

} // namespace
