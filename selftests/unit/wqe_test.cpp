// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * wqe_test.cpp - the WQE parser: what good WQEs mean, and every field at every
 * kind of wrong value.
 */
#include "wqe_good.h"

namespace {

/* ------------------------------------------------------------- doorbells */

TEST(Doorbell, FieldsAreWhereTheAbiPutsThem)
{
	uint64_t db = 0xabcdefull << 40 | 0x5aull << 32 | 0x2fffffeull << 6 |
		      1u << 5 | 0x13;

	EXPECT_EQ(pavo_db_get_qpn(db), 0xabcdefu);
	EXPECT_EQ(pavo_db_get_size(db), 0x5au);
	EXPECT_EQ(pavo_db_get_offset(db), 0x2fffffeu);
	EXPECT_EQ(db & PAVO_DB_OP_MASK, 0x13u);
	EXPECT_TRUE(db & PAVO_DB_FENCE);
}

TEST(Doorbell, FieldsDoNotOverlap)
{
	EXPECT_EQ(pavo_db_get_qpn(~0ull), 0xffffffu);
	EXPECT_EQ(pavo_db_get_size(~0ull), 0xffu);
	EXPECT_EQ(pavo_db_get_offset(~0ull), PAVO_DB_OFFSET_MAX);
	EXPECT_EQ(pavo_db_get_qpn((1ull << 40) - 1), 0u);
	EXPECT_EQ(pavo_db_get_size(0xffffff00ffffffffull), 0u);
	EXPECT_EQ(pavo_db_get_offset(0xffffffff0000003full), 0u);
}

/* ------------------------------------------------------------- good WQEs */

TEST(WqeGood, NopIsEmptyAndDefinesEveryField)
{
	ParsedWqe parsed = parse_wqe(Wqe(), PAVO_WQE_NOP, rc_limits());

	ASSERT_EQ(parsed.err, PAVO_ST_OK);
	EXPECT_EQ(parsed->op, PAVO_WQE_NOP);
	EXPECT_EQ(parsed->flags, 0);
	EXPECT_EQ(parsed->status, PAVO_ST_OK);
	EXPECT_EQ(parsed->num_sge, 0);
	EXPECT_EQ(parsed->length, 0u);
	EXPECT_EQ(parsed->imm, 0u);
	EXPECT_EQ(parsed->raddr, 0u);
	EXPECT_EQ(parsed->rkey, 0u);
	EXPECT_EQ(parsed->npkts, 0u);
	EXPECT_EQ(parsed->swap_add, 0u);
	EXPECT_EQ(parsed->compare, 0u);
	EXPECT_EQ(parsed->swap_add_mask, 0u);
	EXPECT_EQ(parsed->compare_mask, 0u);
	EXPECT_EQ(parsed->srqn, 0u);
	EXPECT_EQ(parsed->next, 0u);
	EXPECT_EQ(parsed->av, nullptr);
	EXPECT_EQ(parsed->bind, nullptr);
	EXPECT_EQ(parsed->sge, nullptr);
	EXPECT_EQ(parsed->data, nullptr);
}

TEST(WqeGood, KeyOperationsSayWhichKey)
{
	Wqe inv;

	inv.next().imm = 0x12345678;
	ParsedWqe parsed = parse_wqe(inv, PAVO_WQE_LOCAL_INV, rc_limits());

	ASSERT_EQ(parsed.err, PAVO_ST_OK);
	EXPECT_EQ(parsed->imm, 0x12345678u);
	EXPECT_EQ(parsed->length, 0u);
	EXPECT_EQ(parsed->num_sge, 0);

	parsed = parse_wqe(Wqe().bind(1ull << 63, ~0ull, 3, 4, 5, 6),
			   PAVO_WQE_BIND_MW, rc_limits());
	ASSERT_EQ(parsed.err, PAVO_ST_OK);
	ASSERT_NE(parsed->bind, nullptr);
	EXPECT_EQ(parsed->bind->va, 1ull << 63);
	EXPECT_EQ(parsed->bind->length, ~0ull);
	EXPECT_EQ(parsed->bind->mw_rkey, 3u);
	EXPECT_EQ(parsed->bind->new_rkey, 4u);
	EXPECT_EQ(parsed->bind->mr_lkey, 5u);
	EXPECT_EQ(parsed->bind->access, 6u);
	/* The length of a window is none of the message. */
	EXPECT_EQ(parsed->length, 0u);
}

TEST(WqeGood, SendTakesItsEntriesInOrder)
{
	Wqe wqe = Wqe().sge(5, 0x11, 0x1001)
			  .sge(0, 0x22, 0x2002)
			  .sge(70000, 0x33, 0x3003);

	wqe.next().imm = 0x04030201;
	for (uint32_t op : sends) {
		ParsedWqe parsed = parse_wqe(wqe, op, rc_limits());

		ASSERT_EQ(parsed.err, PAVO_ST_OK);
		EXPECT_EQ(parsed->op, op);
		EXPECT_EQ(parsed->length, 70005u);
		EXPECT_EQ(parsed->imm, 0x04030201u);
		EXPECT_EQ(parsed->data, nullptr);
		EXPECT_EQ(parsed->av, nullptr);
		ASSERT_EQ(parsed->num_sge, 3);
		EXPECT_EQ(reinterpret_cast<const uint8_t *>(parsed->sge),
			  parsed->raw + 16);
		EXPECT_EQ(parsed->sge[0].va, 0x1001u);
		EXPECT_EQ(parsed->sge[1].lkey, 0x22u);
		EXPECT_EQ(parsed->sge[2].byte_count, 70000u);
	}
}

TEST(WqeGood, RdmaTakesTheRemoteRange)
{
	Wqe wqe =
		Wqe().raddr(0x123456789abcdef0, 0xcafe, 300).sge(100).sge(200);

	for (uint32_t op :
	     {PAVO_WQE_WRITE, PAVO_WQE_WRITE_IMM, PAVO_WQE_READ}) {
		ParsedWqe parsed = parse_wqe(wqe, op, rc_limits());

		ASSERT_EQ(parsed.err, PAVO_ST_OK) << "operation " << op;
		EXPECT_EQ(parsed->raddr, 0x123456789abcdef0u);
		EXPECT_EQ(parsed->rkey, 0xcafeu);
		EXPECT_EQ(parsed->length, 300u);
		EXPECT_EQ(parsed->num_sge, 2);
		EXPECT_EQ(reinterpret_cast<const uint8_t *>(parsed->sge),
			  parsed->raw + 32);
	}
}

TEST(WqeGood, AtomicsTakeTheirOperands)
{
	for (uint32_t op : atomics) {
		uint64_t compare =
			op == PAVO_WQE_CMP_SWAP ? 0x5555666677778888 : 0;
		Wqe wqe = Wqe().raddr(0xfff8, 9, 8)
				  .atomic(0x1111222233334444, compare)
				  .sge(8, 0x77, 0x4000);
		ParsedWqe parsed = parse_wqe(wqe, op, rc_limits());

		ASSERT_EQ(parsed.err, PAVO_ST_OK);
		EXPECT_EQ(parsed->raddr, 0xfff8u);
		EXPECT_EQ(parsed->rkey, 9u);
		EXPECT_EQ(parsed->swap_add, 0x1111222233334444u);
		EXPECT_EQ(parsed->compare, compare);
		EXPECT_EQ(parsed->length, 8u);
		ASSERT_EQ(parsed->num_sge, 1);
		EXPECT_EQ(parsed->sge[0].lkey, 0x77u);
	}
}

TEST(WqeGood, DatagramHasItsAddressVector)
{
	pavo_ud_seg av = ud_seg();

	av.qkey = 0x80010000;
	for (uint32_t op : {PAVO_WQE_SEND, PAVO_WQE_SEND_IMM}) {
		ParsedWqe parsed =
			parse_wqe(Wqe().add(av).sge(1024), op, ud_limits(1024));

		ASSERT_EQ(parsed.err, PAVO_ST_OK);
		ASSERT_NE(parsed->av, nullptr);
		EXPECT_EQ(parsed->av->dest_qpn, 0x123456u);
		EXPECT_EQ(parsed->av->qkey, 0x80010000u);
		EXPECT_EQ(parsed->num_sge, 1);
		EXPECT_EQ(parsed->length, 1024u);
	}
}

TEST(WqeGood, NothingToSendIsAMessageToo)
{
	EXPECT_EQ(rc(Wqe(), PAVO_WQE_SEND), PAVO_ST_OK);
	EXPECT_EQ(rc(Wqe().raddr(0, 0, 0), PAVO_WQE_WRITE), PAVO_ST_OK);
	EXPECT_EQ(rc(Wqe().raddr(0, 0, 0), PAVO_WQE_READ), PAVO_ST_OK);
	EXPECT_EQ(rc(Wqe().sge(0).sge(0), PAVO_WQE_SEND), PAVO_ST_OK);
	EXPECT_EQ(ud(Wqe().add(ud_seg()), PAVO_WQE_SEND), PAVO_ST_OK);
}

/* ---------------------------------------------------------------- NextSeg */

TEST(WqeNext, FlagsAreTakenOver)
{
	for (uint32_t flags = 0; flags < 4; flags++) {
		for (bool fence : {false, true}) {
			Wqe wqe;

			wqe.next().flags = flags;
			ParsedWqe parsed = parse_wqe(
				wqe, fence ? PAVO_DB_FENCE : 0, rc_limits());

			ASSERT_EQ(parsed.err, PAVO_ST_OK);
			EXPECT_EQ(parsed->flags,
				  flags | (fence ? PAVO_SWQE_FENCE : 0));
		}
	}
}

TEST(WqeNext, EveryReservedFlagIsAnError)
{
	for (uint32_t op : rc_ops) {
		for (int bit = 2; bit < 32; bit++) {
			Wqe wqe = good(op);

			wqe.next().flags = 1u << bit;
			ParsedWqe parsed = parse_wqe(wqe, op, rc_limits());

			EXPECT_EQ(parsed.err, PAVO_ST_WQE_FLAGS)
				<< "operation " << op << ", bit " << bit;
			/* It must not pass for a flag of the parser. */
			EXPECT_EQ(parsed->flags, 0);
		}
	}
}

TEST(WqeNext, SizeOfTheNextHasEightBits)
{
	for (uint32_t size = 0; size < 256; size++) {
		Wqe wqe;

		wqe.next().size = size;
		EXPECT_EQ(rc(wqe, PAVO_WQE_NOP), PAVO_ST_OK);
	}
}

/* Truncated to eight bits it would be valid: 0x103 is not 3. */
TEST(WqeNext, LinkWithAnImpossibleSizeEndsTheChain)
{
	for (int bit = 8; bit < 32; bit++) {
		Wqe wqe;

		wqe.next().next = 5u << PAVO_DB_OFFSET_SHIFT | PAVO_WQE_SEND;
		wqe.next().size = 1u << bit | 3;
		ParsedWqe parsed = parse_wqe(wqe, PAVO_WQE_NOP, rc_limits());

		EXPECT_EQ(parsed.err, PAVO_ST_WQE_FLAGS) << "bit " << bit;
		EXPECT_EQ(parsed->next, 0u) << "bit " << bit;
	}
}

TEST(WqeNext, LinkReadsLikeADoorbell)
{
	Wqe wqe;

	wqe.next().next = 0x155u << PAVO_DB_OFFSET_SHIFT | PAVO_DB_FENCE |
			  PAVO_WQE_READ;
	wqe.next().size = 7;
	ParsedWqe parsed = parse_wqe(wqe, PAVO_WQE_NOP, rc_limits());

	ASSERT_EQ(parsed.err, PAVO_ST_OK);
	EXPECT_EQ(pavo_db_get_offset(parsed->next), 0x155u);
	EXPECT_EQ(pavo_db_get_size(parsed->next), 7u);
	EXPECT_EQ(pavo_db_get_qpn(parsed->next), 0u);
	EXPECT_EQ(parsed->next & PAVO_DB_OP_MASK, PAVO_WQE_READ);
	EXPECT_TRUE(parsed->next & PAVO_DB_FENCE);
}

/* The chain continues after a WQE that is wrong in any way. */
TEST(WqeNext, LinkIsValidWhateverElseIsWrong)
{
	const std::pair<Wqe, uint64_t> bad[] = {
		{Wqe(), 31},
		{Wqe().sge(PAVO_INLINE_SEG), PAVO_WQE_NOP},
		{Wqe(), PAVO_WQE_WRITE},
		{Wqe().raddr(0, 0, 1), PAVO_WQE_WRITE},
		{Wqe().raddr(0, 0, 8), PAVO_WQE_CMP_SWAP},
		{Wqe().inline_data(4000, pattern(4)), PAVO_WQE_SEND},
	};

	for (auto [wqe, db] : bad) {
		wqe.next().next = 5u << PAVO_DB_OFFSET_SHIFT | PAVO_WQE_SEND;
		wqe.next().size = 2;
		wqe.next().flags = PAVO_WQE_SIGNALED;
		ParsedWqe parsed = parse_wqe(wqe, db, rc_limits());

		EXPECT_NE(parsed.err, PAVO_ST_OK);
		EXPECT_EQ(pavo_db_get_offset(parsed->next), 5u);
		EXPECT_EQ(pavo_db_get_size(parsed->next), 2u);
		EXPECT_EQ(parsed->flags, PAVO_WQE_SIGNALED);
	}
	Wqe flags = good(PAVO_WQE_SEND);

	flags.next() = {5u << PAVO_DB_OFFSET_SHIFT, 2, 0x80, 0};
	ParsedWqe parsed = parse_wqe(flags, PAVO_WQE_SEND, rc_limits());

	EXPECT_EQ(parsed.err, PAVO_ST_WQE_FLAGS);
	EXPECT_EQ(pavo_db_get_offset(parsed->next), 5u);
	EXPECT_EQ(pavo_db_get_size(parsed->next), 2u);
}

/* -------------------------------------------------------------- operation */

TEST(WqeOperation, AnAtomicWriteIsOfEightBytes)
{
	for (uint32_t length : {0u, 7u, 9u, 16u})
		EXPECT_EQ(
			rc(Wqe().raddr(0x8000, 7, length).sge(length, 1, 0x1000),
			   PAVO_WQE_ATOMIC_WRITE),
			PAVO_ST_WQE_LENGTH)
			<< length;
	EXPECT_EQ(rc(Wqe().raddr(0x8000, 7, 8).sge(3, 1, 0).sge(5, 2, 0),
		     PAVO_WQE_ATOMIC_WRITE),
		  PAVO_ST_OK);
	EXPECT_EQ(rc(Wqe(), PAVO_WQE_ATOMIC_WRITE), PAVO_ST_WQE_SEGMENT);
}

TEST(WqeOperation, AFlushHasARangeAndNoData)
{
	const Wqe range = Wqe().raddr(0x8000, 7, 0x7fffffff);
	ParsedWqe parsed = parse_wqe(Wqe(range).flush(PAVO_FLUSH_GLOBAL),
				     PAVO_WQE_FLUSH, rc_limits());

	EXPECT_EQ(parsed.err, PAVO_ST_OK);
	EXPECT_EQ(parsed->length, 0u);
	EXPECT_EQ(parsed->dma_len, 0x7fffffffu);
	EXPECT_EQ(parsed->raddr, 0x8000u);
	EXPECT_EQ(parsed->rkey, 7u);
	EXPECT_EQ(rc(Wqe().raddr(0, 7, 0).flush(PAVO_FLUSH_GLOBAL),
		     PAVO_WQE_FLUSH),
		  PAVO_ST_OK);
	EXPECT_EQ(rc(Wqe().raddr(0, 7, 0x80000000).flush(PAVO_FLUSH_GLOBAL),
		     PAVO_WQE_FLUSH),
		  PAVO_ST_WQE_LENGTH);
	EXPECT_EQ(rc(Wqe(range).flush(PAVO_FLUSH_GLOBAL).sge(8, 1, 0x1000),
		     PAVO_WQE_FLUSH),
		  PAVO_ST_WQE_SEGMENT);
	EXPECT_EQ(rc(Wqe(range).flush(PAVO_FLUSH_GLOBAL).inline_data(0, {}),
		     PAVO_WQE_FLUSH),
		  PAVO_ST_WQE_SEGMENT);
	EXPECT_EQ(rc(Wqe().flush(PAVO_FLUSH_GLOBAL), PAVO_WQE_FLUSH),
		  PAVO_ST_WQE_SEGMENT);
}

TEST(WqeOperation, AFlushNamesPlacementTypesAndALevel)
{
	for (uint32_t bits = 0; bits < 0x80; bits++) {
		const bool types = bits & 0x3;
		const bool right = types && !(bits & ~0x13u);

		EXPECT_EQ(rc(Wqe().raddr(0x8000, 7, 128).flush(bits),
			     PAVO_WQE_FLUSH),
			  right ? PAVO_ST_OK : PAVO_ST_WQE_FLAGS)
			<< bits;
	}
	for (int bit = 7; bit < 32; bit++)
		EXPECT_EQ(rc(Wqe().raddr(0x8000, 7, 128).flush(1u << bit | 1),
			     PAVO_WQE_FLUSH),
			  PAVO_ST_WQE_FLAGS)
			<< bit;
}

TEST(WqeOperation, OnlyThoseOfTheServiceAreAllowed)
{
	for (uint32_t op = 0; op < 32; op++) {
		bool in_rc =
			op <= PAVO_WQE_BIND_MW ||
			(op >= PAVO_WQE_ATOMIC_WRITE && op <= PAVO_WQE_IMM64);
		bool in_ud = op <= PAVO_WQE_SEND_IMM;
		Wqe datagram = op == PAVO_WQE_NOP ? Wqe() : Wqe().add(ud_seg());

		EXPECT_EQ(rc(good(op), op),
			  in_rc ? PAVO_ST_OK : PAVO_ST_WQE_OPCODE)
			<< "operation " << op;
		EXPECT_EQ(ud(datagram, op),
			  in_ud ? PAVO_ST_OK : PAVO_ST_WQE_OPCODE)
			<< "operation " << op;
	}
}

TEST(WqeOperation, NoneIsAllowedWithoutAService)
{
	pavo_parser_limits none = rc_limits();

	none.service = 0;
	for (uint32_t op = 0; op < 32; op++)
		EXPECT_EQ(parse_wqe(good(op), op, none).err,
			  PAVO_ST_WQE_OPCODE);
}

TEST(WqeOperation, OfTheKernelIsForTheKernelOnly)
{
	for (pavo_parser_limits limits :
	     {rc_limits(), uc_limits(), xrc_limits(), ud_limits()}) {
		bool connected = limits.service != PAVO_FOR_UD;

		EXPECT_EQ(parse_wqe(good(PAVO_WQE_REG_MR), PAVO_WQE_REG_MR,
				    limits)
				  .err,
			  PAVO_ST_WQE_OPCODE);
		limits.kernel = true;
		EXPECT_EQ(parse_wqe(good(PAVO_WQE_REG_MR), PAVO_WQE_REG_MR,
				    limits)
				  .err,
			  connected ? PAVO_ST_OK : PAVO_ST_WQE_OPCODE);
	}
}

TEST(WqeOperation, ComesFromTheDoorbellOnly)
{
	Wqe wqe = good(PAVO_WQE_SEND);

	wqe.next().next = PAVO_WQE_READ;
	ParsedWqe parsed =
		parse_wqe(wqe, PAVO_WQE_SEND | 0x123456ull << 40 | 99ull << 6,
			  rc_limits());

	EXPECT_EQ(parsed.err, PAVO_ST_OK);
	EXPECT_EQ(parsed->op, PAVO_WQE_SEND);
}

/* --------------------------------------------------------------- segments */

TEST(WqeSegments, NopHasNone)
{
	EXPECT_EQ(rc(Wqe().sge(0), PAVO_WQE_NOP), PAVO_ST_WQE_SEGMENT);
	EXPECT_EQ(rc(Wqe().sge(0), PAVO_WQE_LOCAL_INV), PAVO_ST_WQE_SEGMENT);
	EXPECT_EQ(rc(good(PAVO_WQE_BIND_MW).sge(0), PAVO_WQE_BIND_MW),
		  PAVO_ST_WQE_SEGMENT);
}

TEST(WqeSegments, MissingOnesAreNoticed)
{
	for (uint32_t op : {PAVO_WQE_WRITE, PAVO_WQE_WRITE_IMM, PAVO_WQE_READ,
			    PAVO_WQE_CMP_SWAP, PAVO_WQE_FETCH_ADD})
		EXPECT_EQ(rc(Wqe(), op), PAVO_ST_WQE_SEGMENT);
	for (uint32_t op : atomics) {
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 8), op), PAVO_ST_WQE_SEGMENT);
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 8).atomic(0, 0), op),
			  PAVO_ST_WQE_LENGTH);
	}
	for (size_t size = 16; size < 64; size += 16) {
		Wqe cut = Wqe().add(ud_seg());

		cut.bytes().resize(size);
		EXPECT_EQ(ud(cut, PAVO_WQE_SEND), PAVO_ST_WQE_SEGMENT)
			<< size << " bytes";
	}
}

/* Every prefix of a good WQE: an error, or exactly a shorter SGL. */
TEST(WqeSegments, EveryTruncationIsAnErrorOrAShorterSend)
{
	for (uint32_t op : rc_ops) {
		Wqe wqe = good(op);
		bool send = op >= PAVO_WQE_SEND && op <= PAVO_WQE_SEND_INV;

		while (wqe.bytes().size() > 16) {
			wqe.bytes().resize(wqe.bytes().size() - 16);
			EXPECT_EQ(rc(wqe, op) == PAVO_ST_OK, send)
				<< "operation " << op << ", "
				<< wqe.bytes().size() << " bytes";
		}
	}
}

pavo_status way(void (*spoil)(pavo_ud_seg &, uint32_t), uint32_t value)
{
	pavo_ud_seg seg = ud_seg();

	spoil(seg, value);
	return ud(Wqe().add(seg).sge(8), PAVO_WQE_SEND);
}

TEST(WqeSegments, DatagramsGoToQpnsOf24Bits)
{
	auto qpn = [](pavo_ud_seg &seg, uint32_t value) {
		seg.dest_qpn = value;
	};

	for (uint32_t value : {0u, 1u, 0xfffffeu, 0xffffffu})
		EXPECT_EQ(way(qpn, value), PAVO_ST_OK) << value;
	for (int bit = 24; bit < 32; bit++)
		EXPECT_EQ(way(qpn, 1u << bit | 5), PAVO_ST_AV) << bit;
}

TEST(WqeSegments, DatagramsLeaveByTheOnlyPort)
{
	for (uint32_t port = 0; port < 256; port++)
		EXPECT_EQ(way(
				  [](pavo_ud_seg &seg, uint32_t value) {
					  seg.port_num =
						  static_cast<uint8_t>(value);
				  },
				  port),
			  port == PAVO_PORT ? PAVO_ST_OK : PAVO_ST_AV)
			<< port;
}

TEST(WqeSegments, ReservedBytesOfDatagramsAreZero)
{
	for (uint32_t bit = 0; bit < 8 * sizeof(pavo_ud_seg::reserved); bit++)
		EXPECT_EQ(way(
				  [](pavo_ud_seg &seg, uint32_t value) {
					  seg.reserved[value / 8] =
						  static_cast<uint8_t>(
							  1u << value % 8);
				  },
				  bit),
			  PAVO_ST_WQE_FLAGS)
			<< bit;
}

/* Whether it leads anywhere is found out when it is sent. */
TEST(WqeSegments, TheRestOfADatagramsWayMayBeAnything)
{
	pavo_ud_seg seg;

	std::memset(&seg, 0xff, sizeof(seg));
	seg.dest_qpn = 7;
	seg.port_num = PAVO_PORT;
	seg.sl = PAVO_SL_MAX;
	std::memset(seg.reserved, 0, sizeof(seg.reserved));
	EXPECT_EQ(ud(Wqe().add(seg).sge(8), PAVO_WQE_SEND), PAVO_ST_OK);
	for (uint32_t sl : {PAVO_SL_MAX + 1, 255}) {
		seg.sl = static_cast<uint8_t>(sl);
		EXPECT_EQ(ud(Wqe().add(seg).sge(8), PAVO_WQE_SEND), PAVO_ST_AV)
			<< sl;
	}
}

/* -------------------------------------------------------------------- SGL */

TEST(WqeSgl, NumberOfEntriesIsLimited)
{
	pavo_parser_limits limits = rc_limits();

	for (uint32_t max : {0u, 1u, 2u, 30u}) {
		limits.max_sge = max;
		Wqe wqe;

		for (uint32_t i = 0; i < max; i++)
			wqe.sge(1);
		EXPECT_EQ(parse_wqe(wqe, PAVO_WQE_SEND, limits).err,
			  PAVO_ST_OK);
		wqe.sge(1);
		EXPECT_EQ(parse_wqe(wqe, PAVO_WQE_SEND, limits).err,
			  PAVO_ST_WQE_SEGMENT);
	}
}

TEST(WqeSgl, MessageIsShorterThanTwoGiB)
{
	EXPECT_EQ(rc(Wqe().sge(0x7fffffff), PAVO_WQE_SEND), PAVO_ST_OK);
	EXPECT_EQ(rc(Wqe().sge(0x7ffffffe).sge(1).sge(0), PAVO_WQE_SEND),
		  PAVO_ST_OK);
	EXPECT_EQ(rc(Wqe().sge(0x7fffffff).sge(1), PAVO_WQE_SEND),
		  PAVO_ST_WQE_LENGTH);
	EXPECT_EQ(rc(Wqe().sge(1).sge(0x7fffffff), PAVO_WQE_SEND),
		  PAVO_ST_WQE_LENGTH);
	/* Sums that would overflow to small values in 32 bits. */
	EXPECT_EQ(rc(Wqe().sge(0x7fffffff).sge(0x7fffffff).sge(2),
		     PAVO_WQE_SEND),
		  PAVO_ST_WQE_LENGTH);
	EXPECT_EQ(
		rc(Wqe().raddr(0, 0, 0).sge(0x7fffffff).sge(0x7fffffff).sge(2),
		   PAVO_WQE_WRITE),
		PAVO_ST_WQE_LENGTH);
	EXPECT_EQ(rc(Wqe().raddr(0, 0, 0x7fffffff).sge(0x7fffffff),
		     PAVO_WQE_WRITE),
		  PAVO_ST_OK);
}

TEST(WqeSgl, InlineAmongEntriesIsMisplaced)
{
	for (uint32_t op : rc_ops) {
		if (op == PAVO_WQE_NOP)
			continue;
		Wqe wqe = good(op);

		wqe.inline_data(4, pattern(4));
		EXPECT_EQ(rc(wqe, op), PAVO_ST_WQE_SEGMENT)
			<< "operation " << op;
	}
}

TEST(WqeSgl, DatagramFitsThePathMtu)
{
	for (uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
		Wqe wqe = Wqe().add(ud_seg()).sge(mtu - 1).sge(1);

		EXPECT_EQ(ud(wqe, PAVO_WQE_SEND, mtu), PAVO_ST_OK);
		EXPECT_EQ(ud(wqe.sge(1), PAVO_WQE_SEND, mtu),
			  PAVO_ST_WQE_LENGTH);
	}
}

/* ----------------------------------------------------------------- lengths */

TEST(WqeLength, LocalAndRemoteMustAgree)
{
	for (uint32_t op :
	     {PAVO_WQE_WRITE, PAVO_WQE_WRITE_IMM, PAVO_WQE_READ}) {
		for (uint32_t remote :
		     {0u, 127u, 129u, 0x80000080u, 0xffffffffu})
			EXPECT_EQ(rc(Wqe().raddr(0, 0, remote).sge(128), op),
				  PAVO_ST_WQE_LENGTH)
				<< "operation " << op << ", " << remote;
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 128).sge(128), op), PAVO_ST_OK);
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 128), op), PAVO_ST_WQE_LENGTH);
	}
}

TEST(WqeLength, AtomicsAreEightBytes)
{
	for (uint32_t op : atomics) {
		for (uint32_t len : {0u, 1u, 4u, 7u, 9u, 16u, 0x7fffffffu})
			EXPECT_EQ(
				rc(Wqe().raddr(0, 0, len).atomic(0, 0).sge(len),
				   op),
				PAVO_ST_WQE_LENGTH)
				<< len << " bytes";
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 8).atomic(0, 0).sge(4), op),
			  PAVO_ST_WQE_LENGTH);
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 4).atomic(0, 0).sge(8), op),
			  PAVO_ST_WQE_LENGTH);
	}
}

/* ------------------------------------------------------------------ inline */

TEST(WqeInline, EveryLengthInTheSegmentItNeeds)
{
	for (uint32_t len = 0; len <= 600; len++) {
		std::vector<uint8_t> data = pattern(len);
		ParsedWqe parsed = parse_wqe(Wqe().inline_data(len, data),
					     PAVO_WQE_SEND, rc_limits());

		ASSERT_EQ(parsed.err, PAVO_ST_OK) << len << " bytes";
		EXPECT_EQ(parsed->flags, PAVO_SWQE_INLINE);
		EXPECT_EQ(parsed->length, len);
		EXPECT_EQ(parsed->num_sge, 0);
		ASSERT_NE(parsed->data, nullptr);
		EXPECT_EQ(std::vector<uint8_t>(parsed->data,
					       parsed->data + len),
			  data);
	}
}

TEST(WqeInline, WritesAndDatagramsMayHaveIt)
{
	std::vector<uint8_t> data = pattern(50);

	for (uint32_t op : writes) {
		ParsedWqe parsed =
			parse_wqe(Wqe().raddr(1, 2, 50).inline_data(50, data),
				  op, rc_limits());

		ASSERT_EQ(parsed.err, PAVO_ST_OK);
		EXPECT_EQ(std::memcmp(parsed->data, data.data(), 50), 0);
		EXPECT_EQ(rc(Wqe().raddr(1, 2, 51).inline_data(50, data), op),
			  PAVO_ST_WQE_LENGTH);
	}
	EXPECT_EQ(ud(Wqe().add(ud_seg()).inline_data(50, data), PAVO_WQE_SEND),
		  PAVO_ST_OK);
	EXPECT_EQ(ud(Wqe().add(ud_seg()).inline_data(257, pattern(257)),
		     PAVO_WQE_SEND, 256),
		  PAVO_ST_WQE_LENGTH);
}

TEST(WqeInline, ReadsAndAtomicsMayNot)
{
	EXPECT_EQ(rc(Wqe().raddr(0, 0, 8).inline_data(8, pattern(8)),
		     PAVO_WQE_READ),
		  PAVO_ST_WQE_SEGMENT);
	for (uint32_t op : atomics)
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 8).atomic(0, 0).inline_data(
				     8, pattern(8)),
			     op),
			  PAVO_ST_WQE_SEGMENT);
}

TEST(WqeInline, MoreThanTheWqeHasIsTooLong)
{
	/* One unit: 12 bytes of data are there. */
	for (uint32_t claim :
	     {13u, 16u, 28u, 4080u, 0x7ffffff0u, 0x7ffffffcu, 0x7fffffffu})
		EXPECT_EQ(rc(Wqe().inline_data(claim, pattern(12)),
			     PAVO_WQE_SEND),
			  PAVO_ST_WQE_LENGTH)
			<< "claims " << claim;
	EXPECT_EQ(rc(Wqe().inline_data(12, pattern(12)), PAVO_WQE_SEND),
		  PAVO_ST_OK);
}

TEST(WqeInline, NothingMayFollow)
{
	for (uint32_t len : {0u, 1u, 12u, 13u, 28u, 100u}) {
		Wqe wqe = Wqe().inline_data(len, pattern(len));

		EXPECT_EQ(rc(wqe, PAVO_WQE_SEND), PAVO_ST_OK);
		EXPECT_EQ(rc(wqe.sge(1), PAVO_WQE_SEND), PAVO_ST_WQE_SEGMENT)
			<< len << " bytes";
	}
}

} // namespace
