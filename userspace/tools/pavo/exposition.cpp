// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* exposition.cpp - see exposition.h. */
#include "exposition.h"

#include <string_view>

#include <fmt/format.h>

namespace pavo {
namespace {

/* @special: characters that get a backslash, as it does itself; a line break is \n. */
std::string escape(std::string_view text, std::string_view special)
{
	std::string escaped;

	for (char c : text) {
		if (c == '\n') {
			escaped += "\\n";
			continue;
		}
		if (c == '\\' || special.find(c) != special.npos)
			escaped += '\\';
		escaped += c;
	}
	return escaped;
}

std::string write_labels(const Labels &labels)
{
	std::string text;

	for (const auto &[name, value] : labels)
		text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",",
				    name, escape(value, "\""));
	return text.empty() ? text : "{" + text + "}";
}

} // namespace

std::string expose(const std::vector<Metric> &metrics)
{
	std::string text;

	for (const Metric &metric : metrics) {
		if (metric.samples.empty())
			continue;
		text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n",
				    metric.name, escape(metric.help, ""),
				    metric.type);
		for (const Sample &sample : metric.samples)
			text += fmt::format("{}{} {}\n", metric.name,
					    write_labels(sample.labels),
					    sample.value);
	}
	return text;
}

} // namespace pavo
