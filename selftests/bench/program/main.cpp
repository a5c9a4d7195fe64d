// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-bench: measures a pair of verbs devices, whatever driver they have.
 *
 * Owns: arguments, the matrix of tests, the result lines (one JSON object per
 * test on stdout). Run in a guest by ../guest.sh, once per driver and round.
 */
#include <algorithm>
#include <iostream>
#include <numeric>

#include <nlohmann/json.hpp>

#include "../../common/options.h"
#include "tests.h"

namespace bench {

namespace {

constexpr size_t max_size = 1 << 20;
constexpr int test_seconds = 100; /* one that takes longer hangs */

enum class Kind { bandwidth, rate, list, latency, setup };

const std::map<std::string, Op> ops{
	{"write", Op::write}, {"read", Op::read}, {"send", Op::send}};
const std::map<std::string, Kind> kinds{{"bandwidth", Kind::bandwidth},
					{"rate", Kind::rate},
					{"list", Kind::list},
					{"latency", Kind::latency},
					{"setup", Kind::setup}};
const std::map<std::string, Wait> waits{{"events", Wait::events},
					{"polling", Wait::polling}};
const std::map<std::string, Service> services{{"rc", Service::rc},
					      {"ud", Service::ud},
					      {"windows", Service::windows}};

template <class Value>
std::string name_of(const std::map<std::string, Value> &names, Value value)
{
	return std::find_if(names.begin(), names.end(),
			    [=](auto &name) { return name.second == value; })
		->first;
}

struct Options {
	std::vector<Op> ops{Op::write, Op::read, Op::send};
	std::vector<Kind> kinds{Kind::bandwidth, Kind::rate, Kind::latency};
	std::vector<size_t> sizes{2, 64, 4096, 65536, 1048576};
	PairSpec pair;
	double scale = 1;
	size_t idle = 0;
	uint64_t seed = 1;
	std::string devices[2];
	std::string peer_namespace;
	std::string name;
	std::string maps;
};

/* How many messages of a size say enough; the longest take milliseconds. */
int messages_of(Kind kind, size_t size)
{
	if (kind == Kind::latency)
		return size < 4096     ? 200 :
		       size < 65536    ? 100 :
		       size < max_size ? 20 :
					 4;
	/* at native speed so many take about a tenth of a second */
	if (kind == Kind::list)
		return std::clamp<size_t>((128 << 20) / size, 64, 65536);
	return size < 4096     ? 512 :
	       size < 65536    ? 256 :
	       size < max_size ? 64 :
				 8;
}

/*
 * A list is posted by one system call, which is dear in some guests: it is long, and two are under
 * way. Their places fit into the cache of a CPU, so messages of a list share them.
 */
void choose_list(StreamSpec &spec)
{
	spec.chain =
		std::clamp<size_t>(8 * max_size / spec.size, 8,
				   spec.size < 4096 ? queue_depth / 2 : 64);
	spec.signal = spec.chain;
	spec.window = 2 * spec.chain;
	spec.places = std::clamp<size_t>(2 * max_size / spec.size, 2, 64);
}

/* All of them, and of one: messages and nanoseconds. */
nlohmann::json result(uint64_t messages, uint64_t total, uint64_t typical,
		      uint64_t least, uint64_t most)
{
	return {{"messages", messages},	 {"total_ns", total},
		{"typical_ns", typical}, {"min_ns", least},
		{"max_ns", most},	 {"began_ns", began_ns}};
}

nlohmann::json measure_stream(Transport &ends, const Options &options, Op op,
			      Kind kind, size_t size)
{
	StreamSpec spec = {};

	spec.op = op;
	spec.size = size;
	spec.messages = int(messages_of(kind, size) * options.scale);
	spec.window = std::clamp<size_t>(max_size / size, 4, 64);
	spec.chain = kind == Kind::rate ? std::max(1, spec.window / 4) : 1;
	spec.signal = std::max(1, spec.window / 4);
	spec.seed = options.seed;
	spec.queue_pairs = options.pair.queue_pairs;
	if (kind == Kind::list)
		choose_list(spec);
	if (spec.slots() * stride_of(spec.size) > area_bytes)
		throw std::runtime_error("too many queue pairs for the size");
	spec.messages -= spec.messages % spec.queue_pairs;
	uint64_t total = ends.stream(spec), each = total / spec.messages;

	return result(spec.messages, total, each, each, each);
}

/* The longest of one in a thousand, of sorted times. */
uint64_t tail_of(const std::vector<uint64_t> &times)
{
	return times[times.size() - 1 - times.size() / 1000];
}

/* Of each message. */
nlohmann::json result_of(std::vector<uint64_t> times)
{
	std::sort(times.begin(), times.end());

	nlohmann::json row =
		result(times.size(),
		       std::accumulate(times.begin(), times.end(), uint64_t(0)),
		       times[times.size() / 2], times.front(), times.back());

	row["each"] = true;
	if (times.size() >= 1000)
		row["p999_ns"] = tail_of(times);
	return row;
}

nlohmann::json measure_latency(Transport &ends, const Options &options, Op op,
			       size_t size)
{
	std::vector<uint64_t> times =
		ends.latency({.op = op,
			      .size = size,
			      .messages = int(messages_of(Kind::latency, size) *
					      options.scale),
			      .seed = options.seed});

	return result_of(std::move(times));
}

/*
 * How long it takes to create a queue pair with queues of such a depth, to connect it, and to destroy
 * it, among others. Prints a line for each.
 */
void measure_setup(Device &a, Device &b, const Options &options, int depth)
{
	/* There rdma_cm connects queue pairs. */
	if (a.is_iwarp())
		return;
	SetupTimes times = time_setup(a, b, int(300 * options.scale), depth);
	const std::pair<const char *, std::vector<uint64_t> &> steps[] = {
		{"create", times.create},
		{"connect", times.connect},
		{"destroy", times.destroy}};

	for (auto &[step, found] : steps) {
		nlohmann::json row = result_of(std::move(found));

		row["op"] = step;
		row["test"] = options.name.empty() ? "setup" : options.name;
		row["size"] = depth;
		row["drops"] = 0;
		std::cout << row.dump() << '\n' << std::flush;
	}
}

/*
 * Prints what was measured, or how it failed: the other tests go on, and who
 * reads the lines judges. Packets and bytes are those of the warm-up too.
 */
void run_test(Device &a, Device &b, const Options &options, Op op, Kind kind,
	      size_t size)
{
	std::unique_ptr<Transport> ends =
		options.pair.service == Service::windows ?
			make_windows(a, b, options.pair.wait) :
			std::make_unique<Verbs>(a, b, options.pair);
	Traffic traffic(a);
	nlohmann::json row;

	if (!ends->takes(op, size))
		return;
	try {
		row = kind == Kind::latency ?
			      measure_latency(*ends, options, op, size) :
			      measure_stream(*ends, options, op, kind, size);
		/* Nothing that moved fewer bytes than it was asked to is a result. */
		uint64_t bytes = row["messages"].get<uint64_t>() * size;
		uint64_t moved =
			traffic.moved(op == Op::read ? "rx_bytes" : "tx_bytes");

		if (a.name != b.name && moved < bytes)
			throw std::runtime_error(
				"only " + std::to_string(moved) + " of " +
				std::to_string(bytes) +
				" bytes crossed the interface");
	} catch (const std::exception &problem) {
		row = {{"error", problem.what()}};
	}
	row["op"] = name_of(ops, op);
	row["test"] = options.name.empty() ? name_of(kinds, kind) :
					     options.name;
	row["size"] = size;
	if (options.idle)
		row["windows"] = options.idle;
	for (const char *what :
	     {"tx_packets", "rx_packets", "tx_bytes", "rx_bytes"})
		row[what] = traffic.moved(what);
	row["drops"] = traffic.drops();
	std::cout << row.dump() << '\n' << std::flush;
}

void run_all(const Options &options)
{
	Device a(options.devices[0]);
	Device b(options.devices[1], options.peer_namespace);

	keep_pages(options.maps);
	std::shared_ptr<void> idle = options.idle ? open_idle(a, options.idle) :
						    nullptr;

	for (Kind kind : options.kinds)
		for (size_t size : options.sizes) {
			if (kind != Kind::setup)
				continue;
			limit_time(test_seconds);
			measure_setup(a, b, options, int(size));
		}
	for (Op op : options.ops)
		for (Kind kind : options.kinds)
			for (size_t size : options.sizes) {
				if (kind == Kind::setup)
					continue;
				limit_time(test_seconds);
				run_test(a, b, options, op, kind, size);
			}
	limit_time(0);
}

Options parse(int argc, char **argv)
{
	common::CommandLine app(
		"pavo-bench - measures a pair of verbs devices, whatever "
		"driver they have\nPrints a line of JSON for each test.");
	Options options;
	auto list = [&](const char *name, auto &values, const auto &names,
			const char *help) {
		app.add_list(name, values, help)
			->delimiter(',')
			->transform(CLI::CheckedTransformer(names));
	};

	list("--ops", options.ops, ops, "what is done");
	list("--tests", options.kinds, kinds, "what is measured");
	app.add_list("--sizes", options.sizes,
		     "bytes of a message; setup: depth of queues")
		->delimiter(',')
		->check(CLI::Range(size_t(1), max_size));
	app.add_option("--wait", options.pair.wait,
		       "how for completions (events)")
		->transform(CLI::CheckedTransformer(waits));
	app.add_option("--service", options.pair.service,
		       "what a device has none of has no line (rc)")
		->transform(CLI::CheckedTransformer(services));
	app.add_option("--queue-pairs", options.pair.queue_pairs,
		       "of a stream, not of windows (1)")
		->check(CLI::Range(1, 64));
	app.add_option("--peer-namespace", options.peer_namespace,
		       "network namespace of the second device's interface");
	app.add_option("--name", options.name,
		       "of the test in the lines (what is measured)");
	app.add_option("--scale", options.scale,
		       "so many times the messages, also a part of them")
		->check(CLI::PositiveNumber);
	app.add_option("--idle", options.idle,
		       "windows of the first device, most of which do nothing");
	app.add_option("--seed", options.seed, "of the data (1)");
	app.add_option("--maps", options.maps,
		       "file for the program's memory map, for the profiler");
	app.add_option("FIRST", options.devices[0], "a device")->required();
	app.add_option("SECOND", options.devices[1], "its peer")->required();
	app.read(argc, argv);
	return options;
}

} // namespace

} // namespace bench

int main(int argc, char **argv)
try {
	bench::run_all(bench::parse(argc, argv));
	return 0;
} catch (const std::exception &problem) {
	std::cerr << "pavo-bench: " << problem.what() << '\n';
	return 1;
}
