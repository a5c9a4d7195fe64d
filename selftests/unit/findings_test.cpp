// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * findings_test.cpp - what `pavo check` and `pavo status` find in the state of a machine, and what
 * they advise. Inputs are as the kernel and nft print them.
 */
#include <gtest/gtest.h>

#include "findings.h"
#include "mark.h"
#include "text.h"

namespace {

using namespace pavo;

/* An adapter that works. */
Device good_device()
{
	Device device;

	device.name = "pavo0";
	device.netdev = "eth0";
	device.state = "ACTIVE";
	device.netdev_mtu = 1500;
	device.gids = {{0, "fe80:0000:0000:0000:0211:22ff:fe33:4455", "RoCE v2",
			"eth0"},
		       {1, "0000:0000:0000:0000:0000:ffff:0a09:0001", "RoCE v2",
			"eth0"}};
	return device;
}

const Finding *find(const std::vector<Finding> &findings,
		    const std::string &what)
{
	for (const Finding &finding : findings)
		if (finding.what == what)
			return &finding;
	return nullptr;
}

/* The one finding. */
Finding only(const std::vector<Finding> &findings)
{
	EXPECT_EQ(findings.size(), 1u);
	return findings.empty() ? Finding{} : findings[0];
}

Finding of_device(const Device &device)
{
	return only(find_in(device, Machine{}));
}

Finding of_machine(const Machine &machine)
{
	return only(find_in(machine, {"pavo0"}));
}

TEST(Findings, AMachineThatWorksHasNone)
{
	EXPECT_TRUE(find_in(Machine{}, {"pavo0"}).empty());
	EXPECT_TRUE(find_in(good_device(), Machine{}).empty());
	EXPECT_TRUE(find_in(Counters{{"tx_packets", 7}}).empty());
}

TEST(Findings, OfTheLinkNameTheInterface)
{
	Device device = good_device();

	device.netdev_up = device.carrier = false;
	device.state = "DOWN";
	EXPECT_EQ(of_device(device).what, "link_down");
	EXPECT_EQ(of_device(device).remedy, "ip link set eth0 up");
	device.netdev_up = true;
	EXPECT_EQ(of_device(device).what, "no_carrier");
	device.carrier = true;
	EXPECT_EQ(of_device(device).what, "port_down");
	EXPECT_TRUE(has_trouble(find_in(device, Machine{})));
	device.netdev.clear();
	EXPECT_EQ(of_device(device).what, "interface_gone");
}

TEST(Findings, OfTheMtu)
{
	Device device = good_device();

	device.netdev_mtu = 1119;
	EXPECT_EQ(of_device(device).what, "mtu");
	EXPECT_EQ(of_device(device).severity, Severity::note);
	device.netdev_mtu = 351;
	EXPECT_EQ(of_device(device).severity, Severity::trouble);
	device.netdev_mtu = 1120;
	EXPECT_TRUE(find_in(device, Machine{}).empty());
}

TEST(Findings, OfAddresses)
{
	Device device = good_device();

	device.gids.pop_back();
	EXPECT_EQ(of_device(device).what, "no_ipv4");
	EXPECT_EQ(of_device(device).remedy, "ip addr add ADDRESS/24 dev eth0");
	EXPECT_EQ(of_device(device).severity, Severity::note);
	device.gids.clear();
	EXPECT_EQ(of_device(device).what, "no_gid");
	EXPECT_EQ(of_device(device).severity, Severity::trouble);
}

TEST(Findings, OfRegisteredMemory)
{
	Machine machine;

	machine.memlock = 64 << 10;
	EXPECT_EQ(of_machine(machine).what, "memlock");
	EXPECT_EQ(of_machine(machine).severity, Severity::trouble);
	EXPECT_NE(of_machine(machine).text.find("64.0 KiB"), std::string::npos);
	machine.memlock = 8 << 20;
	EXPECT_EQ(of_machine(machine).severity, Severity::note);
	machine.memlock = 64 << 20;
	EXPECT_TRUE(find_in(machine, {"pavo0"}).empty());
}

TEST(Findings, OfAPortThatRxeHolds)
{
	Machine machine;
	std::vector<Finding> findings;

	machine.port_bound = machine.rxe_loaded = true;
	machine.rxe_adapters = {"rxe0"};
	findings = find_in(machine, {});
	EXPECT_EQ(only(findings).what, "port_taken_by_rxe");
	EXPECT_EQ(only(findings).remedy,
		  "rdma link delete rxe0\nrmmod rdma_rxe");
	/* a command that would fail is not among them */
	EXPECT_EQ(find(findings, "no_adapter"), nullptr);
	/* with an adapter of pavo the port is pavo's own */
	EXPECT_TRUE(find_in(machine, {"pavo0"}).empty());
	machine.rxe_loaded = false;
	machine.rxe_adapters.clear();
	EXPECT_EQ(only(find_in(machine, {})).what, "port_taken");
}

TEST(Findings, OfNoAdapterNameAnInterface)
{
	Machine machine;

	machine.interface = "enp3s0";
	EXPECT_EQ(only(find_in(machine, {})).remedy,
		  "rdma link add pavo0 type pavo netdev enp3s0");
}

TEST(Findings, OfAModuleThatIsNotThere)
{
	Machine machine;
	Finding finding;

	machine.kernel = "6.1.0-50-amd64";
	machine.loaded = machine.installed = false;
	machine.kernels = {"6.1.0-49-amd64"};
	finding = find_in(machine, {})[0];
	EXPECT_EQ(finding.what, "no_module");
	EXPECT_EQ(finding.text, "there is no module for this kernel "
				"(6.1.0-50-amd64), only for 6.1.0-49-amd64");
	machine.installed = true;
	finding = find_in(machine, {})[0];
	EXPECT_EQ(finding.what, "not_loaded");
	EXPECT_EQ(finding.remedy, "modprobe pavo");
}

TEST(Findings, OfASignatureThatTheKernelRefused)
{
	Machine machine;
	Finding finding;

	machine.loaded = false;
	machine.signature_refused = true;
	finding = find_in(machine, {})[0];
	EXPECT_EQ(finding.what, "signature_refused");
	EXPECT_EQ(
		finding.text.find("the kernel refused the module's signature"),
		0u);
	EXPECT_NE(finding.remedy.find("mokutil --import"), std::string::npos);
	machine.signature_refused = false;
	machine.must_sign = true;
	EXPECT_EQ(find_in(machine, {})[0].what, "not_loaded");
	machine.has_signature = false;
	EXPECT_EQ(find_in(machine, {})[0].what, "signature_refused");
}

TEST(Findings, OfTheConnectionManager)
{
	Machine machine;

	machine.has_rdma_cm = false;
	EXPECT_EQ(of_machine(machine).remedy, "modprobe rdma_ucm");
}

TEST(Findings, OfRulesThatTheUserMayNotRead)
{
	Machine machine;

	machine.rules_unknown = true;
	EXPECT_EQ(of_machine(machine).severity, Severity::note);
}

TEST(Findings, OfCountersHaveTroubleFirst)
{
	Counters counters = {{"rnr_nak_retry_err", 2},
			     {"tx_drop_no_route", 0},
			     {"tx_drop_filtered", 3},
			     {"tx_packets", 100}};
	std::vector<Finding> findings = find_in(counters);

	ASSERT_EQ(findings.size(), 2u);
	EXPECT_EQ(findings[0].what, "tx_drop_filtered");
	EXPECT_EQ(findings[0].value, 3u);
	EXPECT_EQ(findings[1].severity, Severity::note);
}

TEST(Findings, OfAForgedQueuePair)
{
	QueuePair qp;

	qp.number = 17;
	EXPECT_TRUE(find_in(std::vector{qp}).empty());
	qp.details["far_requests"] = 5;
	EXPECT_EQ(only(find_in(std::vector{qp})).qpn, 17u);
}

TEST(Machine, KnowsItsModuleByTheDependencies)
{
	EXPECT_TRUE(has_module("kernel/fs/ext4.ko: kernel/lib/crc16.ko\n"
			       "updates/pavo.ko: kernel/net/udp_tunnel.ko\n"));
	EXPECT_TRUE(has_module("updates/dkms/pavo.ko.xz:\n"));
	EXPECT_FALSE(has_module("extra/pavo_planted.ko: updates/pavo.ko\n"));
	EXPECT_FALSE(has_module(""));
}

TEST(Machine, KnowsARefusedSignatureByTheLog)
{
	EXPECT_TRUE(refuses_signatures(
		"<5>[    9.1] Loading of unsigned module is rejected\n"));
	EXPECT_TRUE(refuses_signatures(
		"<5>[ 9.1] Loading of module with unavailable key is rejected"));
	EXPECT_TRUE(refuses_signatures(
		"[ 9.1] Lockdown: modprobe: unsigned module loading is "
		"restricted; see man kernel_lockdown.7\n"));
	EXPECT_FALSE(refuses_signatures(
		"pavo: module verification failed: signature and/or required "
		"key missing - tainting kernel\n"));
}

TEST(Machine, KnowsABoundPort)
{
	const std::string title = "  sl  local_address rem_address   st\n";

	EXPECT_TRUE(has_bound_port(
		title + " 1303: 00000000:12B7 00000000:0000 07 00000000:0\n"));
	EXPECT_FALSE(has_bound_port(
		title + " 1303: 00000000:12B8 0100007F:12B7 07 00000000:0\n"));
}

TEST(Marks, LeaveOutWhatWasBefore)
{
	Mark mark = {"yesterday", {{"tx_drop_filtered", 3}, {"rx_naks", 1}}};
	Counters counters = {
		{"tx_drop_filtered", 3}, {"rx_naks", 4}, {"qp_errors", 1}};
	Counters since = count_since(counters, mark);

	EXPECT_EQ(since["tx_drop_filtered"], 0u);
	EXPECT_EQ(since["rx_naks"], 3u);
	EXPECT_EQ(since["qp_errors"], 1u);
	EXPECT_EQ(mark.since, "yesterday");
}

TEST(Marks, AreNoneForANewAdapterOfThatName)
{
	Mark mark = {"yesterday", {{"a", 3}, {"b", 1}}};
	Counters since = count_since({{"a", 5}, {"b", 0}}, mark);

	EXPECT_EQ(since["a"], 5u);
	EXPECT_EQ(mark.since, "");
}

TEST(Marks, ComeBackFromTheFile)
{
	Marks marks = {{"pavo0", {"2026-11-28 01:02:03", {{"rx_naks", 4}}}}};
	Marks back = parse_marks(text_of(marks));

	EXPECT_EQ(back["pavo0"].since, "2026-11-28 01:02:03");
	EXPECT_EQ(back["pavo0"].counters, marks["pavo0"].counters);
	EXPECT_TRUE(parse_marks("").empty());
	EXPECT_TRUE(parse_marks("{\"a\": 1, \"b\": {\"since\": 2}}").empty());
	EXPECT_TRUE(parse_marks("[1").empty());
}

TEST(Text, IsWrappedBetweenWords)
{
	EXPECT_EQ(wrap("one two three four five six", 2, 20),
		  "one two three four\n  five six");
	EXPECT_EQ(wrap("    one two three four five", 6, 24),
		  "    one two three four\n      five");
	EXPECT_EQ(wrap("short", 2, 20), "short");
	EXPECT_EQ(wrap("no terminal has no width at all", 2, 0),
		  "no terminal has no width at all");
	EXPECT_EQ(wrap("aaaaaaaaaaaaaaaaaaaaaaaaaaaa b", 2, 20),
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaa\n  b");
	EXPECT_EQ(wrap("    aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 2, 20),
		  "    aaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

TEST(Text, IsCutAtTheWidth)
{
	EXPECT_EQ(cut("abcdef", 4), "abcd");
	EXPECT_EQ(cut("abc", 4), "abc");
	EXPECT_EQ(cut("abcdef", 0), "abcdef");
}

TEST(Text, HasGidsAsAddresses)
{
	EXPECT_EQ(address_of("0000:0000:0000:0000:0000:ffff:0a09:0001"),
		  "10.9.0.1");
	EXPECT_EQ(address_of("fe80:0000:0000:0000:0211:22ff:fe33:4455"),
		  "fe80::211:22ff:fe33:4455");
	EXPECT_EQ(address_of("fd09:0000:0000:0000:0000:0000:0000:0001"),
		  "fd09::1");
	EXPECT_EQ(address_of("no gid"), "no gid");
}

} // namespace
