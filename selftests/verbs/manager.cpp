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

Writer::Writer(Env &env, Link &link, const SendWr &wr, uint32_t first_key)
	: key(first_key),
	  thread_([&env, &link, wr, this](const std::stop_token &stop) {
		  while (!stop.stop_requested()) {
			  SendWr next = wr;

			  next.rkey = key;
			  env.a.post_send(link.a.qp.id, {next});
			  env.a.poll(link.a.send_cq.id, 1,
				     env.options.patience_ms);
			  sent_++;
		  }
	  })
{
}

void Writer::next() const
{
	const uint64_t before = sent_;

	while (sent_ < before + 2)
		std::this_thread::yield();
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
