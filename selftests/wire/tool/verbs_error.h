/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Errors of libibverbs and of the system, as exceptions with their text. Used by: the
 * device under test.
 */
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace pw {

[[noreturn]] inline void fail(const std::string &what, int error = errno)
{
	throw std::runtime_error(what + ": " + std::strerror(error));
}

inline void must(int error, const std::string &what)
{
	if (error)
		fail(what, error > 0 ? error : errno);
}

} // namespace pw
