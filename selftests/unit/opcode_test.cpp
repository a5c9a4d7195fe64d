// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * opcode_test.cpp - the opcode table: which opcodes there are, and that no row
 * contradicts itself or its neighbours.
 */
#include <gtest/gtest.h>

#include <algorithm>

#include "wire_env.h"

namespace {

/* IBA table 38, as far as pavo has it, and flush and atomic write (IBA 1.6). */
bool should_be_known(int opcode)
{
	int op = opcode & 0x1f;

	switch (opcode & 0xe0) {
	case 0x00: /* RC; 0x15 is reserved */
	case 0xa0: /* XRC, the same */
		return op <= 0x14 || op == 0x16 || op == 0x17 || op == 0x1c ||
		       op == 0x1d;
	case 0x20: /* UC: sends and writes */
		return op <= 0x0b;
	case 0x60: /* UD: one packet only */
		return op == 0x04 || op == 0x05;
	case 0xc0: /* left to manufacturers: windows */
		return op <= 0x05;
	case 0xe0: /* the same: extended operations of RC, then of XRC; SACKs */
		return op <= 0x08 || op == 0x0c;
	case 0x80: /* CNP */
		return op == 0x01;
	default: /* RD */
		return false;
	}
}

bool is_extended(uint8_t opcode)
{
	return (opcode & PAVO_SVC_MASK) == PAVO_SVC_EXT;
}

bool is_cnp(uint8_t opcode)
{
	return opcode == 0x81;
}

bool is_sack(uint8_t opcode)
{
	return opcode == 0xe8 || opcode == 0xec;
}

TEST(OpcodeTable, KnowsExactlyTheOpcodesOfItsServices)
{
	for (int opcode = 0; opcode < 256; opcode++)
		EXPECT_EQ(pavo_opcode_get_info(static_cast<uint8_t>(opcode)) !=
				  nullptr,
			  should_be_known(opcode))
			<< "opcode " << opcode;
}

TEST(OpcodeTable, LengthIsThatOfTheHeadersNamed)
{
	const struct {
		unsigned int flag;
		unsigned int len;
	} extensions[] = {
		{PAVO_OPF_RETH, 16},	     {PAVO_OPF_AETH, 4},
		{PAVO_OPF_ATOMICETH, 28},    {PAVO_OPF_ATOMICACK, 8},
		{PAVO_OPF_IMM, 4},	     {PAVO_OPF_IETH, 4},
		{PAVO_OPF_DETH, 8},	     {PAVO_OPF_XRCETH, 4},
		{PAVO_OPF_WETH, 16},	     {PAVO_OPF_WRETH, 40},
		{PAVO_OPF_PVO, 8},	     {PAVO_OPF_EXTATOMICETH, 52},
		{PAVO_OPF_EXTATOMICACK, 12}, {PAVO_OPF_WTETH, 12},
		{PAVO_OPF_SACKETH, 40},	     {PAVO_OPF_CNPETH, 16},
		{PAVO_OPF_FETH, 4},
	};

	for (uint8_t opcode : known_opcodes()) {
		const struct pavo_op_info *info = pavo_opcode_get_info(opcode);
		unsigned int len = 12;

		for (auto &extension : extensions)
			if (info->flags & extension.flag)
				len += extension.len;
		EXPECT_EQ(info->hdr_len, len) << "opcode " << int(opcode);
		EXPECT_LE(info->hdr_len, PAVO_MAX_HDR_LEN);
		EXPECT_EQ(info->hdr_len % 4, 0);
	}
}

TEST(OpcodeTable, EveryOpcodeIsOfOneKind)
{
	auto kind_of = [](uint8_t opcode) {
		const int op = opcode & 0x1f;

		if (flags_of(opcode) & PAVO_OPF_WETH)
			return PAVO_KIND_WINDOW;
		if (is_cnp(opcode))
			return PAVO_KIND_CNP;
		if (is_sack(opcode))
			return PAVO_KIND_ACK;
		if (is_extended(opcode))
			return op & 2 ? PAVO_KIND_IMM64 : PAVO_KIND_ATOMIC;
		if (op <= 0x05 || op == 0x16 || op == 0x17)
			return PAVO_KIND_SEND;
		if (op <= 0x0b)
			return PAVO_KIND_WRITE;
		if (op <= 0x10)
			return PAVO_KIND_READ;
		if (op == 0x11)
			return PAVO_KIND_ACK;
		if (op <= 0x14)
			return PAVO_KIND_ATOMIC;
		return op == 0x1c ? PAVO_KIND_FLUSH : PAVO_KIND_ATOMIC_WRITE;
	};

	for (uint8_t opcode : known_opcodes())
		EXPECT_EQ(pavo_opcode_get_info(opcode)->kind, kind_of(opcode))
			<< "opcode " << int(opcode);
}

TEST(OpcodeTable, RequestsAndResponsesAreToldApart)
{
	for (uint8_t opcode : known_opcodes()) {
		int op = opcode & 0x1f;
		bool response = (op >= 0x0d && op <= 0x12) || is_cnp(opcode);

		if (is_extended(opcode))
			response = opcode == 0xe1 || opcode == 0xe5 ||
				   is_sack(opcode);
		EXPECT_EQ(!(flags_of(opcode) & PAVO_OPF_REQUEST), response)
			<< "opcode " << int(opcode);
	}
}

TEST(OpcodeTable, PlaceInMessageFollowsFromTheName)
{
	const std::vector<int> middle = {0x01, 0x07, 0x0e};
	const std::vector<int> first = {0x00, 0x06, 0x0d};
	const std::vector<int> last = {0x02, 0x03, 0x08, 0x09, 0x0f, 0x16};

	for (uint8_t opcode : known_opcodes()) {
		auto is_in = [op = opcode &
				   0x1f](const std::vector<int> &list) {
			return std::find(list.begin(), list.end(), op) !=
			       list.end();
		};
		uint32_t flags = flags_of(opcode);

		/* Packets of pavo's own are never part of a longer message. */
		if (flags & PAVO_OPF_WETH || is_extended(opcode) ||
		    is_cnp(opcode)) {
			EXPECT_TRUE(flags & PAVO_OPF_FIRST &&
				    flags & PAVO_OPF_LAST);
			continue;
		}
		EXPECT_EQ(bool(flags & PAVO_OPF_FIRST),
			  !is_in(middle) && !is_in(last))
			<< "opcode " << int(opcode);
		EXPECT_EQ(bool(flags & PAVO_OPF_LAST),
			  !is_in(middle) && !is_in(first))
			<< "opcode " << int(opcode);
	}
}

TEST(OpcodeTable, PayloadIsWhereItMayBe)
{
	for (uint8_t opcode : known_opcodes()) {
		int op = opcode & 0x1f;
		bool none = op == 0x0c || (op >= 0x11 && op <= 0x14) ||
			    op == 0x1c;

		/* Only requests for data and their ends have none. */
		if (flags_of(opcode) & PAVO_OPF_WETH)
			none = op >= 0x02 && op <= 0x04;
		if (is_extended(opcode))
			none = (op & 0x03) <= 0x01;
		if (is_cnp(opcode))
			none = true;

		EXPECT_EQ(!(flags_of(opcode) & PAVO_OPF_PAYLOAD), none)
			<< "opcode " << int(opcode);
	}
}

TEST(OpcodeTable, ExtendedOperationsAreWhatTheDocumentSays)
{
	constexpr uint32_t only = PAVO_OPF_FIRST | PAVO_OPF_LAST;
	constexpr uint32_t immediate = PAVO_OPF_REQUEST | PAVO_OPF_PAYLOAD |
				       only;
	constexpr uint32_t request = PAVO_OPF_REQUEST | PAVO_OPF_EXTATOMICETH |
				     only;
	constexpr uint32_t response = PAVO_OPF_AETH | PAVO_OPF_EXTATOMICACK |
				      only;

	EXPECT_EQ(flags_of(0xe0), request);
	EXPECT_EQ(flags_of(0xe1), response);
	EXPECT_EQ(flags_of(0xe2), immediate);
	EXPECT_EQ(flags_of(0xe3), immediate);
	EXPECT_EQ(flags_of(0xe4), request | PAVO_OPF_XRCETH);
	EXPECT_EQ(flags_of(0xe5), response);
	EXPECT_EQ(flags_of(0xe6), immediate | PAVO_OPF_XRCETH);
	EXPECT_EQ(flags_of(0xe7), immediate | PAVO_OPF_XRCETH);
}

/* 0xc6 to 0xde belong to another protocol on the same UDP port. */
TEST(OpcodeTable, OpcodesOfOthersAreFree)
{
	for (int opcode = 0xc6; opcode <= 0xdf; opcode++)
		EXPECT_EQ(pavo_opcode_get_info(static_cast<uint8_t>(opcode)),
			  nullptr)
			<< "opcode " << opcode;
}

TEST(OpcodeTable, UcDoesWhatRcDoes)
{
	for (int op = 0; op <= 0x0b; op++) {
		auto rc = static_cast<uint8_t>(PAVO_SVC_RC | op);
		auto uc = static_cast<uint8_t>(PAVO_SVC_UC | op);

		EXPECT_EQ(flags_of(uc), flags_of(rc)) << "operation " << op;
	}
}

TEST(OpcodeTable, XrcDoesWhatRcDoes)
{
	for (uint8_t rc : known_opcodes()) {
		if ((rc & PAVO_SVC_MASK) != PAVO_SVC_RC)
			continue;
		auto xrc = static_cast<uint8_t>(PAVO_SVC_XRC | rc);

		EXPECT_EQ(flags_of(xrc) & ~PAVO_OPF_XRCETH, flags_of(rc))
			<< "operation " << int(rc);
	}
}

TEST(OpcodeTable, XrcHeaderIsInAllRequestsOfXrcAndNowhereElse)
{
	for (uint8_t opcode : known_opcodes()) {
		bool xrc = (opcode & 0xe0) == 0xa0 || opcode >= 0xe4;

		EXPECT_EQ(bool(flags_of(opcode) & PAVO_OPF_XRCETH),
			  xrc && flags_of(opcode) & PAVO_OPF_REQUEST)
			<< "opcode " << int(opcode);
	}
}

/* One or both of two placement types, and one of two levels. */
TEST(Feth, NamesAPlacementTypeAndALevelAndNothingUndefined)
{
	for (uint32_t bits = 0; bits < 0x100; bits++)
		EXPECT_EQ(pavo_feth_is_valid(bits),
			  (bits & 0x3) != 0 && (bits & ~0x13u) == 0)
			<< bits;
}

TEST(OpcodeService, IsThatOfTheOpcode)
{
	for (int opcode = 0; opcode < 0xc0; opcode++)
		EXPECT_EQ(pavo_opcode_get_service(uint8_t(opcode)),
			  opcode & 0xe0);
	for (int opcode = 0xe0; opcode <= 0xe3; opcode++)
		EXPECT_EQ(pavo_opcode_get_service(uint8_t(opcode)),
			  PAVO_SVC_RC);
	for (int opcode = 0xe4; opcode <= 0xe7; opcode++)
		EXPECT_EQ(pavo_opcode_get_service(uint8_t(opcode)),
			  PAVO_SVC_XRC);
}

TEST(OpcodeService, MakesTheOpcodeOfAnOperation)
{
	for (int op = 0; op < 0x20; op++)
		for (int service : {PAVO_SVC_RC, PAVO_SVC_UC, PAVO_SVC_XRC})
			EXPECT_EQ(pavo_opcode_make(uint8_t(service),
						   uint8_t(op)),
				  service | op);
	for (int op = 0xe0; op <= 0xe3; op++) {
		EXPECT_EQ(pavo_opcode_make(PAVO_SVC_RC, uint8_t(op)), op);
		EXPECT_EQ(pavo_opcode_make(PAVO_SVC_XRC, uint8_t(op)), op + 4);
	}
}

TEST(OpcodeTable, DatagramHeaderIsInAllDatagramsAndNowhereElse)
{
	for (uint8_t opcode : known_opcodes())
		EXPECT_EQ(bool(flags_of(opcode) & PAVO_OPF_DETH),
			  (opcode & PAVO_SVC_MASK) == PAVO_SVC_UD)
			<< "opcode " << int(opcode);
}

} // namespace
