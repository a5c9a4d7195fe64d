// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * wqe_ext_test.cpp - the WQE parser on extended operations: the meaning of good WQEs, and every
 * field at every kind of wrong value.
 */
#include "wqe_good.h"

namespace {

TEST(WqeGood, ExtendedAtomicsTakeTheirOperandsAndMasks)
{
	for (uint32_t op : ext_atomics) {
		bool swap = op == PAVO_WQE_EXT_SWAP;
		bool compares = op == PAVO_WQE_EXT_CMP_SWAP;
		uint64_t mask = swap ? ones : 0x5555666677778888;
		uint64_t compare = compares ? 0x9999aaaabbbbcccc : 0;
		uint64_t compare_mask = compares ? 0xddddeeeeffff0000 : ones;
		ParsedWqe parsed =
			parse_wqe(Wqe().raddr(0xfff4, 9, 8)
					  .ext_atomic(0x1111222233334444, mask,
						      compare, compare_mask)
					  .sge(3, 0x77, 0x4000)
					  .sge(5, 0x78, 0x5000),
				  op, rc_limits());

		ASSERT_EQ(parsed.err, PAVO_ST_OK) << "operation " << op;
		EXPECT_EQ(parsed->op, op);
		EXPECT_EQ(parsed->raddr, 0xfff4u);
		EXPECT_EQ(parsed->rkey, 9u);
		EXPECT_EQ(parsed->swap_add, 0x1111222233334444u);
		EXPECT_EQ(parsed->swap_add_mask, mask);
		EXPECT_EQ(parsed->compare, compare);
		EXPECT_EQ(parsed->compare_mask, compare_mask);
		EXPECT_EQ(parsed->length, 8u);
		ASSERT_EQ(parsed->num_sge, 2);
		EXPECT_EQ(parsed->sge[1].lkey, 0x78u);
	}
}

TEST(WqeGood, ImmediateDataOfEightBytesIsInTheWqe)
{
	ParsedWqe parsed = parse_wqe(Wqe().imm64(0x1122334455667788),
				     PAVO_WQE_IMM64, rc_limits());

	ASSERT_EQ(parsed.err, PAVO_ST_OK);
	EXPECT_EQ(parsed->flags, PAVO_SWQE_INLINE);
	EXPECT_EQ(parsed->length, 8u);
	EXPECT_EQ(parsed->num_sge, 0);
	ASSERT_EQ(parsed->data, parsed->raw + 16);
	/* As on the wire: the bytes keep their order. */
	EXPECT_EQ(parsed->data[0], 0x11);
	EXPECT_EQ(parsed->data[7], 0x88);
}

TEST(WqeOperation, ExtendedOnesAreOfReliableServices)
{
	for (uint32_t op = PAVO_WQE_EXT_FETCH_ADD; op <= PAVO_WQE_IMM64; op++)
		for (const pavo_parser_limits &limits :
		     {uc_limits(), ud_limits()})
			EXPECT_EQ(parse_wqe(good(op), op, limits).err,
				  PAVO_ST_WQE_OPCODE)
				<< "operation " << op;
}

TEST(WqeOperation, ExtendedOnesOfXrcNameASharedReceiveQueue)
{
	Wqe queue = Wqe().add(pavo_xrc_seg{0xabcdef, {}});
	ParsedWqe parsed =
		parse_wqe(Wqe(queue).imm64(7), PAVO_WQE_IMM64, xrc_limits());

	ASSERT_EQ(parsed.err, PAVO_ST_OK);
	EXPECT_EQ(parsed->srqn, 0xabcdefu);
	EXPECT_EQ(parsed->data[7], 7);
	EXPECT_EQ(parse_wqe(good(PAVO_WQE_IMM64), PAVO_WQE_IMM64, xrc_limits())
			  .err,
		  PAVO_ST_WQE_SEGMENT);
	for (uint32_t op : ext_atomics) {
		parsed = parse_wqe(Wqe(queue)
					   .raddr(0x8000, 7, 8)
					   .ext_atomic(11, ones, 0, ones)
					   .sge(8, 1, 0x1000),
				   op, xrc_limits());
		ASSERT_EQ(parsed.err, PAVO_ST_OK) << "operation " << op;
		EXPECT_EQ(parsed->srqn, 0xabcdefu);
		EXPECT_EQ(parsed->raddr, 0x8000u);
		EXPECT_EQ(parsed->swap_add, 11u);
		EXPECT_EQ(parse_wqe(good(op), op, xrc_limits()).err,
			  PAVO_ST_WQE_SEGMENT)
			<< "operation " << op;
	}
}

TEST(WqeSegments, MissingOnesOfExtendedOperationsAreNoticed)
{
	for (uint32_t op : ext_atomics) {
		EXPECT_EQ(rc(Wqe(), op), PAVO_ST_WQE_SEGMENT);
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 8), op), PAVO_ST_WQE_SEGMENT);
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 8).atomic(0, ones), op),
			  PAVO_ST_WQE_SEGMENT);
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 8).ext_atomic(0, ones, 0, ones),
			     op),
			  PAVO_ST_WQE_LENGTH);
	}
	EXPECT_EQ(rc(Wqe(), PAVO_WQE_IMM64), PAVO_ST_WQE_SEGMENT);
}

/* Operands that an operation does not use are as the document has them on the wire. */
TEST(WqeSegments, MasksThatSayNothingAreOnes)
{
	const struct {
		uint32_t op;
		bool mask, compare;
	} uses[] = {{PAVO_WQE_EXT_FETCH_ADD, true, false},
		    {PAVO_WQE_EXT_SWAP, false, false},
		    {PAVO_WQE_EXT_CMP_SWAP, true, true}};

	for (auto [op, mask, compare] : uses) {
		for (int bit = 0; bit < 64; bit++) {
			uint64_t one = 1ull << bit;
			auto with = [&](uint64_t m, uint64_t c, uint64_t cm) {
				return rc(Wqe().raddr(0, 0, 8)
						  .ext_atomic(1, m, c, cm)
						  .sge(8),
					  op);
			};

			EXPECT_EQ(with(~one, 0, ones),
				  mask ? PAVO_ST_OK : PAVO_ST_WQE_SEGMENT);
			EXPECT_EQ(with(ones, one, ones),
				  compare ? PAVO_ST_OK : PAVO_ST_WQE_SEGMENT);
			EXPECT_EQ(with(ones, 0, ~one),
				  compare ? PAVO_ST_OK : PAVO_ST_WQE_SEGMENT);
			EXPECT_EQ(with(ones, 0, ones), PAVO_ST_OK);
		}
	}
}

TEST(WqeSegments, ImmediateDataIsAllThereIs)
{
	for (int bit = 0; bit < 64; bit++)
		EXPECT_EQ(rc(Wqe().imm64(1, 1ull << bit), PAVO_WQE_IMM64),
			  PAVO_ST_WQE_SEGMENT)
			<< bit;
	EXPECT_EQ(rc(Wqe().imm64(1).sge(0), PAVO_WQE_IMM64),
		  PAVO_ST_WQE_SEGMENT);
	EXPECT_EQ(rc(Wqe().raddr(0, 0, 8).imm64(1), PAVO_WQE_IMM64),
		  PAVO_ST_WQE_SEGMENT);
	EXPECT_EQ(rc(Wqe().imm64(1), PAVO_WQE_IMM64), PAVO_ST_OK);
}

TEST(WqeLength, ExtendedAtomicsAreEightBytes)
{
	for (uint32_t op : ext_atomics) {
		auto with = [&](uint32_t remote, uint32_t local) {
			return rc(Wqe().raddr(0, 0, remote)
					  .ext_atomic(0, ones, 0, ones)
					  .sge(local),
				  op);
		};

		for (uint32_t len : {0u, 1u, 4u, 7u, 9u, 16u, 0x7fffffffu}) {
			EXPECT_EQ(with(len, len), PAVO_ST_WQE_LENGTH) << len;
			EXPECT_EQ(with(8, len), PAVO_ST_WQE_LENGTH) << len;
			EXPECT_EQ(with(len, 8), PAVO_ST_WQE_LENGTH) << len;
		}
		EXPECT_EQ(with(8, 8), PAVO_ST_OK);
	}
}

TEST(WqeInline, ExtendedOperationsMayNot)
{
	for (uint32_t op : ext_atomics)
		EXPECT_EQ(rc(Wqe().raddr(0, 0, 8)
				     .ext_atomic(0, ones, 0, ones)
				     .inline_data(8, pattern(8)),
			     op),
			  PAVO_ST_WQE_SEGMENT);
	EXPECT_EQ(rc(Wqe().inline_data(8, pattern(8)), PAVO_WQE_IMM64),
		  PAVO_ST_WQE_SEGMENT);
}

} // namespace
