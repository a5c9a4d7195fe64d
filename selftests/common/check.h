/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * check.h - the checks of tests that are not GoogleTest's: one that fails throws what it saw,
 * which ends its test and lets the next one run.
 */
#ifndef PAVO_COMMON_CHECK_H
#define PAVO_COMMON_CHECK_H

#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace common {

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* The test cannot say anything here. */
struct Skip : std::runtime_error {
	using std::runtime_error::runtime_error;
};

template <class... Parts> std::string str(const Parts &...parts)
{
	std::ostringstream out;

	(out << ... << parts);
	return out.str();
}

[[noreturn]] inline void fail(const char *file, int line,
			      const std::string &text)
{
	const char *base = strrchr(file, '/');

	throw Failure(str(base ? base + 1 : file, ":", line, ": ", text));
}

/* How a value is written: characters and enumerators as numbers. */
template <class T> auto readable(const T &value)
{
	if constexpr (std::is_enum_v<T>)
		return +static_cast<std::underlying_type_t<T>>(value);
	else if constexpr (std::is_arithmetic_v<T>)
		return +value;
	else
		return value;
}

} // namespace common

#define REQUIRE(condition, ...)                                                \
	do {                                                                   \
		if (!(condition))                                              \
			common::fail(                                          \
				__FILE__, __LINE__,                            \
				common::str(#condition " is false" __VA_OPT__( \
					, "; ", ) __VA_ARGS__));               \
	} while (0)

#define REQUIRE_EQ(got, want, ...)                                         \
	do {                                                               \
		auto got_ = (got);                                         \
		auto want_ = static_cast<decltype(got_)>(want);            \
		if (!(got_ == want_))                                      \
			common::fail(                                      \
				__FILE__, __LINE__,                        \
				common::str(#got " is ",                   \
					    common::readable(got_),        \
					    ", wanted ",                   \
					    common::readable(want_)        \
						    __VA_OPT__(, "; ", )   \
							    __VA_ARGS__)); \
	} while (0)

#endif /* PAVO_COMMON_CHECK_H */
