// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fuzz_pvo.cpp - pavo_pvo_translate() and pavo_pvo_check() on any tables and any
 * PVO: nothing is read outside of a table, and what is granted lies in pages of
 * that region and that job.
 *
 * Input: PVO, length, job; then tables: number, job, page size, entries.
 */
#include <vector>

#include "fuzz.h"

extern "C" {
#include "jobs/pvo.h"
}

namespace {

constexpr uint8_t shifts[] = {12, 16, 24};

struct Tables {
	explicit Tables(Input &input)
	{
		while (input.left()) {
			pavo_tce_table &table =
				table_[input.take<uint8_t>() % PAVO_TCE_TABLES];
			std::vector<u64> &entries = entries_[&table - table_];

			table.job = input.take<uint8_t>() % 4;
			table.shift = shifts[input.take<uint8_t>() % 3];
			entries.resize(input.take<uint8_t>() % 16);
			entries.shrink_to_fit();
			for (u64 &entry : entries)
				entry = input.take<uint64_t>();
			table.tce = entries.data();
			table.count = entries.size();
		}
	}

	const pavo_tce_table *all() const { return table_; }

private:
	pavo_tce_table table_[PAVO_TCE_TABLES] = {};
	std::vector<u64> entries_[PAVO_TCE_TABLES];
};

/* The place of one byte, as everything that was granted must have it. */
void check_place(const pavo_tce_table *tables, uint32_t job, uint64_t pvo)
{
	const pavo_tce_table &table = tables[pavo_pvo_get_table(pvo)];
	uint64_t index = pavo_pvo_get_offset(pvo) >> table.shift;
	pavo_pvo_place place;

	CHECK(pavo_pvo_translate(tables, job, pvo, &place) == PAVO_PVO_OK);
	CHECK(table.job && table.job == job);
	CHECK(index < table.count);
	CHECK(table.tce[index] >> 42 == pvo >> 42);
	CHECK(place.left > 0 && place.left <= 1ull << table.shift);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input input(data, size);
	uint64_t pvo = input.take<uint64_t>();
	uint64_t length = input.take<uint64_t>();
	uint32_t job = 1 + input.take<uint8_t>() % 3;
	Tables tables(input);
	pavo_pvo_place place;

	CHECK((pavo_pvo_translate(tables.all(), job, pvo, &place) ==
	       PAVO_PVO_OK) ==
	      (pavo_pvo_check(tables.all(), job, pvo, 1) == PAVO_PVO_OK));
	if (pavo_pvo_check(tables.all(), job, pvo, length) != PAVO_PVO_OK)
		return 0;
	/* First and last byte, and one in every page that there can be. */
	uint64_t page = 1ull << tables.all()[pavo_pvo_get_table(pvo)].shift;

	CHECK(length <= 16 * page);
	for (uint64_t at = 0; at < length; at += page)
		check_place(tables.all(), job, pvo + at);
	if (length)
		check_place(tables.all(), job, pvo + length - 1);
	return 0;
}
