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
void add_remote_ranges(Faults &faults)
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
		add_fault(faults, std::string("RaddrSeg: ") + entry.what,
			  plain_write, PAVO_VE_REMOTE_NAK, entry.spoil,
			  IBV_WC_REM_ACCESS_ERR);
	for (uint32_t length : {0u, 1u, 63u, 65u, 1u << 30, 1u << 31, ~0u})
		add_fault(faults,
			  "RaddrSeg: length " + std::to_string(length) +
				  " for 64 bytes",
			  plain_write, PAVO_VE_WQE_LENGTH,
			  [length](Attempt &a) {
				  a.wqe.remote().length = length;
			  });
}

void add_atomics(Faults &faults)
{
	for (uint32_t length : {0u, 4u, 7u, 9u, 16u})
		add_fault(faults,
			  "AtomicSeg: result of " + std::to_string(length) +
				  " bytes",
			  good_atomic, PAVO_VE_WQE_LENGTH,
			  [length](Attempt &a) {
				  a.wqe.remote().length = length;
				  data(a, 1).byte_count = length;
			  });
	add_fault(
		faults, "AtomicSeg: misaligned remote address", good_atomic,
		PAVO_VE_REMOTE_NAK, [](Attempt &a) { a.wqe.remote().va += 4; },
		IBV_WC_REM_INV_REQ_ERR);
	add_fault(faults, "AtomicSeg: missing", good_atomic,
		  PAVO_VE_WQE_SEGMENT, [](Attempt &a) { a.doorbell.size = 2; });
}

void add_ranges(Faults &faults)
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
		add_fault(faults, std::string("DataSeg: ") + entry.what,
			  plain_write, entry.vendor, entry.spoil);
}

/* Entries whose lengths are the fault. */
void add_lengths(Faults &faults)
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
		add_fault(faults, std::string("DataSeg: ") + entry.what,
			  plain_write, entry.vendor, [entry](Attempt &a) {
				  pavo_data_seg second = data(a);

				  data(a).byte_count = entry.first;
				  second.byte_count = entry.second;
				  a.wqe.add(second);
				  a.wqe.remote().length =
					  entry.first + entry.second;
				  a.doorbell.size = a.wqe.units();
			  });
	add_fault(faults, "DataSeg: 2 GiB less one of a small region",
		  plain_write, PAVO_VE_LKEY_RANGE, [](Attempt &a) {
			  data(a).byte_count = 0x7fffffff;
			  a.wqe.remote().length = 0x7fffffff;
		  });
	/* The slot is long because of inline data; one entry is the limit. */
	add_fault(faults, "DataSeg: more entries than the QP was made for",
		  plain_write, PAVO_VE_WQE_SEGMENT,
		  [](Attempt &a) {
			  a.wqe.add(data(a));
			  a.wqe.remote().length = 128;
			  a.doorbell.size = a.wqe.units();
		  },
		  IBV_WC_SUCCESS, {.sges = 1, .inline_data = 256});
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

void add_foreign_keys(Faults &faults)
{
	add_fault(faults, "DataSeg: key of another PD", plain_write,
		  PAVO_VE_LKEY_PD, [](Attempt &a) {
			  auto other = std::make_shared<OtherDomain>(
				  a.pair.a.device());

			  data(a).lkey = other->memory.lkey();
			  data(a).va = other->memory.address();
			  a.kept.push_back(other);
		  });
	add_fault(faults, "DataSeg: key of a region that is gone", plain_write,
		  PAVO_VE_LKEY, [](Attempt &a) {
			  Memory gone(a.pair.a.device().pd(), 4096);

			  data(a).lkey = gone.lkey();
			  data(a).va = gone.address();
		  });
	add_fault(faults, "DataSeg: reading into memory one may not write",
		  plain_read, PAVO_VE_LKEY_ACCESS, [](Attempt &a) {
			  auto fixed = std::make_shared<Memory>(
				  a.pair.a.device().pd(), 4096, 0);

			  data(a).lkey = fixed->lkey();
			  data(a).va = fixed->address();
			  a.kept.push_back(fixed);
		  });
}

void add_inlines(Faults &faults)
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
		add_fault(faults,
			  "InlineSeg: " + std::to_string(entry.length) +
				  " bytes in two units",
			  plain_inline, entry.vendor, [entry](Attempt &a) {
				  data(a).byte_count = PAVO_INLINE_SEG |
						       entry.length;
				  a.wqe.remote().length = entry.length;
			  });
	add_fault(faults, "InlineSeg: for a read", plain_inline,
		  PAVO_VE_WQE_SEGMENT,
		  [](Attempt &a) { a.doorbell.op = PAVO_WQE_READ; });
	add_fault(faults, "InlineSeg: a data entry behind it", plain_inline,
		  PAVO_VE_WQE_SEGMENT, [](Attempt &a) {
			  a.wqe.add(pavo_data_seg{});
			  a.doorbell.size = a.wqe.units();
		  });
}

} // namespace

void add_segment_faults(Faults &faults)
{
	add_remote_ranges(faults);
	add_atomics(faults);
	add_ranges(faults);
	add_lengths(faults);
	add_foreign_keys(faults);
	add_inlines(faults);
}

} // namespace faults
