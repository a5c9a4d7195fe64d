// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* report.cpp - see report.h. */
#include "report.h"

#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "text.h"

namespace pavo {
namespace {

using nlohmann::json;

/* Commands are not wrapped: people copy them. */
void print(const Finding &finding, size_t indent, size_t width)
{
	std::string line(indent, ' ');
	std::istringstream commands(finding.remedy);

	if (finding.counter)
		line += fmt::format("{:<28} {:>12}  ", finding.what,
				    finding.value);
	fmt::print("{}\n", wrap(line + finding.text, indent + 4, width));
	for (std::string command; std::getline(commands, command);)
		fmt::print("{:{}}# {}\n", "", indent + 4, command);
}

} // namespace

json json_of(const Finding &finding)
{
	json one = {{"severity", severity_name(finding.severity)},
		    {"advice", finding.text}};

	if (finding.counter)
		one["counter"] = finding.what;
	else
		one["what"] = finding.what;
	if (finding.qpn)
		one["qpn"] = finding.qpn;
	if (finding.counter || finding.qpn)
		one["value"] = finding.value;
	if (!finding.remedy.empty())
		one["commands"] = finding.remedy;
	return one;
}

json json_of(const std::vector<Finding> &findings)
{
	json all = json::array();

	for (const Finding &finding : findings)
		all.push_back(json_of(finding));
	return all;
}

std::string sentence_of(const Finding &finding)
{
	std::string sentence = finding.text;

	if (!finding.remedy.empty())
		sentence += ": " +
			    finding.remedy.substr(0, finding.remedy.find('\n'));
	return sentence;
}

void print_findings(const std::vector<Finding> &findings,
		    const std::string &since, size_t indent)
{
	const size_t width = terminal_width();

	for (Severity severity : {Severity::trouble, Severity::note}) {
		bool titled = false;

		for (const Finding &finding : findings) {
			if (finding.severity != severity)
				continue;
			if (!titled)
				fmt::print("{:{}}{}{}\n", "", indent,
					   severity == Severity::trouble ?
						   "trouble" :
						   "worth knowing",
					   since.empty() ? "" :
							   " (counters since " +
								   since + ")");
			titled = true;
			print(finding, indent + 2, width);
		}
	}
}

} // namespace pavo
