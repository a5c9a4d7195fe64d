// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * filter_test.cpp - which chains of nftables drop packets of RoCEv2. Rules are as
 * nft -j list ruleset (1.0.6) printed them, without handles and counters.
 */
#include <gtest/gtest.h>

#include "filter.h"
#include "findings.h"

namespace {

using pavo::Blocking;

const std::string UDP_4791 =
	R"({"match":{"op":"==","left":{"payload":{"protocol":"udp","field":"dport"}},"right":4791}})";
const std::string ACCEPT = R"({"accept":null})", DROP = R"({"drop":null})";

std::string chain(const std::string &name, const std::string &more)
{
	return R"({"chain":{"family":"inet","table":"filter","name":")" + name +
	       "\"" + more + "}}";
}

std::string rule(const std::string &name, const std::string &statements)
{
	return R"(,{"rule":{"family":"inet","table":"filter","chain":")" +
	       name + R"(","expr":[)" + statements + "]}}";
}

std::string match(const std::string &op, const std::string &left,
		  const std::string &right)
{
	return R"({"match":{"op":")" + op + R"(","left":)" + left +
	       R"(,"right":)" + right + "}}";
}

const std::string PORT = R"({"payload":{"protocol":"udp","field":"dport"}})";
const std::string FROM = R"({"payload":{"protocol":"ip","field":"saddr"}})";
const std::string INTERFACE = R"({"meta":{"key":"iifname"}})";
const std::string STATE = R"({"ct":{"key":"state"}})";

/* A ruleset with a chain of that policy at the hook input, and these rules. */
std::vector<Blocking> blocking(const std::string &policy,
			       const std::string &rules,
			       const std::string &hook = "input")
{
	return pavo::find_blocking(
		R"({"nftables":[{"metainfo":{"version":"1.0.6"}},)" +
			chain("in", R"(,"type":"filter","prio":0,"hook":")" +
					    hook + R"(","policy":")" + policy +
					    "\"") +
			rules + "]}",
		"eth0");
}

/* Dropped for certain. */
bool drops(const std::string &policy, const std::string &rules)
{
	auto found = blocking(policy, rules);

	return found.size() == 1 && found[0].certain;
}

bool lets_pass(const std::string &policy, const std::string &rules)
{
	return blocking(policy, rules).empty();
}

TEST(Filter, NoRulesBlockNothing)
{
	EXPECT_TRUE(pavo::find_blocking("", "eth0").empty());
	EXPECT_TRUE(pavo::find_blocking("no JSON {", "eth0").empty());
	EXPECT_TRUE(pavo::find_blocking(R"({"nftables":[]})", "eth0").empty());
	EXPECT_TRUE(lets_pass("accept", ""));
}

TEST(Filter, APolicyOrARuleDrops)
{
	EXPECT_TRUE(drops("drop", ""));
	EXPECT_TRUE(drops("accept", rule("in", UDP_4791 + "," + DROP)));
	EXPECT_TRUE(
		drops("accept", rule("in", R"({"reject":{"type":"icmp"}})")));
	EXPECT_TRUE(
		drops("accept",
		      rule("in", UDP_4791 + R"(,{"counter":null},)" + DROP)));
}

TEST(Filter, ARuleLetsItPass)
{
	EXPECT_TRUE(lets_pass("drop", rule("in", UDP_4791 + "," + ACCEPT)));
	EXPECT_TRUE(lets_pass(
		"drop", rule("in", match("==", PORT, R"({"set":[53,4791]})") +
					   "," + ACCEPT)));
	EXPECT_TRUE(lets_pass(
		"drop",
		rule("in", match("==", PORT, R"({"range":[4000,5000]})") + "," +
				   ACCEPT)));
	EXPECT_TRUE(lets_pass(
		"drop", rule("in", match("!=", PORT, "53") + "," + ACCEPT)));
	EXPECT_TRUE(lets_pass(
		"drop", rule("in", match("==", R"({"meta":{"key":"l4proto"}})",
					 R"("udp")") +
					   "," + ACCEPT)));
	/* the first one counts */
	EXPECT_TRUE(
		lets_pass("accept", rule("in", UDP_4791 + "," + ACCEPT) +
					    rule("in", UDP_4791 + "," + DROP)));
}

TEST(Filter, OtherRulesDoNotMatter)
{
	EXPECT_TRUE(drops(
		"drop",
		rule("in",
		     match("==",
			   R"({"payload":{"protocol":"tcp","field":"dport"}})",
			   "22") +
			     "," + ACCEPT) +
			rule("in",
			     match("!=",
				   R"({"payload":{"protocol":"tcp","field":"dport"}})",
				   "22") +
				     "," + ACCEPT) +
			rule("in",
			     match("==", INTERFACE, R"("lo")") + "," + ACCEPT) +
			rule("in", match("==", PORT, "53") + "," + ACCEPT)));
}

TEST(Filter, PacketsOfRoceAreNoReplies)
{
	EXPECT_TRUE(drops(
		"drop",
		rule("in", match("in", STATE, R"(["established","related"])") +
				   "," + ACCEPT)));
	EXPECT_TRUE(lets_pass(
		"drop",
		rule("in", match("in", STATE, R"(["established","new"])") +
				   "," + ACCEPT)));
}

TEST(Filter, InterfacesAreCompared)
{
	EXPECT_TRUE(lets_pass("drop",
			      rule("in", match("==", INTERFACE, R"("eth0")") +
						 "," + ACCEPT)));
	EXPECT_TRUE(lets_pass(
		"drop",
		rule("in", match("==", INTERFACE, R"({"set":["lo","eth*"]})") +
				   "," + ACCEPT)));
	EXPECT_TRUE(drops(
		"accept",
		rule("in", match("!=", INTERFACE, R"("eth1")") + "," + DROP)));
}

TEST(Filter, ARuleForSomeHostsMakesItUncertain)
{
	auto found = blocking(
		"drop", rule("in", match("==", FROM, R"("10.0.0.1")") + "," +
					   UDP_4791 + "," + ACCEPT));

	ASSERT_EQ(found.size(), 1u);
	EXPECT_FALSE(found[0].certain);
	/* what some hosts may not is an administrator's wish */
	EXPECT_TRUE(lets_pass(
		"accept",
		rule("in", match("==", FROM, R"("10.0.0.1")") + "," + DROP)));
}

TEST(Filter, ChainsAreFollowed)
{
	const std::string roce = "," + chain("roce", "");
	const std::string jump = R"({"jump":{"target":"roce"}})";

	EXPECT_TRUE(lets_pass("drop",
			      roce + rule("in", jump) +
				      rule("roce", UDP_4791 + "," + ACCEPT)));
	EXPECT_TRUE(
		drops("accept", roce + rule("in", jump) +
					rule("roce", UDP_4791 + "," + DROP)));
	EXPECT_TRUE(
		lets_pass("accept", roce + rule("in", jump) +
					    rule("roce", R"({"return":null})") +
					    rule("roce", DROP)));
	/* goto does not come back */
	EXPECT_TRUE(drops("drop",
			  roce + rule("in", R"({"goto":{"target":"roce"}})") +
				  rule("in", ACCEPT)));
	/* chains that jump in a circle end */
	EXPECT_TRUE(lets_pass("accept",
			      roce + rule("in", jump) + rule("roce", jump)));
}

TEST(Filter, SetsAndMapsOfPorts)
{
	const std::string set =
		R"(,{"set":{"family":"inet","table":"filter","name":"p","type":"inet_service","elem":[22,{"range":[4000,5000]}]}})";
	const std::string map =
		R"({"vmap":{"key":)" + PORT +
		R"(,"data":{"set":[[53,{"accept":null}],[4791,{"drop":null}]]}}})";

	EXPECT_TRUE(lets_pass(
		"drop",
		set + rule("in", match("==", PORT, R"("@p")") + "," + ACCEPT)));
	EXPECT_TRUE(drops("accept", rule("in", map)));
}

TEST(Filter, HooksHaveADirection)
{
	auto out = blocking("drop", "", "output");

	ASSERT_EQ(out.size(), 1u);
	EXPECT_FALSE(out[0].incoming);
	EXPECT_TRUE(blocking("drop", "", "forward").empty());
	EXPECT_TRUE(blocking("drop", "", "prerouting")[0].incoming);
}

TEST(Filter, FindingsHaveTheCommand)
{
	pavo::Device device;
	pavo::Machine machine;

	device.netdev = "eth0";
	device.state = "ACTIVE";
	device.netdev_mtu = 1500;
	device.gids = {{1, "0000:0000:0000:0000:0000:ffff:0a09:0001", "RoCE v2",
			"eth0"}};
	machine.rules =
		R"({"nftables":[)" +
		chain("in",
		      R"(,"type":"filter","hook":"input","policy":"drop")") +
		"]}";
	auto findings = pavo::find_in(device, machine);

	ASSERT_EQ(findings.size(), 1u);
	EXPECT_EQ(findings[0].what, "filtered_in");
	EXPECT_EQ(findings[0].severity, pavo::Severity::trouble);
	EXPECT_EQ(findings[0].remedy,
		  "nft insert rule inet filter in udp dport 4791 accept");
}

} // namespace
