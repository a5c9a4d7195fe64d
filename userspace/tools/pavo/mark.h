/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mark.h - values of counters at a time that an administrator has marked, so that trouble of
 * before is not shown for ever: a file in /run/pavo, or in the folder of the user's session.
 * Used by status.cpp.
 */
#pragma once

#include <map>
#include <string>

#include "device.h"

namespace pavo {

/** The counters of one adapter as they were. */
struct Mark {
	std::string since; /* date and time; empty: there is no mark */
	Counters counters;
};

using Marks = std::map<std::string, Mark>;

/** Own ones, or else those of root. */
Marks read_marks();
/** Throws Error. */
void write_marks(const Marks &marks);

/** Marks in the file's form, and back; a value of another form is no mark. */
std::string text_of(const Marks &marks);
Marks parse_marks(const std::string &text);

/** The time of now, as a mark has it. */
std::string now();

/**
 * Counts since @mark. A counter below its mark is one of a new adapter: then @mark is
 * cleared, and all counts.
 */
Counters count_since(const Counters &counters, Mark &mark);

} // namespace pavo
