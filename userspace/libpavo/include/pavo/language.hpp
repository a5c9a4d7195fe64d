/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* language.hpp - the C++ that the library's headers need. All of them include it first. */
#ifndef PAVO_LANGUAGE_HPP
#define PAVO_LANGUAGE_HPP

#if __cplusplus < 201709L
#error "libpavo needs C++20: compile with -std=c++20, or use <pavo/pavo.h>, which is for C and any C++"
#endif

#endif /* PAVO_LANGUAGE_HPP */
