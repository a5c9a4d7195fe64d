/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * errors.h - makes an exception of a call that had to succeed; one function for each way in
 * which calls report failure.
 */
#ifndef PAVO_COMMON_ERRORS_H
#define PAVO_COMMON_ERRORS_H

#include <cerrno>
#include <concepts>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace common {

[[noreturn]] inline void throw_errno(int error, const std::string &what)
{
	throw std::system_error(error, std::generic_category(), what);
}

/* A call that returns a pavo::Result. Return: its value. */
template <class Result>
requires requires(Result result)
{
	result.has_value();
	result.error();
}
auto must(Result result, const std::string &what = "refused")
{
	if (!result)
		throw std::system_error(result.error().code(), what);
	return std::move(result).value();
}

/* Takes no integer: a call that returns 0 or an error means the opposite by it. */
template <std::same_as<bool> Bool> void must(Bool fine, const std::string &what)
{
	if (!fine)
		throw std::runtime_error(what);
}

/* A call that returns 0, an error number (of either sign), or -1 and sets errno. */
inline void must_return_0(int error, const std::string &what)
{
	if (error)
		throw_errno(error == -1 ? errno : abs(error), what);
}

/* A call that returns a negative number and sets errno where it fails. */
inline int must_not_fail(int result, const std::string &what)
{
	if (result < 0)
		throw_errno(errno, what);
	return result;
}

/* A call that returns an object, or none and sets errno. */
template <class T> T *must_make(T *object, const std::string &what)
{
	if (!object)
		throw_errno(errno, what);
	return object;
}

} // namespace common

#endif /* PAVO_COMMON_ERRORS_H */
