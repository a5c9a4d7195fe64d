/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * refusal.h - why the module refused the last `rdma link add` of this network namespace.
 * Used by status.cpp.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pavo {

struct Refusal {
	std::string device; /* the adapter that was requested */
	std::string netdev;
	std::string reason; /* the module's message */
	int error = 0; /* errno that rdma(8) got */
	uint64_t age = 0; /* seconds */
};

/** Nothing if an adapter was added since, or none was ever refused. */
std::optional<Refusal> read_refusal();

/** The refusal as a line of text. */
std::string sentence_of(const Refusal &refusal);

} // namespace pavo
