/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * witness.h - whether a loop of the module keeps a CPU from other tasks: a witness looks how long
 * it is without a CPU, and the module counts how much a loop did in a row
 * (/sys/kernel/debug/pavo/budgets). Used by: budget_*.cpp.
 */
#pragma once

#include <chrono>

#include "../common/files.h"
#include "../common/slow_kernel.h"
#include "../common/witness.h"
#include "link.h"
#include "tap.h"

namespace pv {

/* kernel/budget.h, and what a loop may do in its last step: one more slice. */
constexpr uint64_t slice_packets = 512, slice_bytes = 4 << 20;

constexpr uint64_t long_message = 4 << 20;

using common::judges_time;
using common::Witness;

inline int64_t ms(std::chrono::nanoseconds time)
{
	using namespace std::chrono;
	return duration_cast<milliseconds>(time).count();
}

/* The witness is never without a CPU for longer than is allowed. */
template <class Drive> void must_share(const char *what, Drive &&drive)
{
	const auto without = common::drive_beside_witness(drive);

	note(str(what, ": ", ms(without.longest), " of ", ms(without.all),
		 " ms"));
	REQUIRE(without.allowed(), what, ": a witness had no CPU for ",
		ms(without.longest), " of ", ms(without.all), " ms");
}

/* The counts of a kind of loop. */
struct Loop {
	uint64_t used_up, most_packets, most_bytes;
};

inline Loop loop_of(const std::string &name)
{
	const std::string file = "/sys/kernel/debug/pavo/budgets";
	const auto lines = common::lines_of(file, name + " ");
	Loop loop = {};

	REQUIRE_EQ(lines.size(), 1u, name, " of ", file);
	REQUIRE_EQ(sscanf(lines[0].c_str(),
			  "%*s used_up %lu most_packets %lu most_bytes %lu",
			  &loop.used_up, &loop.most_packets, &loop.most_bytes),
		   3, lines[0]);
	return loop;
}

/* It ended with work left more often than before, and did not do too much in a row. */
inline void must_have_ended(const std::string &name, const Loop &before,
			    uint64_t most_packets = 2 * slice_packets)
{
	const Loop now = loop_of(name);

	note(str(name, ": used up ", now.used_up - before.used_up, ", at most ",
		 now.most_packets, " packets, ", now.most_bytes, " bytes"));
	REQUIRE(now.used_up > before.used_up, name, " was not used up");
	REQUIRE(now.most_packets <= most_packets, name, ": ", now.most_packets,
		" packets in a row");
	REQUIRE(now.most_bytes <= 2 * slice_bytes, name, ": ", now.most_bytes,
		" bytes in a row");
}

/* Requests of which the last one tells its end. */
inline std::vector<SendWr> many(const SendWr &wr, uint32_t count)
{
	std::vector<SendWr> wrs(count, wr);

	for (SendWr &one : wrs)
		one.flags = 0;
	wrs.back().flags = IBV_SEND_SIGNALED;
	return wrs;
}

inline ibv_qp_cap deep(uint32_t depth)
{
	return {depth, 64, 1, 1, 0};
}

/* Less on a kernel with checkers. */
inline uint32_t scaled(uint32_t count)
{
	return common::slow_kernel() ? count / 16 : count;
}

} // namespace pv
