// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * status.cpp - `pavo status`: state and trouble of the adapters. Called by
 * main.cpp; reads by device.h, direct.h, netlink.h and refusal.h.
 */
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "device.h"
#include "direct.h"
#include "machine.h"
#include "mark.h"
#include "netlink.h"
#include "refusal.h"
#include "report.h"
#include "text.h"
#include "units.h"

namespace pavo {
namespace {

using nlohmann::json;

/* All values of one adapter, read once: both outputs say the same. */
struct Report {
	Device device;
	Counters counters;
	Resources resources;
	std::vector<QueuePair> queue_pairs;
	std::vector<DirectWindowInfo> direct_windows;
	std::string
		since; /* of the counters among the findings; empty: of always */
	std::vector<Finding> findings;
};

Report collect(Netlink &netlink, const std::string &name)
{
	return {read_device(name),
		read_counters(name),
		netlink.resources(name),
		netlink.queue_pairs(name),
		read_direct_windows(name),
		{},
		{}};
}

json json_of(const QueuePair &qp)
{
	return {{"qpn", qp.number},	{"type", qp.type},
		{"state", qp.state},	{"remote_qpn", qp.remote},
		{"pid", qp.pid},	{"owner", qp.owner},
		{"details", qp.details}};
}

json json_of(const DirectWindowInfo &window)
{
	json all = window.numbers, armed = json::array();

	for (const DirectRangeInfo &range : window.armed) {
		json one = range.numbers;

		one["range"] = range.number;
		one["state"] = range.state;
		one["direction"] = range.direction;
		armed.push_back(one);
	}
	all["window"] = window.number;
	all["base"] = window.base;
	all["lkey"] = window.lkey;
	all["armed"] = armed;
	return all;
}

uint64_t value_in(const std::map<std::string, uint64_t> &numbers,
		  const std::string &name)
{
	auto found = numbers.find(name);

	return found == numbers.end() ? 0 : found->second;
}

json json_of(const Report &report)
{
	const Device &device = report.device;
	json gids = json::array(), queue_pairs = json::array(),
	     direct_windows = json::array();

	for (const Gid &gid : device.gids)
		gids.push_back({{"index", gid.index},
				{"gid", gid.gid},
				{"address", address_of(gid.gid)},
				{"type", gid.type},
				{"netdev", gid.netdev}});
	for (const QueuePair &qp : report.queue_pairs)
		queue_pairs.push_back(json_of(qp));
	for (const DirectWindowInfo &window : report.direct_windows)
		direct_windows.push_back(json_of(window));
	return {{"name", device.name},
		{"netdev", device.netdev},
		{"netdev_mtu", device.netdev_mtu},
		{"state", device.state},
		{"phys_state", device.phys_state},
		{"rate", device.rate},
		{"node_guid", device.node_guid},
		{"gids", gids},
		{"resources", report.resources},
		{"queue_pairs", queue_pairs},
		{"direct_windows", direct_windows},
		{"counters", report.counters},
		{"since", report.since},
		{"findings", json_of(report.findings)}};
}

json json_of(const Refusal &refusal)
{
	return {{"device", refusal.device},
		{"netdev", refusal.netdev},
		{"errno", refusal.error},
		{"seconds_ago", refusal.age},
		{"reason", refusal.reason}};
}

uint64_t value_of(const Counters &counters, const std::string &name)
{
	auto found = counters.find(name);

	return found == counters.end() ? 0 : found->second;
}

void print_queue_pairs(const std::vector<QueuePair> &queue_pairs)
{
	fmt::print(
		"  queue pairs\n    {:>8} {:<8} {:<6} {:>8} {:<20} details\n",
		"QPN", "type", "state", "peer", "owner");
	for (const QueuePair &qp : queue_pairs) {
		std::string owner =
			qp.pid ? fmt::format("{} ({})", qp.owner, qp.pid) :
				 fmt::format("[{}]", qp.owner);
		std::string details;

		for (const auto &[name, value] : qp.details)
			details += fmt::format(" {}={}", name, value);
		fmt::print(
			"{}\n",
			wrap(fmt::format("    {:>8} {:<8} {:<6} {:>8} {:<20}{}",
					 qp.number, qp.type, qp.state,
					 qp.remote, owner, details),
			     13, terminal_width()));
	}
}

void print_direct_windows(const std::vector<DirectWindowInfo> &windows)
{
	for (const DirectWindowInfo &window : windows) {
		auto of = [&](const char *name) {
			return value_in(window.numbers, name);
		};
		std::map<std::string, unsigned int> states;

		fmt::print("  direct window {}: {} ranges of {} from {:#x} on, "
			   "{} of {} buffers free",
			   window.number, of("ranges"), bytes(of("size")),
			   window.base, of("free"), of("buffers"));
		if (of("quarantined"))
			fmt::print(", {} of them still in use by a device",
				   of("quarantined"));
		for (const DirectRangeInfo &range : window.armed)
			states[range.state]++;
		for (const auto &[state, count] : states)
			fmt::print(", {} {}", count, state);
		fmt::print("\n");
	}
}

void print(const Report &report, const StatusOptions &options)
{
	const Device &device = report.device;
	const Counters &counters = report.counters;

	fmt::print("{}: {} ({}), {}, {}\n", device.name, device.state,
		   device.phys_state,
		   device.netdev.empty() ?
			   "its interface was removed" :
			   fmt::format("on {} with MTU {}", device.netdev,
				       device.netdev_mtu),
		   device.rate);
	for (const Gid &gid : device.gids)
		fmt::print("  GID {:<3} {}  {}\n", gid.index,
			   address_of(gid.gid), gid.netdev);
	std::string objects = "  objects";

	for (const auto &[name, count] : report.resources)
		objects += fmt::format("  {} {}", name, count);
	fmt::print("{}\n", wrap(objects, 4, terminal_width()));
	if (counters.empty())
		fmt::print("  no counters here: its device is in another "
			   "network namespace\n");
	else
		fmt::print("  sent {} packets, {}; received {} packets, {}\n",
			   value_of(counters, "tx_packets"),
			   bytes(value_of(counters, "tx_bytes")),
			   value_of(counters, "rx_packets"),
			   bytes(value_of(counters, "rx_bytes")));
	print_direct_windows(report.direct_windows);
	print_findings(report.findings, report.since, 2);
	if (options.all_counters) {
		fmt::print("  counters\n");
		for (const auto &[name, value] : counters)
			fmt::print("    {:<28} {:>12}\n", name, value);
	}
	if (options.queue_pairs)
		print_queue_pairs(report.queue_pairs);
}

/* No adapter: what the machine lacks, in place of a state. */
[[noreturn]] void fail_without_adapter(const Machine &machine,
				       const std::optional<Refusal> &refusal)
{
	std::string text;

	for (const Finding &finding : find_in(machine, {}))
		if (finding.severity == Severity::trouble)
			text += (text.empty() ? "" : "\n") +
				sentence_of(finding);
	if (machine.port_bound && machine.loaded)
		text = "there is no adapter\n" + text;
	if (refusal)
		text += "\n" + sentence_of(*refusal);
	throw Error(text);
}

/* Adds what is wrong with an adapter. One of another namespace has no counters here. */
void judge(Report &report, const Machine &machine, Mark mark)
{
	auto add = [&](const std::vector<Finding> &more) {
		report.findings.insert(report.findings.end(), more.begin(),
				       more.end());
	};

	if (report.counters.empty())
		return;
	add(find_in(report.device, machine));
	Counters counted = count_since(report.counters, mark);

	report.since = mark.since;
	add(find_in(counted));
	add(find_in(report.queue_pairs));
}

std::vector<Report> read_all(const std::vector<std::string> &names,
			     const Machine &machine)
{
	std::vector<Report> reports;

	/* Where no adapter is, there may be no RDMA netlink either. */
	if (names.empty())
		return reports;
	Marks marks = read_marks();
	Netlink netlink;

	for (const std::string &name : names) {
		reports.push_back(collect(netlink, name));
		judge(reports.back(), machine, marks[name]);
	}
	return reports;
}

void mark_all(const std::vector<std::string> &names)
{
	Marks marks = read_marks();

	for (const std::string &name : names)
		marks[name] = {now(), read_counters(name)};
	write_marks(marks);
}

} // namespace

bool status(const StatusOptions &options)
{
	std::optional<Refusal> refusal = read_refusal();
	Machine machine = read_machine();

	if (options.devices.empty() && device_names().empty())
		fail_without_adapter(machine, refusal);
	std::vector<std::string> names = choose_devices(options.devices);

	if (options.forget)
		mark_all(names);
	std::vector<Finding> findings = find_in(machine, names);
	bool trouble = has_trouble(findings);
	json all = json::array();

	for (const Report &report : read_all(names, machine)) {
		if (options.json)
			all.push_back(json_of(report));
		else
			print(report, options);
		trouble = trouble || has_trouble(report.findings);
	}
	if (!options.devices.empty())
		refusal.reset();
	if (options.json) {
		if (refusal)
			all.push_back({{"last_refusal", json_of(*refusal)}});
		if (!findings.empty())
			all.push_back({{"machine", json_of(findings)}});
		fmt::print("{}\n", all.dump(2));
		return !trouble;
	}
	if (refusal)
		fmt::print("{}\n",
			   wrap(sentence_of(*refusal), 4, terminal_width()));
	if (!findings.empty())
		fmt::print("this machine\n");
	print_findings(findings, "", 2);
	return !trouble;
}

bool check(const CheckOptions &options)
{
	std::vector<std::string> names =
		options.devices.empty() ? device_names() :
					  choose_devices(options.devices);
	std::optional<Refusal> refusal = read_refusal();
	Machine machine = read_machine();
	std::vector<Finding> findings = find_in(machine, names);
	std::vector<Report> reports = read_all(names, machine);
	bool trouble = has_trouble(findings), notes = !findings.empty();
	json adapters = json::object();

	for (const Report &report : reports) {
		trouble = trouble || has_trouble(report.findings);
		notes = notes || !report.findings.empty();
		adapters[report.device.name] = json_of(report.findings);
	}
	if (options.json) {
		json all = {{"trouble", trouble},
			    {"machine", json_of(findings)},
			    {"adapters", adapters}};

		if (refusal)
			all["last_refusal"] = json_of(*refusal);
		fmt::print("{}\n", all.dump(2));
		return !trouble;
	}
	if (!findings.empty())
		fmt::print("this machine\n");
	print_findings(findings, "", 2);
	for (const Report &report : reports) {
		if (report.findings.empty())
			continue;
		fmt::print("{}\n", report.device.name);
		print_findings(report.findings, report.since, 2);
	}
	if (refusal)
		fmt::print("{}\n",
			   wrap(sentence_of(*refusal), 4, terminal_width()));
	if (!notes)
		fmt::print("nothing is wrong with {}\n",
			   fmt::join(names, ", "));
	return !trouble;
}

} // namespace pavo
