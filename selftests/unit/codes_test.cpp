// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* codes_test.cpp - delays, timeouts and MTUs that travel as codes. */
#include <gtest/gtest.h>

#include <cmath>

extern "C" {
#include "wire/wire.h"
}

namespace {

TEST(RnrDelay, IsTable45)
{
	/* milliseconds, in the order of the codes */
	const double table[32] = {
		655.36, 0.01,  0.02,  0.03,   0.04,   0.06,   0.08,   0.12,
		0.16,	0.24,  0.32,  0.48,   0.64,   0.96,   1.28,   1.92,
		2.56,	3.84,  5.12,  7.68,   10.24,  15.36,  20.48,  30.72,
		40.96,	61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
	};

	for (uint8_t code = 0; code < 32; code++)
		EXPECT_EQ(static_cast<long long>(pavo_rnr_ns(code)),
			  std::llround(table[code] * 1e6))
			<< "code " << int(code);
}

/* Every second code doubles; a slip in one entry breaks it. */
TEST(RnrDelay, GrowsByTheSameFactor)
{
	for (uint8_t code = 4; code < 32; code++)
		EXPECT_EQ(pavo_rnr_ns(code),
			  2 * pavo_rnr_ns(static_cast<uint8_t>(code - 2)))
			<< "code " << int(code);
	EXPECT_EQ(pavo_rnr_ns(0), 2 * pavo_rnr_ns(30));
}

TEST(RnrDelay, ClassBitsOfTheSyndromeDoNotMatter)
{
	for (int syndrome = 0; syndrome < 256; syndrome++)
		EXPECT_EQ(pavo_rnr_ns(static_cast<uint8_t>(syndrome)),
			  pavo_rnr_ns(syndrome & 0x1f));
}

TEST(Timeout, IsAPowerOfTwoTimes4096ns)
{
	EXPECT_EQ(pavo_timeout_to_ns(0), 0u); /* no timeout */
	EXPECT_EQ(pavo_timeout_to_ns(1), 8192u);
	EXPECT_EQ(pavo_timeout_to_ns(14), 67108864u);
	EXPECT_EQ(pavo_timeout_to_ns(20), 4294967296u);
	EXPECT_EQ(pavo_timeout_to_ns(31), 8796093022208u);
	for (uint8_t code = 2; code < 32; code++)
		EXPECT_EQ(
			pavo_timeout_to_ns(code),
			2 * pavo_timeout_to_ns(static_cast<uint8_t>(code - 1)));
}

TEST(Mtu, CodesOneToFive)
{
	EXPECT_EQ(pavo_mtu_to_bytes(1), 256u);
	EXPECT_EQ(pavo_mtu_to_bytes(2), 512u);
	EXPECT_EQ(pavo_mtu_to_bytes(3), 1024u);
	EXPECT_EQ(pavo_mtu_to_bytes(4), 2048u);
	EXPECT_EQ(pavo_mtu_to_bytes(5), 4096u);
	for (int code : {-2147483647 - 1, -1, 0, 6, 7, 32, 2147483647})
		EXPECT_EQ(pavo_mtu_to_bytes(code), 0u) << "code " << code;
}

} // namespace
