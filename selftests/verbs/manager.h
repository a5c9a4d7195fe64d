/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The remote key manager of an adapter, seen by its counters, and queue pairs to
 * be walked over. Used by: rkm_*.cpp, odp_tests.cpp.
 */
#pragma once

#include <string>
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

} // namespace pv
