/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * exposition.h - metrics in the text format of Prometheus (version 0.0.4). Pure. Used by
 * metrics.cpp.
 */
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pavo {

/** Names and values of labels, in the order in which they are written. */
using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
	Labels labels;
	uint64_t value;
};

/** A metric with its samples. */
struct Metric {
	std::string name; /* of a counter: ends with _total */
	std::string help;
	std::string type; /* "counter", "gauge" */
	std::vector<Sample> samples;
};

/** Metrics without a sample are left out. */
std::string expose(const std::vector<Metric> &metrics);

} // namespace pavo
