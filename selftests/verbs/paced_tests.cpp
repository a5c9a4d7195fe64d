// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Pacing: sch_fq holds packets until their time of departure, so that a cwnd of packets does not leave
 * as one burst.
 */
#include <cstdio>
#include <cstring>
#include <memory>

#include "../common/adapter.h"
#include "link.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint64_t length = 1 << 20;

/* Packets that sch_fq has held, of the interface of an adapter. */
uint64_t throttled(Host &host)
{
	const std::string command =
		"tc -s qdisc show dev " + interface_of(host);
	std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen(command.c_str(), "r"),
						    pclose);
	char word[64];
	unsigned long long count = 0;

	REQUIRE(pipe, "tc");
	/* The first of two "throttled N" are flows that wait now. */
	while (fscanf(pipe.get(), "%63s", word) == 1)
		if (!strcmp(word, "throttled") &&
		    fscanf(pipe.get(), "%llu", &count) != 1)
			break;
	return count;
}

} // namespace

PV_TEST_LOCAL(
	"paced.fq",
	"sch_fq holds packets of a long message until their departure, all "
	"arrives, and nothing is sent twice")
{
	if (!common::counters(device_name(env.a)).count("tx_sacks"))
		throw Skip("the device paces nothing");
	Link link = connect(env);
	Qdisc far(env.b, "netem limit 10000 delay 10ms");
	Qdisc near(env.a, "fq flow_limit 10000 limit 10000");
	const Mr from = must_reg(env.a, {length}, 5),
		 to = must_reg(env.b, {length});

	/* The first answers show that the peer sends SACKs, and how long a round trip is. */
	for (int i = 0; i < 20; i++)
		must_send(env, link.a,
			  make_wr(Op::write, {from, 0}, 4096, {to, 0}),
			  "a short write");
	const uint64_t before = throttled(env.a);
	common::Moved twice(device_name(env.a), "tx_retransmits");

	for (int i = 0; i < 4; i++)
		must_send(env, link.a,
			  make_wr(Op::write, {from, 0}, length, {to, 0}),
			  "a long write");
	must_match(env.b, to, 0, length, 5, 0, "write");
	REQUIRE(throttled(env.a) > before, "sch_fq has held nothing");
	REQUIRE_EQ(twice.by(), 0u, "retransmitted");
}
