// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * segment_faults.cpp - the segments behind the NextSeg with wrong values:
 * remote range, operands, data entries, keys, inline data.
 */
#include "fault.h"

namespace faults {
namespace {

Wqe plain_write(Pair &pair)
{
	return good_write(pair);
}
Wqe plain_read(Pair &pair)
{
	return good_read(pair);
}
Wqe plain_inline(Pair &pair)
{
	return good_inline(pair);
}

/* Where the first data entry of a write or read is, in units. */
constexpr size_t DATA = 2;

pavo_data_seg &data(Attempt &a, size_t entry = 0)
{
	return a.wqe.at<pavo_data_seg>(DATA + entry);
}

/* The other side finds out; it answers with a NAK. */
void add_remote_ranges(Cases &cases, Hostile &hostile)
{
	struct {
		const char *what;
		std::function<void(Attempt &)> spoil;
	} list[] = {
		{"unknown key",
		 [](Attempt &a) { a.wqe.remote().rkey ^= 0x5a5a00; }},
		{"key 0", [](Attempt &a) { a.wqe.remote().rkey = 0; }},
		{"key ffffffff", [](Attempt &a) { a.wqe.remote().rkey = ~0u; }},
		{"variant bits of the key",
		 [](Attempt &a) { a.wqe.remote().rkey ^= 1; }},
		{"one byte before", [](Attempt &a) { a.wqe.remote().va--; }},
		{"one byte too far",
		 [](Attempt &a) {
			 a.wqe.remote().va += a.pair.sink.size() - 63;
		 }},
		{"address 0", [](Attempt &a) { a.wqe.remote().va = 0; }},
		{"address that wraps",
		 [](Attempt &a) { a.wqe.remote().va = ~0ull - 10; }},
	};

	for (auto &entry : list)
		add_fault(cases, hostile,
			  {.name = std::string("RaddrSeg: ") + entry.what,
			   .base = plain_write,
			   .spoil = entry.spoil,
			   .vendor = PAVO_VE_REMOTE_NAK,
			   .status = IBV_WC_REM_ACCESS_ERR});
	for (uint32_t length : {0u, 1u, 63u, 65u, 1u << 30, 1u << 31, ~0u})
		add_fault(cases, hostile,
			  {.name = "RaddrSeg: length " +
				   std::to_string(length) + " for 64 bytes",
			   .base = plain_write,
			   .spoil =
				   [length](Attempt &a) {
					   a.wqe.remote().length = length;
				   },
			   .vendor = PAVO_VE_WQE_LENGTH});
}

void add_atomics(Cases &cases, Hostile &hostile)
{
	for (uint32_t length : {0u, 4u, 7u, 9u, 16u})
		add_fault(cases, hostile,
			  {.name = "AtomicSeg: result of " +
				   std::to_string(length) + " bytes",
			   .base = good_atomic,
			   .spoil =
				   [length](Attempt &a) {
					   a.wqe.remote().length = length;
					   data(a, 1).byte_count = length;
				   },
			   .vendor = PAVO_VE_WQE_LENGTH});
	add_fault(cases, hostile,
		  {.name = "AtomicSeg: misaligned remote address",
		   .base = good_atomic,
		   .spoil = [](Attempt &a) { a.wqe.remote().va += 4; },
		   .vendor = PAVO_VE_REMOTE_NAK,
		   .status = IBV_WC_REM_INV_REQ_ERR});
	add_fault(cases, hostile,
		  {.name = "AtomicSeg: missing",
		   .base = good_atomic,
		   .spoil = [](Attempt &a) { a.doorbell.size = 2; },
		   .vendor = PAVO_VE_WQE_SEGMENT});
}

void add_ranges(Cases &cases, Hostile &hostile)
{
	struct {
		const char *what;
		std::function<void(Attempt &)> spoil;
		pavo_vendor_err vendor;
	} list[] = {
		{"unknown key", [](Attempt &a) { data(a).lkey ^= 0x5a5a00; },
		 PAVO_VE_LKEY},
		{"key ffffffff", [](Attempt &a) { data(a).lkey = ~0u; },
		 PAVO_VE_LKEY},
		{"variant bits of the key",
		 [](Attempt &a) { data(a).lkey ^= 1; }, PAVO_VE_LKEY},
		{"the kernel's own key 0", [](Attempt &a) { data(a).lkey = 0; },
		 PAVO_VE_LKEY},
		{"one byte before", [](Attempt &a) { data(a).va--; },
		 PAVO_VE_LKEY_RANGE},
		{"one byte too far",
		 [](Attempt &a) { data(a).va += a.pair.source.size() - 63; },
		 PAVO_VE_LKEY_RANGE},
		{"an address that wraps",
		 [](Attempt &a) { data(a).va = ~0ull - 10; },
		 PAVO_VE_LKEY_RANGE},
		{"an address of the kernel",
		 [](Attempt &a) { data(a).va = 0xffff888000000000ull; },
		 PAVO_VE_LKEY_RANGE},
	};

	for (auto &entry : list)
		add_fault(cases, hostile,
			  {.name = std::string("DataSeg: ") + entry.what,
			   .base = plain_write,
			   .spoil = entry.spoil,
			   .vendor = entry.vendor});
}

/* Entries whose lengths are the fault. */
void add_lengths(Cases &cases, Hostile &hostile)
{
	struct {
		const char *what;
		uint32_t first, second;
		pavo_vendor_err vendor;
	} list[] = {
		{"2 GiB in two entries", 0x7fffffff, 1, PAVO_VE_WQE_LENGTH},
		{"2^32 - 2 in two entries", 0x7fffffff, 0x7fffffff,
		 PAVO_VE_WQE_LENGTH},
		{"an inline segment behind an entry", 64, PAVO_INLINE_SEG,
		 PAVO_VE_WQE_SEGMENT},
		{"an endless inline segment behind an entry", 64, ~0u,
		 PAVO_VE_WQE_SEGMENT},
	};

	for (auto &entry : list)
		add_fault(cases, hostile,
			  {.name = std::string("DataSeg: ") + entry.what,
			   .base = plain_write,
			   .spoil =
				   [entry](Attempt &a) {
					   pavo_data_seg second = data(a);

					   data(a).byte_count = entry.first;
					   second.byte_count = entry.second;
					   a.wqe.add(second);
					   a.wqe.remote().length =
						   entry.first + entry.second;
					   a.doorbell.size = a.wqe.units();
				   },
			   .vendor = entry.vendor});
	add_fault(cases, hostile,
		  {.name = "DataSeg: 2 GiB less one of a small region",
		   .base = plain_write,
		   .spoil =
			   [](Attempt &a) {
				   data(a).byte_count = 0x7fffffff;
				   a.wqe.remote().length = 0x7fffffff;
			   },
		   .vendor = PAVO_VE_LKEY_RANGE});
	/* The slot is long because of inline data; one entry is the limit. */
	add_fault(cases, hostile,
		  {.name = "DataSeg: more entries than the QP was made for",
		   .base = plain_write,
		   .spoil =
			   [](Attempt &a) {
				   a.wqe.add(data(a));
				   a.wqe.remote().length = 128;
				   a.doorbell.size = a.wqe.units();
			   },
		   .vendor = PAVO_VE_WQE_SEGMENT},
		  {.sges = 1, .inline_data = 256});
}

/* A PD with memory in it. */
struct OtherDomain {
	struct Pd {
		ibv_pd *pd;

		explicit Pd(Device &device) : pd(ibv_alloc_pd(device.context()))
		{
			REQUIRE(pd, "errno ", errno);
		}
		~Pd() { ibv_dealloc_pd(pd); }
	} pd;
	Memory memory;

	explicit OtherDomain(Device &device) : pd(device), memory(pd.pd, 4096)
	{
	}
};

void add_foreign_keys(Cases &cases, Hostile &hostile)
{
	add_fault(cases, hostile,
		  {.name = "DataSeg: key of another PD",
		   .base = plain_write,
		   .spoil =
			   [](Attempt &a) {
				   auto other = std::make_shared<OtherDomain>(
					   a.pair.a.device());

				   data(a).lkey = other->memory.lkey();
				   data(a).va = other->memory.address();
				   a.kept.push_back(other);
			   },
		   .vendor = PAVO_VE_LKEY_PD});
	add_fault(cases, hostile,
		  {.name = "DataSeg: key of a region that is gone",
		   .base = plain_write,
		   .spoil =
			   [](Attempt &a) {
				   Memory gone(a.pair.a.device().pd(), 4096);

				   data(a).lkey = gone.lkey();
				   data(a).va = gone.address();
			   },
		   .vendor = PAVO_VE_LKEY});
	add_fault(cases, hostile,
		  {.name = "DataSeg: reading into memory one may not write",
		   .base = plain_read,
		   .spoil =
			   [](Attempt &a) {
				   auto fixed = std::make_shared<Memory>(
					   a.pair.a.device().pd(), 4096, 0);

				   data(a).lkey = fixed->lkey();
				   data(a).va = fixed->address();
				   a.kept.push_back(fixed);
			   },
		   .vendor = PAVO_VE_LKEY_ACCESS});
}

void add_inlines(Cases &cases, Hostile &hostile)
{
	/* 24 bytes and the word before them are two units. */
	struct {
		uint32_t length;
		pavo_vendor_err vendor;
	} list[] = {
		{0, PAVO_VE_WQE_SEGMENT},
		{12, PAVO_VE_WQE_SEGMENT},
		{13, PAVO_VE_NONE},
		{28, PAVO_VE_NONE},
		{29, PAVO_VE_WQE_LENGTH},
		{1u << 20, PAVO_VE_WQE_LENGTH},
		{0x7ffffffb, PAVO_VE_WQE_LENGTH},
		{0x7fffffff, PAVO_VE_WQE_LENGTH},
	};

	for (auto &entry : list)
		add_fault(
			cases, hostile,
			{.name = "InlineSeg: " + std::to_string(entry.length) +
				 " bytes in two units",
			 .base = plain_inline,
			 .spoil =
				 [entry](Attempt &a) {
					 data(a).byte_count = PAVO_INLINE_SEG |
							      entry.length;
					 a.wqe.remote().length = entry.length;
				 },
			 .vendor = entry.vendor});
	add_fault(cases, hostile,
		  {.name = "InlineSeg: for a read",
		   .base = plain_inline,
		   .spoil = [](Attempt &a) { a.doorbell.op = PAVO_WQE_READ; },
		   .vendor = PAVO_VE_WQE_SEGMENT});
	add_fault(cases, hostile,
		  {.name = "InlineSeg: a data entry behind it",
		   .base = plain_inline,
		   .spoil =
			   [](Attempt &a) {
				   a.wqe.add(pavo_data_seg{});
				   a.doorbell.size = a.wqe.units();
			   },
		   .vendor = PAVO_VE_WQE_SEGMENT});
}

} // namespace

void add_segment_faults(Cases &cases, Hostile &hostile)
{
	add_remote_ranges(cases, hostile);
	add_atomics(cases, hostile);
	add_ranges(cases, hostile);
	add_lengths(cases, hostile);
	add_foreign_keys(cases, hostile);
	add_inlines(cases, hostile);
}

} // namespace faults
