/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The remote key manager of an adapter, seen by its counters, and queue pairs to
 * be walked over. Used by: rkm_*.cpp, odp_tests.cpp.
 */
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "../common/adapter.h"
#include "../common/parameter.h"
#include "link.h"

namespace pv {

/* The number by which a counter of an end of this process has moved since it was made. */
struct Moved : common::Moved {
	Moved(Host &host, const std::string &counter)
		: common::Moved(device_name(host), counter)
	{
	}
};

/*
 * rkm_full_walk: invalidations look at every queue pair of the machine; copy_reads: no page
 * is attached to an answer.
 */
using common::Parameter;

/*
 * The words of a queue pair's slots in the dump of remote key memory; the first is
 * that of writes.
 */
std::vector<std::string> slots_of(const Side &side);

/* Small links with shared CQs, three reads and a write at a time for each. */
std::vector<Link> many_links(Env &env, size_t count, Handle pd_b = 0);

/* Posts one write by a key over and over, in a thread; how each ends does not matter. */
class Writer {
public:
	Writer(Env &env, Link &link, const SendWr &wr, uint32_t first_key = 0);

	/* All packets sent until now have come, or were dropped, when this returns. */
	void next() const;

	std::atomic<uint32_t> key;

private:
	std::atomic<uint64_t> sent_{0};
	std::jthread thread_;
};

} // namespace pv
