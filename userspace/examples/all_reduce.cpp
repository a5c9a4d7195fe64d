// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * all_reduce.cpp - each of several machines has a vector, and gets the sum of all, again and again.
 * No CPU waits between the steps.
 *
 *   first machine:   all_reduce pavo0 [--others N]           (1)
 *   others:          all_reduce pavo0 ADDRESS-OF-THE-FIRST
 *
 * The vectors go round a ring: in step s each machine puts the vector that came in step s - 1 to
 * its neighbour. A barrier follows, in which a machine tells others, at distances 1, 2, 4, ...,
 * that it has its sum. All puts of a round are begun at once. The adapter holds each until the
 * arrival that it depends on was counted (RdmaMove::after), however late this process runs.
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <pavo/connect.hpp>

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t job_id = 1012;
constexpr uint64_t key = 0x616c6c7265647563;
constexpr uint16_t port = 7482;
constexpr uint16_t most_nodes = 16;
constexpr uint32_t elements = 4096, bytes = elements * 8, rounds = 200;

int64_t element(uint32_t round, uint32_t node, uint32_t i)
{
	return int64_t(i) * 7919 + node * 104'729 + round * 31;
}

/* Each process gives this to the others: its memory, and a context for each step to it. */
struct Card {
	pavo::WindowAddress address;
	pavo::Pvo memory;
	std::array<uint32_t, most_nodes> ring;
	std::array<uint32_t, most_nodes> barrier;
};

/* A step: a put to a peer, and the counter of arrivals of the same step here. */
struct Step {
	pavo::Rdma::Peer to = 0;
	uint32_t counter = 0;
	pavo::Completion over = {};
};

class AllReduce {
public:
	AllReduce(pavo::Group &group, const std::string &name)
		: rank_(group.rank()), nodes_(group.size()),
		  device_(pavo::Device::open(name).value()),
		  job_(pavo::Job::open(device_, job_id, key).value()),
		  window_(pavo::open_window(group, job_).value()),
		  /* Vectors of all nodes, and a word for the barrier. */
		  memory_(size_t(nodes_) * bytes + 8),
		  mapping_(pavo::Mapping::open(job_, memory_).value()),
		  rdma_(pavo::Rdma::open(window_).value()), ring_(nodes_ - 1)
	{
		while (1u << barrier_.size() < nodes_)
			barrier_.emplace_back();
		pavo::connect(group, window_).value();
		connect(group);
		rdma_.on_arrival(
			[this](const pavo::RdmaArrival &) { arrived_++; });
	}

	/* Returns false if the sum is wrong. */
	bool round(uint32_t number)
	{
		for (uint32_t i = 0; i < elements; i++)
			vector_of(rank_)[i] = element(number, rank_, i);
		begin_ring(number);
		while (arrived_ < number * ring_.size() || !ring_is_over())
			(void)rdma_.progress();
		for (const Step &step : ring_)
			step.over.result().value();
		bool right = is_sum_right(number);
		begin_barrier(number);
		return right;
	}

	void finish(pavo::Group &group)
	{
		group.barrier([this] { (void)rdma_.progress(); }).value();
		while (rdma_.pending())
			(void)rdma_.progress();
		group.barrier([this] { (void)rdma_.progress(); }).value();
	}

	uint64_t retries() const { return rdma_.retries(); }

private:
	uint32_t neighbour(uint32_t distance) const
	{
		return (rank_ + distance) % nodes_;
	}

	int64_t *vector_of(uint32_t node)
	{
		return reinterpret_cast<int64_t *>(memory_.data()) +
		       size_t(node) * elements;
	}

	/* A context for a step of the node that puts to this one, and a counter of its arrivals. */
	uint32_t open_step(Step &step)
	{
		uint32_t rcxt;

		rdma_.take_rcxts({&rcxt, 1}).value();
		step.counter = rdma_.take_counter().value();
		rdma_.count_arrivals(step.counter, {&rcxt, 1}).value();
		return rcxt;
	}

	void connect(pavo::Group &group)
	{
		Card own{.address = window_.address(),
			 .memory = mapping_.pvo(),
			 .ring = {},
			 .barrier = {}};

		for (size_t s = 0; s < ring_.size(); s++)
			own.ring[s] = open_step(ring_[s]);
		for (size_t k = 0; k < barrier_.size(); k++)
			own.barrier[k] = open_step(barrier_[k]);
		cards_ = group.exchange(own).value();
		for (size_t s = 0; s < ring_.size(); s++)
			ring_[s].to =
				add(neighbour(1), cards_[neighbour(1)].ring[s]);
		for (size_t k = 0; k < barrier_.size(); k++)
			barrier_[k].to =
				add(neighbour(1u << k),
				    cards_[neighbour(1u << k)].barrier[k]);
	}

	pavo::Rdma::Peer add(uint32_t node, uint32_t rcxt)
	{
		return rdma_.add({cards_[node].address, {rcxt}}).value();
	}

	/* In step s the vector is put that came in the step before; first this node's. */
	void begin_ring(uint32_t number)
	{
		for (uint32_t s = 0; s < ring_.size(); s++) {
			size_t at = size_t(neighbour(nodes_ - s)) * bytes;
			pavo::RdmaMove move{
				.local = mapping_.pvo() + at,
				.remote = cards_[neighbour(1)].memory + at,
				.length = bytes,
				.notify = true};

			if (s)
				move.after = {ring_[s - 1].counter, number};
			else if (number > 1)
				move.after = {barrier_.back().counter,
					      2ull * (number - 1)};
			rdma_.put(ring_[s].to, move, ring_[s].over).value();
		}
	}

	/*
	 * A step is over when its own put is, and the other's to this node has arrived: both count. So
	 * after the last one all nodes have come here.
	 */
	void begin_barrier(uint32_t number)
	{
		const pavo::Pvo word = mapping_.pvo() + size_t(nodes_) * bytes;

		for (uint32_t k = 0; k < barrier_.size(); k++) {
			const uint32_t to = neighbour(1u << k);
			pavo::RdmaMove move{.local = word,
					    .remote = cards_[to].memory +
						      size_t(nodes_) * bytes,
					    .length = 8,
					    .counter = barrier_[k].counter};

			if (k)
				move.after = {barrier_[k - 1].counter,
					      2ull * number};
			rdma_.put(barrier_[k].to, move, barrier_[k].over)
				.value();
		}
	}

	bool ring_is_over() const
	{
		return std::ranges::all_of(ring_, [](const Step &step) {
			return step.over.over();
		});
	}

	bool is_sum_right(uint32_t number)
	{
		for (uint32_t i = 0; i < elements; i++) {
			int64_t sum = 0, wanted = 0;

			for (uint32_t node = 0; node < nodes_; node++) {
				sum += vector_of(node)[i];
				wanted += element(number, node, i);
			}
			if (sum == wanted)
				continue;
			fprintf(stderr, "round %u: element %u is wrong\n",
				number, i);
			return false;
		}
		return true;
	}

	uint32_t rank_;
	uint32_t nodes_;
	pavo::Device device_;
	pavo::Job job_;
	pavo::Window window_;
	std::vector<std::byte> memory_;
	pavo::Mapping mapping_;
	pavo::Rdma rdma_;
	std::vector<Step> ring_;
	std::vector<Step> barrier_;
	std::vector<Card> cards_;
	uint64_t arrived_ = 0;
};

bool run(pavo::Group &group, const std::string &device)
{
	AllReduce all(group, device);
	auto begun = Clock::now();
	bool right = true;

	group.barrier().value();
	for (uint32_t n = 1; n <= rounds; n++)
		right &= all.round(n);
	std::chrono::duration<double, std::micro> took = Clock::now() - begun;
	all.finish(group);
	printf("%u sums of %u vectors, %.0f us each; %llu attempts were "
	       "repeated\n",
	       rounds, group.size(), took.count() / rounds,
	       static_cast<unsigned long long>(all.retries()));
	return right;
}

} // namespace

int main(int argc, char **argv)
{
	bool first = argc == 2 || (argc == 4 && !strcmp(argv[2], "--others"));
	int others = argc == 4 ? atoi(argv[3]) : 1;

	if ((!first && argc != 3) || others < 1 || others >= most_nodes) {
		fprintf(stderr,
			"usage: all_reduce ADAPTER [--others N | ADDRESS]\n");
		return 2;
	}
	try {
		auto group = pavo::Group::join(
				     {.host = first ? "" : argv[2],
				      .port = port,
				      .size = uint16_t(first ? others + 1 : 0),
				      .key = key})
				     .value();

		return run(group, argv[1]) ? 0 : 1;
	} catch (const std::exception &error) {
		fprintf(stderr, "all_reduce: %s\n", error.what());
		return 1;
	}
}
