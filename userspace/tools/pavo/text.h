/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * text.h - text for people: lines that fit the terminal, and GIDs as addresses. Pure but for
 * terminal_width(). Used by status.cpp, report.cpp, top.cpp and findings.cpp.
 */
#pragma once

#include <cstddef>
#include <string>

namespace pavo {

/** Columns of the terminal that standard output is; 0: it is none. */
size_t terminal_width();

/**
 * @text in lines of up to @width columns, all but the first with @indent spaces before them. A word
 * that does not fit has a line of its own. @width 0: one line
 */
std::string wrap(const std::string &text, size_t indent, size_t width);

/** The first @width columns of @line; 0: all of it */
std::string cut(const std::string &line, size_t width);

/** A GID of eight groups as an address: IPv4 with dots, IPv6 in its short form. */
std::string address_of(const std::string &gid);

} // namespace pavo
