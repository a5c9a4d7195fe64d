// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Slots of remote key memory, and links for the manager to walk over. */
#include "manager.h"

#include <iterator>
#include <sstream>

#include "tap.h"

namespace pv {

std::vector<std::string> slots_of(const Side &side)
{
	const std::string wanted =
		str(device_name(*side.host), " qp ", side.qp.number, " pd ");
	const auto lines =
		common::lines_of("/sys/kernel/debug/pavo/slots", wanted);

	REQUIRE(!lines.empty(), "no line of ", wanted);
	std::istringstream words(lines[0].substr(lines[0].find(':') + 1));

	return {std::istream_iterator<std::string>(words), {}};
}

std::vector<Link> many_links(Env &env, size_t count, Handle pd_b)
{
	std::vector<Link> links;
	LinkSpec spec = {.rd_atomic = 3,
			 .cap = {4, 4, 1, 1, 0},
			 .cq_a = env.a.create_cq(4096, false),
			 .cq_b = env.b.create_cq(4096, false),
			 .pd_b = pd_b};

	for (size_t i = 0; i < count; i++)
		links.push_back(connect(env, spec));
	return links;
}

} // namespace pv
