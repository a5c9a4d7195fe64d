/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cases.h - the frame of a test program whose cases are a list: runs them in turn and prints
 * TAP.
 */
#ifndef PAVO_COMMON_CASES_H
#define PAVO_COMMON_CASES_H

#include <functional>
#include <vector>

#include "check.h"
#include "tap.h"

namespace common {

struct Case {
	std::string name;
	std::function<void()> body;
};

using Cases = std::vector<Case>;

/* Runs all and returns the exit code of kselftest: 0, 1, or 4 (all skipped). */
inline int run(const Cases &cases)
{
	tap tap = {};

	tap_begin(cases.size());
	for (const Case &test : cases) {
		const char *name = test.name.c_str();

		try {
			test.body();
			tap_result(&tap, true, name);
		} catch (const Skip &skip) {
			tap_skip(&tap, name, skip.what());
		} catch (const std::exception &failure) {
			printf("# %s\n", failure.what());
			tap_result(&tap, false, name);
		}
	}
	return tap_end(&tap);
}

} // namespace common

#endif /* PAVO_COMMON_CASES_H */
