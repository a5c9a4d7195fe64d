/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The remote key manager of an adapter, seen by its counters, and queue pairs to
 * be walked over. Used by: rkm_*.cpp, odp_tests.cpp.
 */
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "link.h"

namespace pv {

/* What one counter of an end of this process has moved by since it was made. */
class Moved {
public:
	Moved(Host &host, const std::string &counter);
	uint64_t by() const;

private:
	std::string path_;
	uint64_t before_;
};

/*
 * A parameter of the module, as it is while this lives. rkm_full_walk: invalidations look
 * at every queue pair of the machine; copy_reads: no page is attached to an answer.
 */
class Parameter {
public:
	Parameter(const char *name, const std::string &value);
	~Parameter();
	Parameter(const Parameter &) = delete;

private:
	bool set(const std::string &value);

	std::string path_, before_;
};

/*
 * The words of a queue pair's slots in the dump of remote key memory; the first is
 * that of writes.
 */
std::vector<std::string> slots_of(const Side &side);

/* Until it is so; false: too late. */
bool eventually(Env &env, const std::function<bool()> &condition);

/* Small links with shared CQs, three reads and a write at a time for each. */
std::vector<Link> many_links(Env &env, size_t count, Handle pd_b = 0);

} // namespace pv
