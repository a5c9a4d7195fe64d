// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * top.cpp - `pavo top`: the work of the adapters, as rates. On a terminal the
 * screen is drawn anew each time; elsewhere, and as JSON, rounds follow each
 * other. Called by main.cpp; reads by device.h and netlink.h.
 */
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "device.h"
#include "netlink.h"
#include "text.h"
#include "trouble.h"
#include "units.h"

namespace pavo {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

/* As many counters as fit most terminals. */
constexpr size_t MOVING_SHOWN = 14;

/* Likewise of queue pairs. */
constexpr size_t QUEUE_PAIRS_SHOWN = 10;

struct Sample {
	Clock::time_point when;
	Counters counters;
	std::map<uint32_t, QueuePair> queue_pairs; /* by number, if wanted */
};

/* A queue pair, and the requests that it has completed each second. */
struct BusyQueuePair {
	QueuePair qp;
	double requests;
};

/* Events between two samples, each second. */
struct Rates {
	Device device;
	Resources resources;
	std::map<std::string, double> per_second;
	std::vector<BusyQueuePair> queue_pairs; /* the busiest first */

	double of(const std::string &name) const
	{
		auto found = per_second.find(name);

		return found == per_second.end() ? 0 : found->second;
	}

	double drops() const
	{
		double sum = 0;

		for (const auto &[name, value] : per_second) {
			if (is_drop(name))
				sum += value;
		}
		return sum;
	}
};

uint64_t detail_of(const QueuePair &qp, const char *name)
{
	auto found = qp.details.find(name);

	return found == qp.details.end() ? 0 : found->second;
}

/* The adapter counts modulo 2^32. */
uint32_t completed(const QueuePair &qp)
{
	return static_cast<uint32_t>(detail_of(qp, "sq_completed"));
}

std::vector<BusyQueuePair> compare_queue_pairs(const Sample &before,
					       const Sample &after)
{
	std::chrono::duration<double> seconds = after.when - before.when;
	std::vector<BusyQueuePair> all;

	for (const auto &[number, qp] : after.queue_pairs) {
		auto old = before.queue_pairs.find(number);
		uint32_t done = 0;

		if (old != before.queue_pairs.end())
			done = completed(qp) - completed(old->second);
		all.push_back({qp, done / seconds.count()});
	}
	std::stable_sort(all.begin(), all.end(), [](auto &a, auto &b) {
		return a.requests > b.requests;
	});
	return all;
}

Rates compare(const Sample &before, const Sample &after)
{
	std::chrono::duration<double> seconds = after.when - before.when;
	Rates rates;

	for (const auto &[name, value] : after.counters) {
		auto old = before.counters.find(name);

		if (old == before.counters.end() || value < old->second)
			continue;
		rates.per_second[name] =
			static_cast<double>(value - old->second) /
			seconds.count();
	}
	rates.queue_pairs = compare_queue_pairs(before, after);
	return rates;
}

json json_of(const BusyQueuePair &busy)
{
	return {{"number", busy.qp.number},
		{"pid", busy.qp.pid},
		{"owner", busy.qp.owner},
		{"requests_per_second", busy.requests},
		{"details", busy.qp.details}};
}

json json_of(const Rates &rates)
{
	json found = {{"name", rates.device.name},
		      {"netdev", rates.device.netdev},
		      {"state", rates.device.state},
		      {"resources", rates.resources},
		      {"per_second", rates.per_second}};

	for (const BusyQueuePair &busy : rates.queue_pairs)
		found["queue_pairs"].push_back(json_of(busy));
	return found;
}

/* A line that is wider than the terminal would move those below it. */
template <typename... Args>
void print_cut(fmt::format_string<Args...> format, Args &&...args)
{
	fmt::print("{}\n", cut(fmt::format(format, std::forward<Args>(args)...),
			       terminal_width()));
}

void print_line(const Rates &rates)
{
	auto qps = rates.resources.find("qp");

	print_cut("{:<12} {:<10} {:<7} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9} "
		  "{:>9}",
		  rates.device.name, rates.device.netdev, rates.device.state,
		  qps == rates.resources.end() ? 0 : qps->second,
		  rate(rates.of("tx_packets")), rate(rates.of("tx_bytes") * 8),
		  rate(rates.of("rx_packets")), rate(rates.of("rx_bytes") * 8),
		  rate(rates.of("tx_retransmits")), rate(rates.drops()));
}

/* Counters that move and are not in the line above, the fastest first. */
void print_moving(const Rates &rates)
{
	std::vector<std::pair<double, std::string>> moving;

	for (const auto &[name, value] : rates.per_second) {
		if (value > 0 && !name.ends_with("_packets") &&
		    !name.ends_with("_bytes"))
			moving.emplace_back(value, name);
	}
	std::sort(moving.rbegin(), moving.rend());
	moving.resize(std::min(moving.size(), MOVING_SHOWN));
	for (const auto &[value, name] : moving)
		print_cut("    {:<28} {:>9}/s  {}", name, rate(value),
			  meaning_of(name).advice);
}

/* The busiest queue pairs, with what congestion control knows of their paths. */
void print_queue_pairs(const std::vector<BusyQueuePair> &all)
{
	size_t shown = std::min(all.size(), QUEUE_PAIRS_SHOWN);

	if (!shown)
		return;
	print_cut("    {:>8} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9}  {}", "QPN",
		  "req/s", "in flight", "cwnd", "rtt us", "least us",
		  "reord us", "owner");
	for (size_t i = 0; i < shown; i++) {
		const QueuePair &qp = all[i].qp;

		print_cut("    {:>8} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9}  {}",
			  qp.number, rate(all[i].requests),
			  detail_of(qp, "in_flight"), detail_of(qp, "cwnd"),
			  detail_of(qp, "rtt_us"), detail_of(qp, "min_rtt_us"),
			  detail_of(qp, "reordering_us"), qp.owner);
	}
	if (shown < all.size())
		print_cut("    and {} more", all.size() - shown);
}

void print(const std::vector<Rates> &all, bool terminal)
{
	if (terminal)
		fmt::print("\033[H\033[2J");
	fmt::print("pavo top  {:%H:%M:%S}\n\n",
		   fmt::localtime(std::chrono::system_clock::to_time_t(
			   std::chrono::system_clock::now())));
	print_cut("{:<12} {:<10} {:<7} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9} "
		  "{:>9}",
		  "ADAPTER", "INTERFACE", "STATE", "QPs", "tx pkt/s",
		  "tx bit/s", "rx pkt/s", "rx bit/s", "retx/s", "drop/s");
	for (const Rates &rates : all) {
		print_line(rates);
		print_moving(rates);
		print_queue_pairs(rates.queue_pairs);
	}
	fmt::print("\n");
}

void print_json(const std::vector<Rates> &all)
{
	json line = json::array();

	for (const Rates &rates : all)
		line.push_back(json_of(rates));
	fmt::print("{}\n", line.dump());
}

class Watch {
public:
	explicit Watch(const TopOptions &options) : options_(options) {}

	/* Rates since the last call; an adapter has none in its first round. */
	std::vector<Rates> round()
	{
		std::map<std::string, Sample> now;
		std::vector<Rates> all;

		for (const std::string &name : names()) {
			Sample sample = take(name);
			auto before = last_.find(name);

			if (before != last_.end()) {
				Rates rates = compare(before->second, sample);

				rates.device = read_device(name);
				rates.resources = netlink_.resources(name);
				all.push_back(std::move(rates));
			}
			now[name] = std::move(sample);
		}
		last_ = std::move(now);
		return all;
	}

private:
	Sample take(const std::string &name)
	{
		Sample sample{Clock::now(), read_counters(name), {}};

		if (options_.queue_pairs)
			for (QueuePair &qp : netlink_.queue_pairs(name))
				sample.queue_pairs[qp.number] = std::move(qp);
		return sample;
	}

	/* Without names: all adapters, also those that are added meanwhile. */
	std::vector<std::string> names() const
	{
		if (!options_.devices.empty())
			return choose_devices(options_.devices);
		return device_names();
	}

	const TopOptions &options_;
	Netlink netlink_;
	std::map<std::string, Sample> last_;
};

} // namespace

void top(const TopOptions &options)
{
	bool terminal = isatty(STDOUT_FILENO);

	choose_devices(options.devices);

	Watch watch(options);

	watch.round();
	for (unsigned int n = 0; !options.count || n < options.count; n++) {
		std::this_thread::sleep_for(
			std::chrono::duration<double>(options.interval));
		if (options.json)
			print_json(watch.round());
		else
			print(watch.round(), terminal);
		fflush(stdout);
	}
}

} // namespace pavo
