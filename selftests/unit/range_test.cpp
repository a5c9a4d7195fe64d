// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * range_test.cpp - ranges of direct windows: the document's own numbers, its table of the two
 * valid bits, what is refused, and what holds in every state.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "random.h"

extern "C" {
#include "direct/range.h"
}

namespace {

constexpr uint32_t size = 4096;
/* The document's base, which is not aligned (page 8). */
constexpr pavo_direct_shape window = {0x12345678, 32, size};

pavo_direct_range armed(uint32_t total, uint32_t flags, bool io = false)
{
	pavo_direct_range range = {};

	range.buffer = 7;
	pavo_direct_arm(&range, total, flags, io);
	return range;
}

/* (PCI Valid, BR Valid) */
std::pair<int, int> valid(const pavo_direct_range &range)
{
	return {pavo_direct_bus_valid(&range), pavo_direct_link_valid(&range)};
}

/* Count @len bytes at @offset; the last ones pass the range to the link side. */
int move(pavo_direct_range &range, uint32_t offset, uint32_t len)
{
	uint32_t admitted = len;
	int err = pavo_direct_admit(&range, range.read, offset, &admitted);

	if (err)
		return err;
	if (pavo_direct_count(&range, admitted, admitted))
		pavo_direct_transition(&range, range.read ?
						       PAVO_DIRECT_DRAINED :
						       PAVO_DIRECT_FULL);
	return 0;
}

void load(pavo_direct_range &range, uint32_t len)
{
	ASSERT_EQ(pavo_direct_transition(&range, PAVO_DIRECT_LOADING), 0);
	pavo_direct_load(&range, len);
}

} // namespace

TEST(DirectTranslation, HasTheDocumentsNumbers)
{
	pavo_direct_place place = {};

	ASSERT_EQ(pavo_direct_find(&window, 0x12347700, 1, &place), 0);
	EXPECT_EQ(place.range, 2u);
	EXPECT_EQ(place.offset, 0x88u);
	EXPECT_EQ(pavo_direct_get_address(&window, 2), 0x12347678u);
	ASSERT_EQ(pavo_direct_find(&window, 0x12345678, size, &place), 0);
	EXPECT_EQ(place.range, 0u);
	EXPECT_EQ(place.offset, 0u);
}

TEST(DirectTranslation, EndsWithTheWindow)
{
	const uint64_t end = window.base + 32 * uint64_t(size);
	pavo_direct_place place = {};

	EXPECT_EQ(pavo_direct_find(&window, end - 1, 1, &place), 0);
	EXPECT_EQ(place.range, 31u);
	EXPECT_EQ(place.offset, size - 1);
	EXPECT_EQ(pavo_direct_find(&window, end, 1, &place), -ERANGE);
	EXPECT_EQ(pavo_direct_find(&window, window.base - 1, 1, &place),
		  -ERANGE);
	EXPECT_EQ(pavo_direct_find(&window, 0, 1, &place), -ERANGE);
	EXPECT_EQ(pavo_direct_find(&window, ~0ull, 1, &place), -ERANGE);
	/* No bytes of two ranges at once. */
	EXPECT_EQ(pavo_direct_find(&window, window.base + 1, size, &place),
		  -ERANGE);
	EXPECT_EQ(pavo_direct_find(&window, window.base, ~0ull, &place),
		  -ERANGE);
}

TEST(DirectTranslation, MayReachTheEndOfTheAddresses)
{
	const pavo_direct_shape last = {~0ull - 2 * uint64_t(size) + 1, 2,
					size};
	pavo_direct_place place = {};

	ASSERT_EQ(pavo_direct_find(&last, ~0ull, 1, &place), 0);
	EXPECT_EQ(place.range, 1u);
	EXPECT_EQ(place.offset, size - 1);
	EXPECT_EQ(pavo_direct_find(&last, 0, 1, &place), -ERANGE);
}

TEST(DirectStates, OfAWriteAreThoseOfTheDocument)
{
	pavo_direct_range range = {};

	EXPECT_EQ(valid(range), std::make_pair(0, 0));
	range = armed(size, 0);
	EXPECT_EQ(valid(range), std::make_pair(1, 0));
	EXPECT_EQ(move(range, 0, size - 1), 0);
	EXPECT_EQ(valid(range), std::make_pair(1, 0));
	EXPECT_EQ(move(range, size - 1, 1), 0);
	EXPECT_EQ(valid(range), std::make_pair(0, 1));
	EXPECT_EQ(pavo_direct_transition(&range, PAVO_DIRECT_SENDING), 0);
	EXPECT_EQ(valid(range), std::make_pair(0, 1));
	EXPECT_EQ(pavo_direct_transition(&range, PAVO_DIRECT_IDLE), 0);
	EXPECT_EQ(valid(range), std::make_pair(0, 0));
}

TEST(DirectStates, OfAReadAreThoseOfTheDocument)
{
	pavo_direct_range range = armed(512, PAVO_DIRECT_READ);

	EXPECT_EQ(valid(range), std::make_pair(0, 1));
	load(range, 256);
	EXPECT_EQ(valid(range), std::make_pair(1, 0));
	EXPECT_EQ(move(range, 0, 256), 0);
	EXPECT_EQ(valid(range), std::make_pair(0, 0));
	load(range, 256);
	EXPECT_EQ(valid(range), std::make_pair(1, 0));
	EXPECT_EQ(move(range, 256, 256), 0);
	EXPECT_EQ(valid(range), std::make_pair(0, 0));
	EXPECT_EQ(pavo_direct_transition(&range, PAVO_DIRECT_IDLE), 0);
}

TEST(DirectStates, OfAWholeReadAreHandedOverOnce)
{
	pavo_direct_range range =
		armed(600, PAVO_DIRECT_READ | PAVO_DIRECT_WHOLE);

	load(range, 256);
	EXPECT_EQ(valid(range), std::make_pair(0, 1));
	load(range, 256);
	load(range, 88);
	EXPECT_EQ(valid(range), std::make_pair(1, 0));
	EXPECT_EQ(range.response, 600u);
	EXPECT_EQ(move(range, 0, 600), 0);
	EXPECT_EQ(valid(range), std::make_pair(0, 0));
}

/* An I/O of the module fills the range: no byte of another is counted, and it is full at once. */
TEST(DirectStates, AnInputOfTheModule)
{
	pavo_direct_range range = armed(100, 0, true);

	EXPECT_EQ(range.state, PAVO_DIRECT_INPUT);
	EXPECT_EQ(move(range, 0, 1), -EBADF);
	pavo_direct_end_io(&range, 0);
	EXPECT_EQ(range.state, PAVO_DIRECT_FULL);
	EXPECT_EQ(range.count, 100u);

	range = armed(100, 0, true);
	pavo_direct_end_io(&range, -EIO);
	EXPECT_EQ(range.state, PAVO_DIRECT_FAILED);
	EXPECT_EQ(range.error, EIO);
	EXPECT_EQ(valid(range), std::make_pair(0, 0));
	range = armed(100, 0, true);
	pavo_direct_end_io(&range, -512);
	EXPECT_EQ(range.error, EIO) << "a code of the kernel's own";
	EXPECT_EQ(range.state, PAVO_DIRECT_FAILED);
	EXPECT_EQ(pavo_direct_transition(&range, PAVO_DIRECT_SENDING), -EINVAL);
}

TEST(DirectStates, AnOutputOfTheModuleBeginsWithTheLastByte)
{
	pavo_direct_range range = armed(100, PAVO_DIRECT_READ, true);

	load(range, 60);
	EXPECT_EQ(range.state, PAVO_DIRECT_REQUESTED);
	load(range, 40);
	EXPECT_EQ(range.state, PAVO_DIRECT_OUTPUT);
	EXPECT_EQ(move(range, 0, 1), -EBADF);
	pavo_direct_end_io(&range, 0);
	EXPECT_EQ(range.state, PAVO_DIRECT_DRAINED);
}

TEST(DirectStates, BothSidesNeverHaveTheirTurnAtOnce)
{
	for (int state = 0; state < PAVO_DIRECT_STATES; state++) {
		pavo_direct_range range = {};

		range.state = state;
		EXPECT_FALSE(pavo_direct_bus_valid(&range) &&
			     pavo_direct_link_valid(&range))
			<< pavo_direct_state_name(state);
	}
}

/* No page enters a page table, and no driver gets a mapping, once the last byte was counted. */
TEST(DirectStates, BytesAreTouchedWhileTheirTurnIsNotEnding)
{
	for (int state = 0; state < PAVO_DIRECT_STATES; state++) {
		const bool filling = state == PAVO_DIRECT_FILLING;
		const bool loaded = state == PAVO_DIRECT_LOADED;
		pavo_direct_range range = {};

		range.state = state;
		EXPECT_EQ(pavo_direct_may_touch(&range, true), filling)
			<< pavo_direct_state_name(state);
		EXPECT_EQ(pavo_direct_may_touch(&range, false),
			  filling || loaded)
			<< pavo_direct_state_name(state);
	}
}

TEST(DirectRange, TakesNoByteTooMany)
{
	pavo_direct_range range = armed(100, 0);

	EXPECT_EQ(move(range, 0, 101), -ENOSPC);
	EXPECT_EQ(move(range, 100, 1), -ENOSPC);
	EXPECT_EQ(move(range, ~0u, 1), -ENOSPC);
	EXPECT_EQ(move(range, 1, ~0u), -ENOSPC);
	EXPECT_EQ(move(range, 0, 60), 0);
	EXPECT_EQ(move(range, 0, 41), -ENOSPC) << "bytes are counted";
	EXPECT_EQ(move(range, 60, 40), 0);
	EXPECT_EQ(move(range, 0, 1), -EBADF)
		<< "the bus side does not own the range";
	EXPECT_EQ(range.count, 100u);
}

TEST(DirectRange, RefusesTheOtherDirectionAndIdleRanges)
{
	pavo_direct_range range = {};
	uint32_t len = 1;

	EXPECT_EQ(pavo_direct_admit(&range, false, 0, &len), -EBADF);
	EXPECT_EQ(pavo_direct_admit(&range, true, 0, &len), -EBADF);
	range = armed(10, 0);
	EXPECT_EQ(pavo_direct_admit(&range, true, 0, &len), -EBADF);
	range = armed(10, PAVO_DIRECT_READ);
	EXPECT_EQ(pavo_direct_admit(&range, false, 0, &len), -EBADF);
	EXPECT_EQ(pavo_direct_admit(&range, true, 0, &len), -EAGAIN);
}

TEST(DirectRange, ReadersSeeEachByteOfAResponse)
{
	pavo_direct_range range = armed(300, PAVO_DIRECT_READ);
	uint32_t len = 1000;

	load(range, 200);
	ASSERT_EQ(pavo_direct_admit(&range, true, 50, &len), 0);
	EXPECT_EQ(len, 150u) << "up to the end of the response";
	EXPECT_FALSE(pavo_direct_count(&range, len, len));
	len = 1;
	EXPECT_EQ(pavo_direct_admit(&range, true, 200, &len), -EAGAIN);
	EXPECT_EQ(pavo_direct_admit(&range, true, 300, &len), -ENODATA);
	EXPECT_EQ(move(range, 0, 50), 0);
	load(range, 100);
	EXPECT_EQ(move(range, 199, 1), -ENODATA) << "that byte was drained";
	EXPECT_EQ(move(range, 200, 100), 0);
	EXPECT_EQ(range.done + range.response, 300u);
}

TEST(DirectRange, GivesBytesBackThatWereNotCopied)
{
	pavo_direct_range range = armed(100, 0);
	uint32_t len = 100;

	ASSERT_EQ(pavo_direct_admit(&range, false, 0, &len), 0);
	EXPECT_FALSE(pavo_direct_count(&range, 100, 30));
	EXPECT_EQ(move(range, 30, 70), 0);
	EXPECT_EQ(range.state, PAVO_DIRECT_FULL);
}

TEST(DirectRange, GoesNoWayThatIsNotInTheTable)
{
	static const std::pair<pavo_direct_state, pavo_direct_state> wrong[] = {
		{PAVO_DIRECT_IDLE, PAVO_DIRECT_SENDING},
		{PAVO_DIRECT_FILLING, PAVO_DIRECT_SENDING},
		{PAVO_DIRECT_FILLING, PAVO_DIRECT_IDLE},
		{PAVO_DIRECT_SENDING, PAVO_DIRECT_ENDING},
		{PAVO_DIRECT_LOADED, PAVO_DIRECT_LOADING},
		{PAVO_DIRECT_ENDING, PAVO_DIRECT_FILLING},
	};

	for (auto [from, to] : wrong) {
		pavo_direct_range range = {};

		range.state = from;
		EXPECT_EQ(pavo_direct_transition(&range, to), -EINVAL)
			<< pavo_direct_state_name(from) << " to "
			<< pavo_direct_state_name(to);
		EXPECT_EQ(range.state, from);
	}
}

/* A mapping as in figure 19b; the tests of the adapter see it live. */
TEST(DirectRegister, TellsTheBufferAndTheBytes)
{
	pavo_direct_range range = armed(size, 0);
	pavo_direct_register reg = {};

	range.buffer = 31;
	ASSERT_EQ(move(range, 0, 1000), 0);
	pavo_direct_fill_register(&range, &reg);
	EXPECT_EQ(reg.buffer, 31u);
	EXPECT_EQ(reg.total, size);
	EXPECT_EQ(reg.count, 1000u);
	EXPECT_EQ(reg.type, PAVO_DIRECT_TYPE_WRITE);
	EXPECT_EQ(reg.uses, 1u);
	EXPECT_EQ(reg.bus_valid, 1);
	EXPECT_EQ(reg.link_valid, 0);
}

/* Any sequence of calls: never more bytes than the total, and the range changes sides once. */
TEST(DirectRange, CountsRightInAnyOrder)
{
	Random random(32);

	for (int round = 0; round < 20000; round++) {
		uint32_t total = 1 + random.below(size), ends = 0;
		pavo_direct_range range = armed(total, 0);
		std::vector<uint32_t> under_way;

		while (range.state == PAVO_DIRECT_FILLING) {
			uint32_t offset = random.below(total + 10);
			uint32_t len = 1 + random.below(total + 10);

			if (random.below(2) || under_way.empty()) {
				int err = pavo_direct_admit(&range, false,
							    offset, &len);

				if (!err)
					under_way.push_back(len);
				if (err && under_way.empty()) {
					len = total - range.admitted;
					ASSERT_EQ(move(range, 0, len), 0);
				}
				continue;
			}
			len = under_way.back();
			under_way.pop_back();
			ends += pavo_direct_count(&range, len,
						  random.below(len + 1));
			ASSERT_LE(range.admitted, total);
			ASSERT_LE(range.count, range.admitted);
		}
		ASSERT_EQ(range.count, total);
		ASSERT_LE(ends, 1u);
		ASSERT_TRUE(under_way.empty());
	}
}
