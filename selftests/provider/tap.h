/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tap.h - the frame of a test program: named cases, checks, TAP on stdout.
 *
 * Used by every program of selftests/provider and by selftests/faults. A check
 * that fails says what it saw, ends its case and lets the next one run.
 */
#ifndef PAVO_TAP_H
#define PAVO_TAP_H

#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace tap {

struct Failed {
	std::string text;
};

struct Skipped {
	std::string reason;
};

struct Case {
	std::string name;
	std::function<void()> body;
};

/* Runs all and returns the exit code of kselftest: 0, 1, or 4 (all skipped). */
inline int run(const std::vector<Case> &cases)
{
	size_t failed = 0, skipped = 0, number = 0;

	printf("TAP version 13\n1..%zu\n", cases.size());
	for (const Case &test : cases) {
		std::string state = "ok", comment;

		number++;
		try {
			test.body();
		} catch (const Failed &failure) {
			state = "not ok";
			printf("# %s\n", failure.text.c_str());
			failed++;
		} catch (const Skipped &skip) {
			comment = " # SKIP " + skip.reason;
			skipped++;
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

template <class... Parts>
[[noreturn]] void fail(const char *file, int line, const Parts &...parts)
{
	std::ostringstream text;

	text << file << ":" << line << ": ";
	(text << ... << parts);
	throw Failed{text.str()};
}

/* How a value is written: characters and enumerators as numbers. */
template <class T> auto show(const T &value)
{
	if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
		return std::to_string(static_cast<long long>(value));
	else
		return value;
}

} // namespace tap

#define CHECK(condition, ...)                                                \
	do {                                                                 \
		if (!(condition))                                            \
			tap::fail(__FILE__, __LINE__,                        \
				  "not so: " #condition __VA_OPT__(, "; ", ) \
					  __VA_ARGS__);                      \
	} while (0)

#define CHECK_EQ(got, want, ...)                                        \
	do {                                                            \
		auto got_ = (got);                                      \
		auto want_ = static_cast<decltype(got_)>(want);         \
		if (got_ != want_)                                      \
			tap::fail(__FILE__, __LINE__, #got " is ",      \
				  tap::show(got_), ", wanted ",         \
				  tap::show(want_) __VA_OPT__(, "; ", ) \
					  __VA_ARGS__);                 \
	} while (0)

#endif /* PAVO_TAP_H */
