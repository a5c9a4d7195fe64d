// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * status.cpp - `pavo status`: state and trouble of the adapters. Called by
 * main.cpp; reads by device.h, direct.h, netlink.h and refusal.h.
 */
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "device.h"
#include "direct.h"
#include "netlink.h"
#include "refusal.h"
#include "trouble.h"
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
};

Report collect(Netlink &netlink, const std::string &name)
{
	return {read_device(name), read_counters(name), netlink.resources(name),
		netlink.queue_pairs(name), read_direct_windows(name)};
}

const char *severity_name(Severity severity)
{
	switch (severity) {
	case Severity::trouble:
		return "trouble";
	case Severity::note:
		return "note";
	default:
		return "none";
	}
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

/* Requests that came to a queue pair with PSNs which no loss explains. */
uint64_t far_psns(const QueuePair &qp)
{
	return value_in(qp.details, "far_requests");
}

constexpr const char *far_advice =
	"requests with PSNs far from the expected one: a host or a process "
	"forges packets to this queue pair, or its peer lost its state "
	"(docs/security.md)";

json json_of(const Report &report)
{
	const Device &device = report.device;
	json findings = json::array(), gids = json::array(),
	     queue_pairs = json::array(), direct_windows = json::array();

	for (const auto &[name, value] : report.counters) {
		Meaning meaning = meaning_of(name);

		if (value && meaning.severity != Severity::none)
			findings.push_back(
				{{"counter", name},
				 {"value", value},
				 {"severity", severity_name(meaning.severity)},
				 {"advice", meaning.advice}});
	}
	for (const QueuePair &qp : report.queue_pairs)
		if (far_psns(qp))
			findings.push_back(
				{{"qpn", qp.number},
				 {"value", far_psns(qp)},
				 {"severity", severity_name(Severity::trouble)},
				 {"advice", far_advice}});
	for (const Gid &gid : device.gids)
		gids.push_back({{"index", gid.index},
				{"gid", gid.gid},
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
		{"findings", findings}};
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

void print_findings(const Counters &counters, Severity severity,
		    const char *title)
{
	bool titled = false;

	for (const auto &[name, value] : counters) {
		Meaning meaning = meaning_of(name);

		if (!value || meaning.severity != severity)
			continue;
		if (!titled)
			fmt::print("  {}\n", title);
		titled = true;
		fmt::print("    {:<28} {:>12}  {}\n", name, value,
			   meaning.advice);
	}
}

void print_far_psns(const std::vector<QueuePair> &queue_pairs)
{
	for (const QueuePair &qp : queue_pairs)
		if (far_psns(qp))
			fmt::print(
				"  trouble at queue pair {} of {} ({}): {} {}\n",
				qp.number, qp.owner, qp.pid, far_psns(qp),
				far_advice);
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
		fmt::print("    {:>8} {:<8} {:<6} {:>8} {:<20}{}\n", qp.number,
			   qp.type, qp.state, qp.remote, owner, details);
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
		fmt::print("  GID {:<3} {}  {}\n", gid.index, gid.gid,
			   gid.netdev);
	fmt::print("  objects");
	for (const auto &[name, count] : report.resources)
		fmt::print("  {} {}", name, count);
	if (counters.empty())
		fmt::print("\n  no counters here: its device is in another "
			   "network namespace\n");
	else
		fmt::print("\n  sent {} packets, {}; received {} packets, {}\n",
			   value_of(counters, "tx_packets"),
			   bytes(value_of(counters, "tx_bytes")),
			   value_of(counters, "rx_packets"),
			   bytes(value_of(counters, "rx_bytes")));
	print_direct_windows(report.direct_windows);
	print_findings(counters, Severity::trouble, "trouble");
	print_far_psns(report.queue_pairs);
	print_findings(counters, Severity::note, "worth knowing");
	if (options.all_counters) {
		fmt::print("  counters\n");
		for (const auto &[name, value] : counters)
			fmt::print("    {:<28} {:>12}\n", name, value);
	}
	if (options.queue_pairs)
		print_queue_pairs(report.queue_pairs);
}

} // namespace

void status(const StatusOptions &options)
{
	std::optional<Refusal> refusal = read_refusal();
	std::vector<std::string> names;
	json all = json::array();

	try {
		names = choose_devices(options.devices);
	} catch (const Error &error) {
		if (refusal)
			throw Error(error.what() + std::string("\n") +
				    sentence_of(*refusal));
		throw;
	}

	Netlink netlink;

	for (const std::string &name : names) {
		Report report = collect(netlink, name);

		if (options.json)
			all.push_back(json_of(report));
		else
			print(report, options);
	}
	if (!options.devices.empty())
		refusal.reset();
	if (refusal && options.json)
		all.push_back({{"last_refusal", json_of(*refusal)}});
	else if (refusal)
		fmt::print("{}\n", sentence_of(*refusal));
	if (options.json)
		fmt::print("{}\n", all.dump(2));
}

} // namespace pavo
