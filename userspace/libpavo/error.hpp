// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* error.hpp - how constructors say what went wrong. Private to the library. */
#ifndef PAVO_ERROR_HPP
#define PAVO_ERROR_HPP

#include <string>
#include <system_error>

namespace pavo {

inline std::system_error error(int number, const std::string &what)
{
	return {number, std::generic_category(), what};
}

} // namespace pavo

#endif // PAVO_ERROR_HPP
