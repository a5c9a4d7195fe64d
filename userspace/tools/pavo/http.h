/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * http.h - answers GET /metrics over HTTP/1.1, as a scraper asks. Used by metrics.cpp.
 */
#pragma once

#include <functional>
#include <string>

namespace pavo {

/**
 * Serves at @where ("PORT", "ADDRESS:PORT", "[IPV6]:PORT"; without an address, of this machine
 * alone) until the process ends. @make: makes the text, for each request anew. At most 64
 * connections at a time, each of which ends after one request, or after some seconds without
 * one. Throws Error if the address cannot be bound.
 */
[[noreturn]] void serve_metrics(const std::string &where,
				const std::function<std::string()> &make);

} // namespace pavo
