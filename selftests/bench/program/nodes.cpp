// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-bench-nodes: operations of windows of several nodes, each beside what a process does that
 * has no such operation. Prints a line of JSON for each test and size, as pavo-bench.
 *
 *   third    node 0 has node 2 send to node 1; or it reads from node 2, then writes to node 1
 *   cast2/3  node 0 writes to a group of so many nodes; or to each of them
 *   flag     node 0 writes 8 parts to node 1, then a flag, for which the adapter waits until all
 *            parts are there; or the process does
 *
 * Called by ../nodes-guest.sh. One thread plays all nodes, so that no scheduler is measured.
 */
#include <iostream>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>
#include <pavo/broadcast.hpp>

#include "../../common/errors.h"
#include "../../common/options.h"
#include "tests.h"
#include "window_end.h"

namespace bench {

using common::must;

namespace {

constexpr uint16_t most_nodes = 4;
/* Of a peer: each operation under way has one, or one for each part and its flag. */
constexpr size_t contexts = 64;
constexpr uint32_t parts = 8, frames = 128;
/* Number of no node, for the group. */
constexpr uint16_t group_node = 60;
constexpr int most_seconds = 60;
/* Of a network that loses nothing: longer than what is under way takes on any wire. */
constexpr std::chrono::seconds timeout{1};

const pavo::BroadcastGroup group = {.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff,
					    0xff, 239, 9, 9, 9},
				    .number = pavo::window_group | 9,
				    .contexts = 16};

struct Options {
	std::vector<std::string> tests{"third", "cast2", "cast3", "flag"};
	std::vector<uint32_t> sizes{4096, 65536, 1048576};
	std::vector<int> depths{1, 4};
	std::string name;
	uint64_t bytes = 64 << 20;
	uint32_t piece = pavo::BroadcastOptions().piece;
	uint64_t seed = 1;
	std::string way;
	std::vector<std::string> devices;
};

using Over = std::function<void()>;

/* The same, where an error ends the test. */
pavo::Transfer::Done checked(Over over)
{
	return [over = std::move(over)](const pavo::Result<void> &how) {
		must(how, "an operation");
		over();
	};
}

struct Node : WindowEnd {
	Node(const Device &verbs, uint16_t number)
		: WindowEnd(verbs, number,
			    {.send_frames = frames,
			     .recv_frames = 2 * frames,
			     .broadcast = number == 0}),
		  rdma(must(pavo::Rdma::open(window, {.timeout = timeout}),
			    "RDMA"))
	{
	}

	pavo::Rdma rdma;
};

/* All nodes; the first one has the others as peers. */
class Nodes {
public:
	explicit Nodes(const std::vector<std::unique_ptr<Device>> &devices)
	{
		for (const auto &device : devices)
			all_.push_back(std::make_unique<Node>(
				*device, uint16_t(all_.size())));
		for (auto &node : all_) {
			std::vector<uint32_t> rcxts(contexts);

			for (uint16_t i = 0; i < all_.size(); i++)
				node->know(i, *devices[i]);
			must(node->rdma.take_rcxts(rcxts), "contexts");
			peers_.push_back(must(
				root().add({node->window.address(), rcxts}),
				"a peer"));
		}
		counter_ = must(root().take_counter(), "a counter");
		all_[1]->rdma.on_arrival([this](const auto &arrival) {
			if (auto over = flags_.extract(arrival.tag))
				over.mapped()();
		});
	}

	/*
	 * Each sends and receives as many messages as its FIFOs have frames: in User-Mode Linux the
	 * first write to a page takes as long as some system calls.
	 */
	void warm_up()
	{
		for (uint32_t i = 0; i < 2 * frames; i++) {
			for (size_t n = 0; n < all_.size(); n++)
				must(all_[n]->rdma.send(
					     all_[(n + 1) % all_.size()]
						     ->window.address(),
					     std::as_bytes(std::span(&i, 1))),
				     "a message");
			progress(all_.size());
		}
	}

	/* Nodes 1 to @members get what node 0 writes to the group. */
	void form_group(size_t members, uint32_t piece)
	{
		cast_.emplace(must(pavo::Broadcast::open(root(),
							 {.group = group,
							  .node = group_node,
							  .piece = piece,
							  .timeout = timeout}),
				   "a group"));
		for (size_t i = 1; i <= members; i++) {
			targets_.push_back(
				must(pavo::BroadcastTarget::open(
					     all_[i]->rdma, group,
					     all_[i]->in_at(0), area_bytes),
				     "a member"));
			must(cast_->add(all_[i]->window.address()), "a member");
		}
	}

	Node &operator[](size_t i) { return *all_[i]; }

	/* One operation each, from and to the place @at of memory. */
	void third_party(size_t at, uint32_t size, Over over)
	{
		must(root().third_party(peers_[2], peers_[1],
					{.local = all_[1]->in_at(at),
					 .remote = all_[2]->out_at(at),
					 .length = size},
					checked(std::move(over))),
		     "third party");
	}

	void copy(size_t at, uint32_t size, Over over)
	{
		auto write = [this, at, size, over] {
			put(1,
			    {.local = all_[0]->in_at(at),
			     .remote = all_[1]->in_at(at),
			     .length = size},
			    over);
		};

		must(root().get(peers_[2],
				{.local = all_[0]->in_at(at),
				 .remote = all_[2]->out_at(at),
				 .length = size},
				checked(write)),
		     "a read");
	}

	void broadcast(size_t at, uint32_t size, Over over)
	{
		must(cast_->put({.local = all_[0]->out_at(at),
				 .offset = at,
				 .length = size},
				checked(std::move(over))),
		     "a write to a group");
	}

	template <size_t members>
	void unicast(size_t at, uint32_t size, Over over)
	{
		auto left = std::make_shared<size_t>(members);

		for (size_t i = 1; i <= members; i++)
			put(i,
			    {.local = all_[0]->out_at(at),
			     .remote = all_[i]->in_at(at),
			     .length = size,
			     .notify = true},
			    [left, over] {
				    if (!--*left)
					    over();
			    });
	}

	/* It is over when node 1 has the flag, which it learns by its tag. */
	template <bool held> void flag(size_t at, uint32_t size, Over over)
	{
		const uint32_t part = size / parts, tag = uint32_t(at);
		auto left = std::make_shared<uint32_t>(parts);
		pavo::RdmaMove mark{.local = all_[0]->out_at(at),
				    .remote = all_[1]->out_at(0),
				    .length = 8,
				    .notify = true,
				    .tag = tag};

		flags_.emplace(tag, std::move(over));
		for (size_t i = 0; i < parts; i++) {
			pavo::RdmaMove move{
				.local = all_[0]->out_at(at + i * part),
				.remote = all_[1]->in_at(at + i * part),
				.length = part};

			if (held)
				move.counter = counter_;
			put(1, move, [this, left, mark] {
				if (!--*left && !held)
					put(1, mark, [] {});
			});
		}
		mark.after = {.counter = counter_};
		if (held)
			put(1, mark, [] {});
	}

	/* Goes on until @count is above @before, by the first @involved nodes. */
	void wait(const uint64_t &count, size_t involved)
	{
		const uint64_t before = count;
		std::vector<WindowEnd *> ends;

		for (size_t i = 0; i < involved; i++)
			ends.push_back(all_[i].get());
		while (count == before)
			wait_for(
				ends, Wait::events,
				[&] { return progress(involved); },
				cast_ ? std::min(due_in(root()),
						 due_in(*cast_)) :
					due_in(root()));
	}

	uint64_t retries() const
	{
		return all_[0]->rdma.retries() + (cast_ ? cast_->retries() : 0);
	}

private:
	pavo::Rdma &root() { return all_[0]->rdma; }

	bool progress(size_t involved)
	{
		size_t found =
			must(cast_ ? cast_->progress() : root().progress(),
			     "progress");

		for (size_t i = 1; i < involved; i++)
			found += must(all_[i]->rdma.progress(), "progress");
		return found;
	}

	void put(size_t to, const pavo::RdmaMove &move, Over over)
	{
		must(root().put(peers_[to], move, checked(std::move(over))),
		     "a write");
	}

	std::vector<std::unique_ptr<Node>> all_;
	std::vector<pavo::Rdma::Peer> peers_;
	std::optional<pavo::Broadcast> cast_;
	std::vector<pavo::BroadcastTarget> targets_;
	std::multimap<uint32_t, Over> flags_;
	uint32_t counter_ = 0;
};

/* A test: its operation in both ways, and who has a part in it. */
struct Test {
	size_t source; /* whose memory is sent */
	size_t members; /* that have it afterwards: nodes 1 to this */
	size_t involved; /* whose processes have to go on: nodes below this */
	void (Nodes::*with)(size_t at, uint32_t size, Over over);
	void (Nodes::*without)(size_t at, uint32_t size, Over over);
};

const std::map<std::string, Test> tests = {
	{"third", {2, 1, 1, &Nodes::third_party, &Nodes::copy}},
	{"cast2", {0, 2, 3, &Nodes::broadcast, &Nodes::unicast<2>}},
	{"cast3", {0, 3, 4, &Nodes::broadcast, &Nodes::unicast<3>}},
	{"flag", {0, 1, 2, &Nodes::flag<true>, &Nodes::flag<false>}}};

uint64_t measure(Nodes &nodes, const Test &test, bool with,
		 const StreamSpec &spec)
{
	const uint8_t *source = nodes[test.source].out;
	std::vector<uint8_t *> targets;
	const auto operation = with ? test.with : test.without;
	uint64_t done = 0;
	auto run = [&](int messages) {
		const uint64_t end = done + uint64_t(messages);
		uint64_t begun = done;

		while (done < end) {
			for (; begun < end && begun < done + spec.window;
			     begun++)
				(nodes.*operation)(begun % spec.window *
							   stride_of(spec.size),
						   uint32_t(spec.size),
						   [&] { done++; });
			nodes.wait(done, test.involved);
		}
	};

	for (size_t i = 1; i <= test.members; i++)
		targets.push_back(nodes[i].in);
	pattern_fill(nodes[test.source].out, spec.window * stride_of(spec.size),
		     spec.seed, 0);
	return timed_stream(spec, source, targets, run, verify);
}

void run_test(const std::vector<std::unique_ptr<Device>> &devices,
	      const Options &options, const std::string &name, uint32_t size,
	      int depth)
{
	const Test &test = tests.at(name);
	const bool with = options.way == "with";
	StreamSpec spec = {
		.op = Op::write,
		.size = size,
		.messages = int(std::clamp<uint64_t>(
			options.bytes / size / (depth == 1 ? 4 : 1), 16, 2000)),
		.window = depth,
		.chain = 1,
		.signal = 1,
		.seed = options.seed};
	nlohmann::json row = {{"op", name},
			      {"test",
			       (depth == 1 ? "one" : "many") + options.name},
			      {"size", size},
			      {"messages", spec.messages}};
	Nodes nodes(devices);

	nodes.warm_up();
	if (test.members > 1 && with)
		nodes.form_group(test.members, options.piece);
	try {
		Traffic traffic(*devices[0]);
		const uint64_t ns = measure(nodes, test, with, spec);

		row["total_ns"] = ns;
		row["began_ns"] = began_ns;
		/* with those of the first few operations */
		row["tx_packets"] = traffic.moved("tx_packets");
		row["drops"] = traffic.drops();
		row["retries"] = nodes.retries();
	} catch (const std::exception &problem) {
		row["error"] = problem.what();
	}
	std::cout << row.dump() << '\n' << std::flush;
}

void run(const Options &options)
{
	std::vector<std::unique_ptr<Device>> devices;

	for (const std::string &name : options.devices) {
		const size_t at = name.find('@');

		must(at != name.npos, "no namespace: " + name);
		devices.push_back(std::make_unique<Device>(
			name.substr(0, at), name.substr(at + 1)));
	}
	keep_pages();
	for (const std::string &test : options.tests)
		for (int depth : options.depths)
			for (uint32_t size : options.sizes) {
				limit_time(most_seconds);
				run_test(devices, options, test, size, depth);
			}
	limit_time(0);
}

Options parse(int argc, char **argv)
{
	common::CommandLine app("pavo-bench-nodes - measures operations of "
				"windows of several nodes");
	Options options;

	app.add_list("--tests", options.tests, "(third,cast2,cast3,flag)")
		->delimiter(',')
		->check(CLI::IsMember(tests));
	app.add_list("--sizes", options.sizes,
		     "bytes of an operation (4096,65536,1048576)")
		->delimiter(',')
		->check(CLI::Range(64u, 1u << 20));
	app.add_list("--depths", options.depths,
		     "operations that are under way (1,4)")
		->delimiter(',')
		->check(CLI::Range(1, 4));
	app.add_option("--name", options.name, "behind that of the test");
	app.add_option("--bytes", options.bytes,
		       "of a measurement, about (67108864)");
	app.add_option("--piece", options.piece,
		       "bytes of a piece of a write to a group (65536)")
		->check(CLI::Range(1u << 10, 1u << 20));
	app.add_option("--seed", options.seed, "of the data (1)");
	app.add_option("WAY", options.way, "with the operation, or without")
		->required()
		->check(CLI::IsMember({"with", "without"}));
	app.add_rest("DEVICE@NAMESPACE", options.devices, "of each node")
		->required()
		->expected(most_nodes);
	app.read(argc, argv);
	return options;
}

} // namespace

} // namespace bench

int main(int argc, char **argv)
try {
	bench::run(bench::parse(argc, argv));
	return 0;
} catch (const std::exception &problem) {
	std::cerr << "pavo-bench-nodes: " << problem.what() << '\n';
	return 1;
}
