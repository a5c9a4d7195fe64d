// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * wqe_faults.cpp - doorbells and NextSegs with every field at wrong values.
 */
#include "fault.h"

namespace faults {
namespace {

Wqe sized_write(Pair &pair)
{
	return good_write(pair);
}

void add_sizes(Faults &faults)
{
	struct {
		uint32_t size;
		pavo_vendor_err vendor;
	} list[] = {
		{0, PAVO_VE_WQE_SIZE},
		{1, PAVO_VE_WQE_SEGMENT}, /* ends behind the NextSeg */
		{2, PAVO_VE_WQE_LENGTH}, /* no data, but a length */
		{255, PAVO_VE_WQE_SIZE},
	};

	for (auto &entry : list)
		add_fault(faults,
			  "doorbell: size " + std::to_string(entry.size),
			  sized_write, entry.vendor, [entry](Attempt &a) {
				  a.doorbell.size = entry.size;
			  });
	add_fault(faults, "doorbell: size one unit beyond the slot",
		  sized_write, PAVO_VE_WQE_SIZE, [](Attempt &a) {
			  a.doorbell.size = a.sq.stride_units() + 1;
		  });
	add_fault(faults, "doorbell: size with surplus segments of zeros",
		  sized_write, PAVO_VE_NONE, [](Attempt &a) {
			  a.wqe.add(pavo_data_seg{}).add(pavo_data_seg{});
			  a.doorbell.size = a.wqe.units();
		  }); /* empty entries are allowed */
}

void add_offsets(Faults &faults)
{
	struct {
		const char *what;
		std::function<uint32_t(RawSq &)> offset;
	} list[] = {
		{"one unit further", [](RawSq &) { return 1u; }},
		{"one unit before the next slot",
		 [](RawSq &sq) { return sq.stride_units() - 1; }},
		{"the next slot", [](RawSq &sq) { return sq.stride_units(); }},
		{"the last slot",
		 [](RawSq &sq) {
			 return (sq.count() - 1) * sq.stride_units();
		 }},
		{"the end of the queue",
		 [](RawSq &sq) { return sq.count() * sq.stride_units(); }},
		{"2^25", [](RawSq &) { return 1u << 25; }},
		{"the largest", [](RawSq &) { return PAVO_DB_OFFSET_MAX; }},
	};

	for (auto &entry : list)
		add_fault(faults, std::string("doorbell: offset ") + entry.what,
			  sized_write, PAVO_VE_WQE_OFFSET, [entry](Attempt &a) {
				  a.doorbell.units = entry.offset(a.sq);
			  });
}

/* Operations that are for the kernel alone, or for no consumer. */
void add_opcodes(Faults &faults)
{
	for (uint32_t op = PAVO_WQE_REG_MR; op <= PAVO_DB_OP_MASK; op++) {
		if (op == PAVO_WQE_ATOMIC_WRITE)
			continue;
		if (op >= PAVO_WQE_FLUSH && op <= PAVO_WQE_IMM64) {
			add_fault(faults,
				  "doorbell: the body of a write, "
				  "called operation " +
					  std::to_string(op),
				  sized_write, PAVO_VE_WQE_SEGMENT,
				  [op](Attempt &a) { a.doorbell.op = op; });
			continue;
		}
		add_fault(faults, "doorbell: operation " + std::to_string(op),
			  sized_write, PAVO_VE_WQE_OPCODE,
			  [op](Attempt &a) { a.doorbell.op = op; });
	}
	add_fault(faults,
		  "doorbell: a write of other than 8 bytes, called "
		  "atomic write",
		  sized_write, PAVO_VE_WQE_LENGTH,
		  [](Attempt &a) { a.doorbell.op = PAVO_WQE_ATOMIC_WRITE; });
	add_fault(faults, "doorbell: NOP with segments", sized_write,
		  PAVO_VE_WQE_SEGMENT,
		  [](Attempt &a) { a.doorbell.op = PAVO_WQE_NOP; });
	add_fault(faults, "doorbell: the body of a write, called atomic",
		  sized_write, PAVO_VE_WQE_SEGMENT, [](Attempt &a) {
			  a.doorbell.op = PAVO_WQE_FETCH_ADD;
		  }); /* its address compares */
	/* RaddrSeg as data: 'byte_count' and key are an address. */
	add_fault(faults, "doorbell: the body of a write, called send",
		  sized_write, PAVO_VE_LKEY, [](Attempt &a) {
			  a.doorbell.op = PAVO_WQE_SEND;
			  a.wqe.remote().va = 0x1234567800000040;
		  });
}

void add_next_segments(Faults &faults)
{
	for (int bit = 2; bit < 32; bit++)
		add_fault(faults,
			  "NextSeg: reserved flag " + std::to_string(bit),
			  sized_write, PAVO_VE_WQE_FLAGS, [bit](Attempt &a) {
				  a.wqe.next().flags |= 1u << bit;
			  });
	for (uint32_t size : {0x100u, 0x101u, 0x80000000u, 0xffffffffu})
		add_fault(faults, "NextSeg: size " + std::to_string(size),
			  sized_write, PAVO_VE_WQE_FLAGS,
			  [size](Attempt &a) { a.wqe.next().size = size; });
	add_fault(faults, "NextSeg: a next without a size is none", sized_write,
		  PAVO_VE_NONE, [](Attempt &a) { a.wqe.next().next = ~0u; });
	add_fault(
		faults,
		"NextSeg: immediate data nobody asked for", // lint-words: a name
		sized_write, PAVO_VE_NONE,
		[](Attempt &a) { a.wqe.next().imm = ~0u; });
}

} // namespace

void add_wqe_faults(Faults &faults)
{
	add_sizes(faults);
	add_offsets(faults);
	add_opcodes(faults);
	add_next_segments(faults);
}

} // namespace faults
