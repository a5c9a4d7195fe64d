// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rules.cpp - see rules.h.
 */
#include "rules.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "call.h"
#include "tunnel.h"

namespace callfuzz {
namespace {

/* Arguments of a call, as they are by now. */
using Numbers = uint64_t[8];

/* A rule: its name, and what tc is told behind `filter add dev NAME`, by the call's arguments. */
struct Rule {
	const char *name;
	std::string (*filter)(const char *name, const Numbers &args);
};

std::string number(uint64_t what)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08x", unsigned(what));
	return text;
}

/* which how */
std::string reflect(const char *name, const Numbers &args)
{
	static const char *const ways[] = {
		"ingress matchall action mirred egress mirror",
		"egress matchall action mirred ingress mirror",
		"egress matchall action mirred ingress redirect",
		"ingress matchall action mirred egress redirect"};

	return std::string(ways[args[1] % std::size(ways)]) + " dev " + name;
}

/* A word from the IP header on: `at` is a multiple of four. */
std::string munge(uint64_t at, uint64_t value)
{
	return " munge offset " + std::to_string(at) + " u32 set " +
	       number(value);
}

/* which at value how */
std::string pedit(const char *, const Numbers &args)
{
	/* Behind that no header of ours begins, and tc wants less than 64 KiB. */
	const uint64_t at = args[1] & 0x3fc;

	return std::string(args[3] & 1 ? "ingress" : "egress") +
	       " matchall action pedit" + munge(at, args[2]) +
	       (args[3] & 2 ? " pipe action csum ip4h and udp" : "");
}

/*
 * which opcode qpn how: packets of the tunnel become those of RoCE. The first 8 bytes of
 * the BTH are where the tunnel's header was.
 */
std::string disguise(const char *name, const Numbers &args)
{
	return "egress protocol ip u32 match ip protocol 17 0xff match ip "
	       "dport 6081 0xffff action pedit ex munge udp sport set " +
	       std::to_string(tunnel_port) + " munge udp dport set 4791" +
	       munge(4, tunnel_identification) +
	       munge(28, bth_opcode(args[1])) + munge(32, bth_qpn(args[2])) +
	       " pipe action csum ip4h" +
	       (args[3] & 1 ? " pipe action mirred ingress redirect dev " +
				      std::string(name) :
			      "");
}

constexpr Rule rules[] = {
	{"reflect", reflect}, {"pedit", pedit}, {"tunnel", disguise}};

const Rule *find_rule(const Call &call)
{
	for (const Rule &rule : rules)
		if (call.entry->name == rule.name)
			return &rule;
	return nullptr;
}

std::string tc_of(const std::string &name, pid_t holder)
{
	return name == "fc" ?
		       "nsenter -t " + std::to_string(holder) + " -n tc " :
		       "tc ";
}

} // namespace

bool is_rule(const Call &call)
{
	return find_rule(call);
}

int set_rule(const Shared &shared, const Program &program, size_t at,
	     pid_t holder)
{
	static const char *const names[] = {"fa", "fb", "fc", "fd"};
	const Call &call = program.calls[at];
	Numbers args = {};

	for (size_t i = 0; i < call.args.size() && i < std::size(args); i++)
		args[i] = resolve_value(shared, call.args[i]);
	const uint64_t which = args[0] % devices;
	if (call.actor == 2 ? which != 2 : call.actor != 0)
		return EPERM;
	const std::string name = names[which], tc = tc_of(name, holder);
	/* One rule at a time: two would send a packet round for ever. */
	const std::string all =
		"{ " + tc + "qdisc del dev " + name + " clsact; " + tc +
		"qdisc add dev " + name + " clsact && " + tc +
		"filter add dev " + name + " " +
		find_rule(call)->filter(names[which], args) + "; } 2>/dev/null";

	return system(all.c_str()) ? EPERM : 0;
}

void end_rules(pid_t holder)
{
	std::string all;

	for (const char *name : {"fa", "fb", "fc", "fd"})
		all += tc_of(name, holder) + "qdisc del dev " + name +
		       " clsact; ";
	(void)!system(("{ " + all + "} 2>/dev/null").c_str());
}

} // namespace callfuzz
