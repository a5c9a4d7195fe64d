// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * reduction_tests.cpp - many to one: vectors of several senders at the same time, each
 * folded into the result by half RDMA as it comes, as the example reduction does. Each has a
 * window of its own. Also run with a network that loses, repeats and reorders.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "../../userspace/examples/reduction.hpp"
#include "both.h"

using namespace windows;
using examples::Fold;
using examples::Reduction;

namespace {

constexpr uint32_t senders = 7;
/* Some pieces, of which the last is not whole. */
constexpr uint32_t elements = 10'007;
constexpr uint32_t bytes = elements * sizeof(int64_t);
/* Of each sender; by their tags. */
constexpr std::array folds = {Fold::SUM, Fold::MIN, Fold::MAX};
constexpr size_t all_bytes = folds.size() * bytes;

/* Sender @n's; number 0 is of who folds. None is 0, so none is missed or comes twice. */
std::vector<int64_t> vector_of(uint32_t n)
{
	std::vector<int64_t> all(elements);

	for (uint32_t i = 0; i < elements; i++)
		all[i] = ((i * 7919ll + n * 104'729ll) % 1'000'003 - 500'000) *
				 2 +
			 1;
	return all;
}

/* The result of all, the simple way. */
std::vector<int64_t> expected(Fold fold)
{
	std::vector<int64_t> all = vector_of(0);

	for (uint32_t n = 1; n <= senders; n++) {
		auto other = vector_of(n);

		for (uint32_t i = 0; i < elements; i++)
			if (fold == Fold::SUM)
				all[i] += other[i];
			else if ((other[i] < all[i]) == (fold == Fold::MIN))
				all[i] = other[i];
	}
	return all;
}

/* The end that folds: a of a pair. */
struct Collector : Pair {
	Collector()
		: Pair(false, 1024, 256), memory(all_bytes),
		  mapping(pavo::Mapping::open(job_a, memory.all()).value()),
		  rdma(pavo::Rdma::open(a).value())
	{
		for (Fold fold : folds)
			results.emplace_back(fold, vector_of(0));
		rdma.on_piece([this](const pavo::RdmaPiece &piece) {
			results.at(piece.tag).take(piece);
		});
		rdma.on_arrival([this](const pavo::RdmaArrival &arrival) {
			EXPECT_EQ(arrival.length, bytes);
			arrived[arrival.tag][arrival.from.window]++;
		});
	}

	/* A sender may know of an end before the collector has looked. */
	bool takes(size_t wanted)
	{
		return eventually([&] {
			size_t taken = 0;

			(void)rdma.progress();
			for (auto &[tag, windows] : arrived)
				taken += windows.size();
			return taken >= wanted;
		});
	}

	world::Memory memory;
	pavo::Mapping mapping;
	pavo::Rdma rdma;
	std::vector<Reduction<int64_t>> results;
	/* By tag and window of who sent. */
	std::map<uint32_t, std::map<uint32_t, int>> arrived;
};

struct Sender {
	Sender(Collector &collector, uint32_t n)
		: window(another(collector, {.send_frames = 256})),
		  memory(all_bytes),
		  mapping(pavo::Mapping::open(collector.job_b, memory.all())
				  .value()),
		  rdma(pavo::Rdma::open(*window).value()),
		  to(introduce(rdma, collector.rdma, node_a,
			       collector.a.number(), 2))
	{
		auto vector = vector_of(n);

		for (size_t i = 0; i < folds.size(); i++)
			memcpy(memory.at() + i * bytes, vector.data(), bytes);
	}

	void put_all()
	{
		for (uint32_t i = 0; i < folds.size(); i++)
			must(rdma.put(to,
				      {.local = mapping.pvo() + i * bytes,
				       .remote = {0},
				       .length = bytes,
				       .notify = true,
				       .tag = i,
				       .target = pavo::RdmaEnd::fifo},
				      [this](const pavo::Result<void> &how) {
					      EXPECT_TRUE(how.has_value())
						      << how.error().message();
					      ended++;
				      }));
	}

	void get_results(const Collector &from)
	{
		must(rdma.get(to,
			      {.local = mapping.pvo(),
			       .remote = from.mapping.pvo(),
			       .length = all_bytes},
			      [this](const pavo::Result<void> &how) {
				      EXPECT_TRUE(how.has_value())
					      << how.error().message();
				      ended++;
			      }));
	}

	std::unique_ptr<pavo::Window> window;
	world::Memory memory;
	pavo::Mapping mapping;
	pavo::Rdma rdma;
	pavo::Rdma::Peer to;
	size_t ended = 0;
};

using Senders = std::vector<std::unique_ptr<Sender>>;

/* Until nothing of any sender is pending. */
bool run(Collector &collector, const Senders &all)
{
	return eventually([&] {
		size_t pending = 0;

		(void)collector.rdma.progress();
		for (auto &sender : all) {
			(void)sender->rdma.progress();
			pending += sender->rdma.pending();
		}
		return !pending;
	});
}

TEST(Network, VectorsOfManyAreFoldedOnce)
{
	Collector collector;
	Senders all;

	for (uint32_t n = 1; n <= senders; n++)
		all.push_back(std::make_unique<Sender>(collector, n));
	for (auto &sender : all)
		sender->put_all();
	ASSERT_TRUE(run(collector, all));
	ASSERT_TRUE(collector.takes(folds.size() * senders));
	for (uint32_t i = 0; i < folds.size(); i++) {
		auto result =
			std::as_bytes(std::span(collector.results[i].result()));

		EXPECT_EQ(collector.results[i].result(), expected(folds[i]))
			<< i;
		std::ranges::copy(result, collector.memory.at() + i * bytes);
		for (auto &sender : all)
			EXPECT_EQ(
				collector.arrived[i][sender->window->number()],
				1);
	}
	for (auto &sender : all)
		sender->get_results(collector);
	ASSERT_TRUE(run(collector, all));
	for (auto &sender : all) {
		EXPECT_EQ(sender->ended, folds.size() + 1);
		EXPECT_TRUE(std::ranges::equal(sender->memory.all(),
					       collector.memory.all()));
	}
}

} // namespace
