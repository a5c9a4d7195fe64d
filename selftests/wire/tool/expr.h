/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Arithmetic of scripts: + - * / % and brackets over unsigned 64-bit numbers and
 * names, without spaces.
 *
 * Owns: the evaluator. The caller gives names their meaning: the same name is an
 * address in va= and a key in rkey=. Used by: script.cpp, machine. Pure.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pw {

/* Something is wrong with the script, not with the device. */
struct ScriptError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

using Lookup = std::function<uint64_t(std::string_view name)>;

uint64_t evaluate(std::string_view text, const Lookup &lookup);

/* Numbers only. */
uint64_t evaluate(std::string_view text);

/* 20ms, 2s, 500us: nanoseconds. */
int64_t duration(const std::string &text);

} // namespace pw
