// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* budget.h: what a loop may do in a row. */
#include <gtest/gtest.h>

extern "C" {
#include "budget.h"
}

namespace {

/* Iterations of a loop that checks the budget before each of them. */
unsigned steps(u32 packets, u32 bytes)
{
	pavo_budget budget = pavo_budget_begin_slice();
	unsigned n = 0;

	while (pavo_budget_remains(&budget)) {
		pavo_budget_spend(&budget, packets, bytes);
		n++;
	}
	return n;
}

} // namespace

TEST(Budget, PacketsBoundTheLoop)
{
	EXPECT_EQ(steps(1, 0), unsigned(PAVO_SLICE_PACKETS));
	EXPECT_EQ(steps(1, 64), unsigned(PAVO_SLICE_PACKETS));
}

TEST(Budget, BytesBoundTheLoop)
{
	EXPECT_EQ(steps(0, 4096), unsigned(PAVO_SLICE_BYTES / 4096));
	EXPECT_EQ(steps(1, 61440),
		  unsigned((PAVO_SLICE_BYTES + 61439) / 61440));
}

TEST(Budget, OneStepMayExceedIt)
{
	EXPECT_EQ(steps(PAVO_SLICE_PACKETS + 1, 0), 1u);
	EXPECT_EQ(steps(1u << 20, 1u << 30), 1u);
}

/* The work of nested visits is taken off, too, however much it is. */
TEST(Budget, NothingMakesALotOfNothing)
{
	pavo_budget budget = pavo_budget_begin_slice();

	for (int i = 0; i < 10000; i++) {
		pavo_budget_spend(&budget, 1u << 20, 1u << 30);
		ASSERT_FALSE(pavo_budget_remains(&budget));
	}
}
