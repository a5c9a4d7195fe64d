// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * crc32_test.cpp - CRC-32 by carry-less multiplication, in every width that the CPU has, against
 * a CRC by table.
 */
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "random.h"

extern "C" {
#include "wire/crc32_x86.h"
}

namespace {

constexpr std::array<uint32_t, 256> make_table()
{
	std::array<uint32_t, 256> table{};

	for (uint32_t i = 0; i < table.size(); i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		table[i] = crc;
	}
	return table;
}

constexpr std::array<uint32_t, 256> crc_table = make_table();

/* The CRC of one byte more. */
uint32_t add_byte(uint32_t crc, uint8_t byte)
{
	return crc >> 8 ^ crc_table[(crc ^ byte) & 0xff];
}

uint32_t crc_by_table(uint32_t crc, const uint8_t *from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		crc = add_byte(crc, from[i]);
	return crc;
}

/* Random bytes in whole pages, with a page before and one behind that cannot be read. */
class Guarded {
public:
	explicit Guarded(Random &random, size_t pages)
		: size_(pages * page), whole_(size_ + 2 * page)
	{
		void *map = mmap(nullptr, whole_, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (map == MAP_FAILED)
			throw std::runtime_error("mmap");
		base_ = static_cast<uint8_t *>(map);
		if (mprotect(begin(), size_, PROT_READ | PROT_WRITE))
			throw std::runtime_error("mprotect");
		for (size_t i = 0; i < size_; i++)
			begin()[i] = static_cast<uint8_t>(random.bits());
	}

	~Guarded() { munmap(base_, whole_); }
	Guarded(const Guarded &) = delete;
	Guarded &operator=(const Guarded &) = delete;

	uint8_t *begin() { return base_ + page; }
	uint8_t *end() { return begin() + size_; }

private:
	static constexpr size_t page = 4096;
	size_t size_;
	size_t whole_;
	uint8_t *base_;
};

class Crc32 : public testing::TestWithParam<pavo_crc_way> {
protected:
	void SetUp() override
	{
		const pavo_crc_way best = pavo_find_crc_way();

		if (best == PAVO_CRC_BY_NONE)
			GTEST_SKIP() << "the CPU has no PCLMULQDQ";
		if (best < GetParam())
			GTEST_SKIP() << "the CPU goes as far as "
				     << pavo_crc_way_name(best);
	}

	uint32_t crc(uint32_t seed, const uint8_t *from, size_t len)
	{
		return pavo_crc32(GetParam(), seed, from, len);
	}

	uint32_t random_seed() { return static_cast<uint32_t>(random_.bits()); }

	Random random_;
};

constexpr size_t longest = 1100;

TEST_P(Crc32, IsTheOneOfThePublishedCheckValue)
{
	/* Twice the nine digits of the published one: 18 bytes. */
	const std::string digits = "123456789123456789";
	auto bytes = reinterpret_cast<const uint8_t *>(digits.data());

	ASSERT_EQ(~crc_by_table(~0u, bytes, 9), 0xcbf43926u);
	EXPECT_EQ(crc(~0u, bytes, 18), crc_by_table(~0u, bytes, 18));
}

TEST_P(Crc32, IsRightForEveryLengthFromEveryOffset)
{
	Guarded bytes(random_, 1);

	for (size_t offset = 0; offset < 64; offset++) {
		const uint8_t *from = bytes.begin() + offset;
		const uint32_t seed = random_seed();
		uint32_t expected = seed;

		for (size_t len = 1; len <= longest; len++) {
			expected = add_byte(expected, from[len - 1]);
			if (len >= PAVO_CRC_MIN) {
				ASSERT_EQ(crc(seed, from, len), expected)
					<< len << " bytes at " << offset;
			}
		}
	}
}

/* Every bit of the CRC before counts, and all ones and zeros are no exception. */
TEST_P(Crc32, TakesEverySeed)
{
	Guarded bytes(random_, 1);
	std::vector<uint32_t> seeds = {0, ~0u};

	for (int bit = 0; bit < 32; bit++)
		seeds.push_back(1u << bit);
	for (int i = 0; i < 100; i++)
		seeds.push_back(random_seed());
	for (uint32_t seed : seeds) {
		for (size_t len : {16, 17, 63, 64, 128, 255, 256, 640, 1023})
			ASSERT_EQ(crc(seed, bytes.begin(), len),
				  crc_by_table(seed, bytes.begin(), len))
				<< len << " bytes, seed " << seed;
	}
}

TEST_P(Crc32, ReadsNoByteBesideTheBlock)
{
	Guarded bytes(random_, 1);

	for (size_t len = PAVO_CRC_MIN; len <= longest; len++) {
		for (const uint8_t *from : {bytes.begin(), bytes.end() - len}) {
			const uint32_t seed = random_seed();

			ASSERT_EQ(crc(seed, from, len),
				  crc_by_table(seed, from, len))
				<< len << " bytes";
		}
	}
}

TEST_P(Crc32, IsRightForLongBlocks)
{
	constexpr size_t most = 65536 + 64;
	Guarded bytes(random_, 17);
	std::vector<size_t> lens = {4096, 8192, 65535, 65536, 65537, most};

	for (int i = 0; i < 30; i++)
		lens.push_back(longest + random_.below(most - longest));
	for (size_t len : lens) {
		const uint32_t seed = random_seed();
		const uint8_t *from = bytes.end() - len;

		ASSERT_EQ(crc(seed, from, len), crc_by_table(seed, from, len))
			<< len << " bytes";
	}
}

TEST_P(Crc32, GoesOnWhereItStopped)
{
	Guarded bytes(random_, 2);

	for (int i = 0; i < 2000; i++) {
		const size_t first = PAVO_CRC_MIN + random_.below(longest);
		const size_t second = PAVO_CRC_MIN + random_.below(longest);
		const uint8_t *from = bytes.begin() + random_.below(64);
		const uint32_t seed = random_seed();

		ASSERT_EQ(crc(crc(seed, from, first), from + first, second),
			  crc(seed, from, first + second))
			<< first << " bytes and " << second;
	}
}

/* A block and its CRC have a constant for a CRC: rx.c relies on it. */
TEST_P(Crc32, KnowsABlockWithItsOwnCrc)
{
	Guarded bytes(random_, 1);

	for (size_t len = PAVO_CRC_MIN; len <= longest; len++) {
		const uint32_t own = ~crc(~0u, bytes.begin(), len);

		for (size_t i = 0; i < 4; i++)
			bytes.begin()[len + i] =
				static_cast<uint8_t>(own >> 8 * i);
		ASSERT_EQ(crc(~0u, bytes.begin(), len + 4), 0xdebb20e3u)
			<< len << " bytes";
	}
}

INSTANTIATE_TEST_SUITE_P(Width, Crc32,
			 testing::Values(PAVO_CRC_BY_128, PAVO_CRC_BY_256,
					 PAVO_CRC_BY_512),
			 [](const auto &info) {
				 return std::to_string(64 << info.param);
			 });

} // namespace
