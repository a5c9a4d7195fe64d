// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* table.h - the local mapping table of a window, as root reads it. */
#ifndef PAVO_WINDOW_TABLE_H
#define PAVO_WINDOW_TABLE_H

#include <string>

#include <pavo/window.hpp>

namespace windows {

/* Where all of them are. */
constexpr const char *tables = "/sys/kernel/debug/pavo/windows";

/* The window's line of that file; "": it has none. */
std::string line_of(const pavo::Device &device, const pavo::Window &window);
/* The line that it has to be. */
std::string as_text(const pavo::Device &device, const pavo::Lmt &lmt);

} // namespace windows

#endif // PAVO_WINDOW_TABLE_H
