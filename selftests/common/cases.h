/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cases.h - the frame of a test program whose cases are a list: runs them in turn and prints
 * TAP. Used by selftests/provider and selftests/faults.
 */
#ifndef PAVO_COMMON_CASES_H
#define PAVO_COMMON_CASES_H

#include <cstdio>
#include <functional>
#include <vector>

#include "check.h"

namespace common {

struct Case {
	std::string name;
	std::function<void()> body;
};

using Cases = std::vector<Case>;

/* Runs all and returns the exit code of kselftest: 0, 1, or 4 (all skipped). */
inline int run(const Cases &cases)
{
	size_t failed = 0, skipped = 0, number = 0;

	printf("TAP version 13\n1..%zu\n", cases.size());
	for (const Case &test : cases) {
		std::string state = "ok", comment;

		number++;
		try {
			test.body();
		} catch (const Skip &skip) {
			comment = std::string(" # SKIP ") + skip.what();
			skipped++;
		} catch (const std::exception &failure) {
			state = "not ok";
			printf("# %s\n", failure.what());
			failed++;
		}
		printf("%s %zu %s%s\n", state.c_str(), number,
		       test.name.c_str(), comment.c_str());
		fflush(stdout);
	}
	printf("# %zu passed, %zu failed, %zu skipped\n",
	       cases.size() - failed - skipped, failed, skipped);
	if (failed)
		return 1;
	return !cases.empty() && skipped == cases.size() ? 4 : 0;
}

} // namespace common

#endif /* PAVO_COMMON_CASES_H */
