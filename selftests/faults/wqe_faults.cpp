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

void add_sizes(Cases &cases, Hostile &hostile)
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
		add_fault(
			cases, hostile,
			{.name = "doorbell: size " + std::to_string(entry.size),
			 .base = sized_write,
			 .spoil =
				 [entry](Attempt &a) {
					 a.doorbell.size = entry.size;
				 },
			 .vendor = entry.vendor});
	add_fault(cases, hostile,
		  {.name = "doorbell: size one unit beyond the slot",
		   .base = sized_write,
		   .spoil =
			   [](Attempt &a) {
				   a.doorbell.size = a.sq.stride_units() + 1;
			   },
		   .vendor = PAVO_VE_WQE_SIZE});
	add_fault(cases, hostile,
		  {.name = "doorbell: size with surplus segments of zeros",
		   .base = sized_write,
		   .spoil =
			   [](Attempt &a) {
				   a.wqe.add(pavo_data_seg{})
					   .add(pavo_data_seg{});
				   a.doorbell.size = a.wqe.units();
			   },
		   .vendor = PAVO_VE_NONE}); /* empty entries are allowed */
}

void add_offsets(Cases &cases, Hostile &hostile)
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
		add_fault(
			cases, hostile,
			{.name = std::string("doorbell: offset ") + entry.what,
			 .base = sized_write,
			 .spoil =
				 [entry](Attempt &a) {
					 a.doorbell.units = entry.offset(a.sq);
				 },
			 .vendor = PAVO_VE_WQE_OFFSET});
}

/* Operations that are for the kernel alone, or for nobody. */
void add_opcodes(Cases &cases, Hostile &hostile)
{
	for (uint32_t op = PAVO_WQE_REG_MR; op <= PAVO_DB_OP_MASK; op++) {
		if (op == PAVO_WQE_ATOMIC_WRITE)
			continue;
		if (op >= PAVO_WQE_EXT_FETCH_ADD && op <= PAVO_WQE_IMM64) {
			add_fault(cases, hostile,
				  {.name = "doorbell: the body of a write, "
					   "called operation " +
					   std::to_string(op),
				   .base = sized_write,
				   .spoil =
					   [op](Attempt &a) {
						   a.doorbell.op = op;
					   },
				   .vendor = PAVO_VE_WQE_SEGMENT});
			continue;
		}
		add_fault(cases, hostile,
			  {.name = "doorbell: operation " + std::to_string(op),
			   .base = sized_write,
			   .spoil = [op](Attempt &a) { a.doorbell.op = op; },
			   .vendor = PAVO_VE_WQE_OPCODE});
	}
	add_fault(cases, hostile,
		  {.name = "doorbell: a write of other than 8 bytes, called "
			   "atomic write",
		   .base = sized_write,
		   .spoil =
			   [](Attempt &a) {
				   a.doorbell.op = PAVO_WQE_ATOMIC_WRITE;
			   },
		   .vendor = PAVO_VE_WQE_LENGTH});
	add_fault(cases, hostile,
		  {.name = "doorbell: NOP with segments",
		   .base = sized_write,
		   .spoil = [](Attempt &a) { a.doorbell.op = PAVO_WQE_NOP; },
		   .vendor = PAVO_VE_WQE_SEGMENT});
	add_fault(
		cases, hostile,
		{.name = "doorbell: the body of a write, called atomic",
		 .base = sized_write,
		 .spoil = [](Attempt &a) { a.doorbell.op = PAVO_WQE_FETCH_ADD; },
		 .vendor = PAVO_VE_WQE_SEGMENT}); /* its address compares */
	/* RaddrSeg as data: 'byte_count' and key are an address. */
	add_fault(cases, hostile,
		  {.name = "doorbell: the body of a write, called send",
		   .base = sized_write,
		   .spoil =
			   [](Attempt &a) {
				   a.doorbell.op = PAVO_WQE_SEND;
				   a.wqe.remote().va = 0x1234567800000040;
			   },
		   .vendor = PAVO_VE_LKEY});
}

void add_next_segments(Cases &cases, Hostile &hostile)
{
	for (int bit = 2; bit < 32; bit++)
		add_fault(cases, hostile,
			  {.name = "NextSeg: reserved flag " +
				   std::to_string(bit),
			   .base = sized_write,
			   .spoil =
				   [bit](Attempt &a) {
					   a.wqe.next().flags |= 1u << bit;
				   },
			   .vendor = PAVO_VE_WQE_FLAGS});
	for (uint32_t size : {0x100u, 0x101u, 0x80000000u, 0xffffffffu})
		add_fault(cases, hostile,
			  {.name = "NextSeg: size " + std::to_string(size),
			   .base = sized_write,
			   .spoil =
				   [size](Attempt &a) {
					   a.wqe.next().size = size;
				   },
			   .vendor = PAVO_VE_WQE_FLAGS});
	add_fault(cases, hostile,
		  {.name = "NextSeg: a next without a size is none",
		   .base = sized_write,
		   .spoil = [](Attempt &a) { a.wqe.next().next = ~0u; },
		   .vendor = PAVO_VE_NONE});
	add_fault(cases, hostile,
		  {.name = "NextSeg: immediate data nobody asked for",
		   .base = sized_write,
		   .spoil = [](Attempt &a) { a.wqe.next().imm = ~0u; },
		   .vendor = PAVO_VE_NONE});
}

} // namespace

void add_wqe_faults(Cases &cases, Hostile &hostile)
{
	add_sizes(cases, hostile);
	add_offsets(cases, hostile);
	add_opcodes(cases, hostile);
	add_next_segments(cases, hostile);
}

} // namespace faults
