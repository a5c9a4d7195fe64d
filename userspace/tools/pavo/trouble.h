/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * trouble.h - the counters that report trouble, with advice for administrators. Used by
 * status.cpp and top.cpp.
 */
#pragma once

#include <string>
#include <string_view>

namespace pavo {

enum class Severity {
	none, /* traffic as it should be */
	note, /* happens in normal operation; much of it costs speed */
	trouble, /* something is wrong */
};

struct Meaning {
	Severity severity;
	std::string_view advice; /* empty only if severity is none */
};

/** Meaning of a counter of the port or the device; trouble for drops that have no entry. */
Meaning meaning_of(std::string_view counter);

/** Does the counter count packets that were dropped? mlx5's names do not say so. */
bool is_drop(std::string_view counter);

} // namespace pavo
