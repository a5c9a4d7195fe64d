// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * error.hpp - how constructors say what went wrong: by exceptions; and all other calls: by
 * codes. Private to the library.
 */
#ifndef PAVO_ERROR_HPP
#define PAVO_ERROR_HPP

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace pavo {

inline std::system_error error(int number, const std::string &what)
{
	return {number, std::generic_category(), what};
}

inline std::error_code code(int number)
{
	return {number, std::generic_category()};
}

inline std::error_code code(std::errc number)
{
	return std::make_error_code(number);
}

/**
 * The code that @call returns; not_enough_memory where its containers find none: see
 * rdma.hpp.
 */
template <class Call> std::error_code unless_no_memory(Call &&call)
{
	try {
		return call();
	} catch (const std::bad_alloc &) {
		return code(std::errc::not_enough_memory);
	} catch (const std::length_error &) {
		return code(std::errc::not_enough_memory);
	}
}

} // namespace pavo

#endif // PAVO_ERROR_HPP
