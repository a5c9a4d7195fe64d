// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * filter.cpp - see filter.h. Follows one packet through the chains: the first of a flow, of
 * IPv4 or IPv6, to UDP port 4791. No reply of such a flow comes, since the other end sends to
 * port 4791, too; so rules for established connections do not let it pass.
 */
#include "filter.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

namespace pavo {
namespace {

using nlohmann::json;

constexpr int ROCE_PORT = 4791;
constexpr int UDP = 17;
/* The kernel allows 16 levels of jumps. */
constexpr int MOST_JUMPS = 16;

enum class Match { no, maybe, yes };
enum class Verdict { none, accept, drop };

Match match_of(bool matches)
{
	return matches ? Match::yes : Match::no;
}

Match invert(Match match)
{
	if (match == Match::maybe)
		return match;
	return match == Match::yes ? Match::no : Match::yes;
}

/* Of an object of the form {"NAME": value}; null elsewhere. */
const json &member(const json &object, const char *name)
{
	static const json none;

	if (!object.is_object())
		return none;
	auto found = object.find(name);

	return found == object.end() ? none : *found;
}

std::string text_of(const json &object, const char *name)
{
	const json &value = member(object, name);

	return value.is_string() ? value.get<std::string>() : "";
}

/* One packet in a ruleset. */
class Packet {
public:
	Packet(const json &rules, std::string interface, bool incoming)
		: rules_(rules), interface_(std::move(interface)),
		  incoming_(incoming)
	{
	}

	Verdict walk(const json &chain, int depth);

	/* Rules that depend on what is not known of the packet could have accepted it. */
	bool may_pass() const { return may_pass_; }

private:
	Match match_number(const json &right, int number, const char *name);
	Match match_name(const json &right, const std::string &name);
	Match match_state(const json &right);
	Match match_payload(const json &payload, const json &right);
	Match match_meta(const std::string &key, const json &right);
	Match match(const json &expression);
	Verdict map_verdict(const json &map, int depth, Match &so_far);
	Verdict jump(const std::string &target, int depth);
	Verdict verdict_of(const json &statement, int depth, bool &ends);
	Verdict apply(const json &rule, int depth, bool &ends);

	const json &rules_;
	std::string interface_;
	bool incoming_;
	bool may_pass_ = false;
	std::string family_, table_;
};

/* A value, a range, a set of both, or the name of a set ("@ports"). */
Match Packet::match_number(const json &right, int number, const char *name)
{
	if (right.is_number_integer())
		return match_of(right.get<int64_t>() == number);
	if (right.is_string() && right.get<std::string>().starts_with("@")) {
		for (const json &entry : rules_) {
			const json &set = member(entry, "set");

			if (text_of(set, "family") == family_ &&
			    text_of(set, "table") == table_ &&
			    right == "@" + text_of(set, "name"))
				return match_number(
					json{{"set", member(set, "elem")}},
					number, name);
		}
		return Match::maybe;
	}
	if (right.is_string())
		return match_of(right == name);
	const json &range = member(right, "range");

	if (range.is_array() && range.size() == 2 &&
	    range[0].is_number_integer() && range[1].is_number_integer())
		return match_of(range[0].get<int64_t>() <= number &&
				range[1].get<int64_t>() >= number);
	const json &elem = member(right, "elem");

	if (elem.is_object())
		return match_number(member(elem, "val"), number, name);
	const json &set = right.is_array() ? right : member(right, "set");

	/* A set without elements */
	if (set.is_null() && right.is_object() && right.contains("set"))
		return Match::no;
	if (!set.is_array())
		return Match::maybe;
	Match best = Match::no;

	for (const json &one : set)
		best = std::max(best, match_number(one, number, name));
	return best;
}

Match Packet::match_name(const json &right, const std::string &name)
{
	if (right.is_string()) {
		auto pattern = right.get<std::string>();

		if (pattern.ends_with("*")) {
			pattern.pop_back();
			return match_of(name.starts_with(pattern));
		}
		return pattern.starts_with("@") ? Match::maybe :
						  match_of(pattern == name);
	}
	const json &set = member(right, "set");

	if (!set.is_array())
		return Match::maybe;
	Match best = Match::no;

	for (const json &one : set)
		best = std::max(best, match_name(one, name));
	return best;
}

/* Its connection is new. */
Match Packet::match_state(const json &right)
{
	if (right.is_string())
		return match_of(right == "new");
	const json &set = right.is_array() ? right : member(right, "set");

	if (!set.is_array())
		return Match::maybe;
	for (const json &one : set)
		if (one == "new")
			return Match::yes;
	return Match::no;
}

Match Packet::match_payload(const json &payload, const json &right)
{
	std::string protocol = text_of(payload, "protocol"),
		    field = text_of(payload, "field");

	if (protocol == "udp" || protocol == "th")
		return field == "dport" ?
			       match_number(right, ROCE_PORT, "4791") :
			       Match::maybe;
	if (protocol == "ip" && field == "protocol")
		return match_number(right, UDP, "udp");
	if (protocol == "ip6" && field == "nexthdr")
		return match_number(right, UDP, "udp");
	return Match::maybe;
}

Match Packet::match_meta(const std::string &key, const json &right)
{
	if (key == "l4proto")
		return match_number(right, UDP, "udp");
	if (key == "iifname" || key == "iif")
		return incoming_ ? match_name(right, interface_) : Match::no;
	if (key == "oifname" || key == "oif")
		return incoming_ ? Match::no : match_name(right, interface_);
	return Match::maybe;
}

/* Rules of other protocols do not see the packet, whatever they compare. */
bool is_of_other_protocol(const json &left)
{
	constexpr std::array<std::string_view, 8> OTHERS = {
		"tcp", "icmp", "icmpv6", "sctp", "dccp", "esp", "ah", "igmp"};
	std::string protocol = text_of(member(left, "payload"), "protocol");

	for (std::string_view other : OTHERS)
		if (protocol == other)
			return true;
	return false;
}

Match Packet::match(const json &expression)
{
	const json &left = member(expression, "left"),
		   &right = member(expression, "right");
	Match result = Match::maybe;

	if (is_of_other_protocol(left))
		return Match::no;
	if (!member(left, "payload").is_null())
		result = match_payload(member(left, "payload"), right);
	else if (!member(left, "meta").is_null())
		result =
			match_meta(text_of(member(left, "meta"), "key"), right);
	else if (text_of(member(left, "ct"), "key") == "state")
		result = match_state(right);
	std::string op = text_of(expression, "op");

	if (op == "!=")
		return invert(result);
	return op == "==" || op == "in" ? result : Match::maybe;
}

/* {"vmap": {"key": ..., "data": {"set": [[value, verdict], ...]}}} */
Verdict Packet::map_verdict(const json &map, int depth, Match &so_far)
{
	const json &set = member(member(map, "data"), "set");

	if (!set.is_array()) {
		so_far = Match::maybe;
		return Verdict::accept;
	}
	for (const json &pair : set) {
		if (!pair.is_array() || pair.size() != 2)
			continue;
		Match one = match(json{{"op", "=="},
				       {"left", member(map, "key")},
				       {"right", pair[0]}});
		bool ends = false;

		if (one == Match::no)
			continue;
		so_far = std::min(so_far, one);
		return verdict_of(pair[1], depth, ends);
	}
	return Verdict::none;
}

Verdict Packet::jump(const std::string &target, int depth)
{
	for (const json &entry : rules_) {
		const json &chain = member(entry, "chain");

		if (text_of(chain, "family") == family_ &&
		    text_of(chain, "table") == table_ &&
		    text_of(chain, "name") == target)
			return depth < MOST_JUMPS ? walk(chain, depth + 1) :
						    Verdict::none;
	}
	return Verdict::none;
}

/* @ends: the chain's rest is not looked at */
Verdict Packet::verdict_of(const json &statement, int depth, bool &ends)
{
	if (!statement.is_object())
		return Verdict::none;
	if (statement.contains("accept"))
		return Verdict::accept;
	if (statement.contains("drop") || statement.contains("reject"))
		return Verdict::drop;
	ends = ends || statement.contains("return") ||
	       statement.contains("goto");
	if (statement.contains("jump"))
		return jump(text_of(statement["jump"], "target"), depth);
	if (statement.contains("goto"))
		return jump(text_of(statement["goto"], "target"), depth);
	return Verdict::none;
}

Verdict Packet::apply(const json &rule, int depth, bool &ends)
{
	Match so_far = Match::yes;

	for (const json &statement : member(rule, "expr")) {
		Verdict verdict;

		if (!statement.is_object())
			continue;
		if (statement.contains("match"))
			so_far = std::min(so_far, match(statement["match"]));
		else if (statement.contains("limit") ||
			 statement.contains("xt") ||
			 statement.contains("queue"))
			so_far = std::min(so_far, Match::maybe);
		if (so_far == Match::no)
			return Verdict::none;
		verdict =
			statement.contains("vmap") ?
				map_verdict(statement["vmap"], depth, so_far) :
				verdict_of(statement, depth, ends);
		if (so_far == Match::yes && (verdict != Verdict::none || ends))
			return verdict;
		if (verdict == Verdict::accept || statement.contains("queue"))
			may_pass_ = true;
		ends = false;
	}
	return Verdict::none;
}

Verdict Packet::walk(const json &chain, int depth)
{
	if (!depth) {
		family_ = text_of(chain, "family");
		table_ = text_of(chain, "table");
	}
	for (const json &entry : rules_) {
		const json &rule = member(entry, "rule");
		bool ends = false;

		if (text_of(rule, "family") != family_ ||
		    text_of(rule, "table") != table_ ||
		    text_of(rule, "chain") != text_of(chain, "name"))
			continue;
		Verdict verdict = apply(rule, depth, ends);

		if (verdict != Verdict::none || ends)
			return verdict;
	}
	return Verdict::none;
}

/* A chain of the family netdev is one interface's, which older versions of nft do not name. */
bool is_elsewhere(const json &chain, const std::string &interface)
{
	const json &dev = member(chain, "dev");

	if (dev.is_string())
		return dev != interface;
	if (!dev.is_array())
		return false;
	return std::find(dev.begin(), dev.end(), json(interface)) == dev.end();
}

} // namespace

std::vector<Blocking> find_blocking(const std::string &rules,
				    const std::string &interface)
{
	json parsed = json::parse(rules, nullptr, false);
	const json &all = member(parsed, "nftables");
	std::vector<Blocking> found;

	for (const json &entry : all) {
		const json &chain = member(entry, "chain");
		std::string hook = text_of(chain, "hook"),
			    family = text_of(chain, "family");
		bool incoming = hook == "input" || hook == "prerouting" ||
				hook == "ingress";

		if ((!incoming && hook != "output" && hook != "postrouting" &&
		     hook != "egress") ||
		    (family != "inet" && family != "ip" && family != "ip6" &&
		     family != "netdev") ||
		    is_elsewhere(chain, interface))
			continue;
		Packet packet(all, interface, incoming);
		Verdict verdict = packet.walk(chain, 0);

		if (verdict == Verdict::none &&
		    text_of(chain, "policy") == "drop")
			verdict = Verdict::drop;
		bool of_unknown = family == "netdev" &&
				  member(chain, "dev").is_null();

		if (verdict == Verdict::drop)
			found.push_back({family, text_of(chain, "table"),
					 text_of(chain, "name"), incoming,
					 !packet.may_pass() && !of_unknown});
	}
	return found;
}

} // namespace pavo
