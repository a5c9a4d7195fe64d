// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * metrics.cpp - `pavo metrics`: counters, objects and findings for Prometheus. Called by main.cpp;
 * reads by device.h, direct.h, machine.h and netlink.h.
 */
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "commands.h"
#include "device.h"
#include "direct.h"
#include "exposition.h"
#include "http.h"
#include "machine.h"
#include "netlink.h"
#include "trouble.h"

namespace pavo {
namespace {

/* Metrics by their names, each once for all adapters. */
class Collection {
public:
	void add(const std::string &name, const char *type, std::string help,
		 Labels labels, uint64_t value)
	{
		Metric &metric = metrics_[name];

		if (metric.name.empty())
			metric = {name, std::move(help), type, {}};
		metric.samples.push_back({std::move(labels), value});
	}

	std::string write() const
	{
		std::vector<Metric> all;

		for (const auto &[name, metric] : metrics_)
			all.push_back(metric);
		return expose(all);
	}

private:
	std::map<std::string, Metric> metrics_;
};

void add_link(Collection &to, const Device &device)
{
	to.add("pavo_info", "gauge", "An adapter and its interface.",
	       {{"device", device.name},
		{"netdev", device.netdev},
		{"node_guid", device.node_guid},
		{"rate", device.rate}},
	       1);
	to.add("pavo_link_active", "gauge", "1: the port is active.",
	       {{"device", device.name}}, device.state == "ACTIVE");
	to.add("pavo_interface_mtu_bytes", "gauge",
	       "MTU of the interface; 0: it is gone, or in another namespace.",
	       {{"device", device.name}}, device.netdev_mtu);
}

void add_counters(Collection &to, const Device &device)
{
	for (const auto &[name, value] : read_counters(device.name)) {
		std::string help(meaning_of(name).advice);

		if (is_drop(name)) {
			to.add("pavo_drops_total", "counter",
			       "Packets that were dropped, by reason; pavo "
			       "status gives advice.",
			       {{"device", device.name}, {"counter", name}},
			       value);
			continue;
		}
		if (help.empty())
			help = "Traffic; see pavo's statistics.md.";
		to.add("pavo_" + name + "_total", "counter", std::move(help),
		       {{"device", device.name}}, value);
	}
}

void add_objects(Collection &to, const Device &device)
{
	for (const auto &[type, count] : Netlink().resources(device.name))
		to.add("pavo_objects", "gauge",
		       "Objects of processes and of the kernel, by type.",
		       {{"device", device.name}, {"type", type}}, count);
	for (const DirectWindowInfo &window : read_direct_windows(device.name))
		for (const auto &[name, value] : window.numbers)
			to.add("pavo_direct_window", "gauge",
			       "Ranges and buffers of a direct window.",
			       {{"device", device.name},
				{"window", std::to_string(window.number)},
				{"of", name}},
			       value);
}

/* Findings of counters are left out: a rule of Prometheus sees those move. */
void add_findings(Collection &to, const std::string &device,
		  const std::vector<Finding> &findings)
{
	for (const Finding &finding : findings)
		if (!finding.counter)
			to.add("pavo_finding", "gauge",
			       "What is wrong, as pavo check says it.",
			       {{"device", device},
				{"what", finding.what},
				{"severity", severity_name(finding.severity)}},
			       1);
}

void add_adapter(Collection &to, const std::string &name,
		 const Machine &machine)
{
	const Device device = read_device(name);

	add_link(to, device);
	add_counters(to, device);
	add_objects(to, device);
	add_findings(to, name, find_in(device, machine));
}

std::string collect_metrics(const std::vector<std::string> &wanted)
{
	const std::vector<std::string> all = device_names();
	const std::vector<std::string> names =
		wanted.empty() ? all : choose_devices(wanted);
	const Machine machine = read_machine();
	Collection collection;

	collection.add("pavo_adapters", "gauge",
		       "Adapters that this network namespace sees.", {},
		       all.size());
	for (const std::string &name : names) {
		try {
			add_adapter(collection, name, machine);
		} catch (const Error &) {
			/* It was removed meanwhile, which is no error of a list of all. */
			if (!wanted.empty())
				throw;
		}
	}
	add_findings(collection, "", find_in(machine, names));
	return collection.write();
}

/* Readers never see half of it: a new file takes the place of the old one. */
void write_file(const std::string &name, const std::string &text)
{
	const std::string part = fmt::format("{}.{}", name, getpid());
	std::ofstream out(part);

	out << text;
	out.close();
	if (out && !chmod(part.c_str(), 0644) &&
	    !rename(part.c_str(), name.c_str()))
		return;
	const int error = errno;

	unlink(part.c_str());
	throw Error(fmt::format("--output {}: {}", name, strerror(error)));
}

} // namespace

void metrics(const MetricsOptions &options)
{
	if (!options.listen.empty())
		serve_metrics(options.listen,
			      [&] { return collect_metrics(options.devices); });
	const std::string text = collect_metrics(options.devices);

	if (options.output.empty())
		fmt::print("{}", text);
	else
		write_file(options.output, text);
}

} // namespace pavo
