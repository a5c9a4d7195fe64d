// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * error.hpp - from codes, from exceptions of private classes and from lack of memory to the
 * Result that a public call returns. Private to the library.
 */
#ifndef PAVO_ERROR_HPP
#define PAVO_ERROR_HPP

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <pavo/result.hpp>

namespace pavo {

/** The code of engines, which work with plain codes. */
inline std::error_code code(std::errc number)
{
	return std::make_error_code(number);
}

/** Thrown by constructors of private classes; no public call lets it through. */
struct Failure {
	Error error;
};

[[noreturn]] inline void fail(int number, const std::string &text)
{
	throw Failure{Error(number, text)};
}

/**
 * The Result that @call returns, or a Failure that it throws; not_enough_memory where its
 * containers find none: see result.hpp.
 */
template <class Call> auto guarded(Call &&call) -> decltype(call())
{
	try {
		return call();
	} catch (const Failure &failure) {
		return Unexpected(failure.error);
	} catch (const std::bad_alloc &) {
		return Unexpected(std::errc::not_enough_memory);
	} catch (const std::length_error &) {
		return Unexpected(std::errc::not_enough_memory);
	}
}

} // namespace pavo

#endif // PAVO_ERROR_HPP
