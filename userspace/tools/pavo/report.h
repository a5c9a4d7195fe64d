/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * report.h - findings as text and as JSON, the same for all commands. Used by status.cpp.
 */
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "findings.h"

namespace pavo {

nlohmann::json json_of(const Finding &finding);
nlohmann::json json_of(const std::vector<Finding> &findings);

/** "text: first command" */
std::string sentence_of(const Finding &finding);

/**
 * Prints the trouble, then what is worth knowing, each with a title that has @indent spaces before
 * it. @since: time from which the counters count; empty: always
 */
void print_findings(const std::vector<Finding> &findings,
		    const std::string &since, size_t indent);

} // namespace pavo
