// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * reduction.cpp - sum, least and greatest of the vectors of several machines.
 *
 *   first machine:   reduction pavo0 [--senders N]           (1)
 *   others:          reduction pavo0 ADDRESS-OF-THE-FIRST
 *
 * Each sender puts its vectors by RDMA; at the first machine they come as frames, in any
 * order, and each element is folded into the result once (reduction.hpp). The senders
 * get the results when all are there. Every program checks them.
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <pavo/connect.hpp>

#include "reduction.hpp"

namespace {

using examples::Fold;
using examples::Reduction;

constexpr uint32_t job_id = 1004;
constexpr uint64_t key = 0x726564756374696f;
constexpr uint32_t elements = 10'007;
constexpr uint32_t bytes = elements * 8;

/* The vector that a tag means: three ways to fold, of two types. */
constexpr std::array folds = {Fold::SUM, Fold::MIN, Fold::MAX};
constexpr uint32_t vectors = 2 * folds.size();

/* Element @i of node @node's vector; sums of them are exact in both types. */
template <class T> T element(uint16_t node, uint32_t i)
{
	int64_t value = (i * 7919ll + node * 104'729ll) % 1'000'003 - 500'000;

	return T(value) / T(4);
}

template <class T> std::vector<T> vector_of(uint16_t node)
{
	std::vector<T> all(elements);

	for (uint32_t i = 0; i < elements; i++)
		all[i] = element<T>(node, i);
	return all;
}

/* The result, the simple way. */
template <class T> std::vector<T> expected(Fold fold, uint16_t nodes)
{
	std::vector<T> all = vector_of<T>(0);

	for (uint16_t node = 1; node < nodes; node++)
		for (uint32_t i = 0; i < elements; i++) {
			T value = element<T>(node, i);

			if (fold == Fold::SUM)
				all[i] += value;
			else if ((value < all[i]) == (fold == Fold::MIN))
				all[i] = value;
		}
	return all;
}

/* @result: as many elements as a vector has */
template <class T> bool right(Fold fold, uint16_t nodes, const T *result)
{
	std::vector<T> wanted = expected<T>(fold, nodes);

	for (uint32_t i = 0; i < elements; i++)
		if (result[i] != wanted[i]) {
			fprintf(stderr, "element %u is %g, not %g\n", i,
				double(result[i]), double(wanted[i]));
			return false;
		}
	return true;
}

bool all_right(uint16_t nodes, const std::byte *results)
{
	for (uint32_t n = 0; n < vectors; n++) {
		const std::byte *at = results + n * bytes;
		Fold fold = folds[n % folds.size()];
		bool fine =
			n < folds.size() ?
				right(fold, nodes,
				      reinterpret_cast<const int64_t *>(at)) :
				right(fold, nodes,
				      reinterpret_cast<const double *>(at));

		if (!fine)
			return false;
	}
	return true;
}

/* The objects of each program. RDMA goes between rank 0 and each other. */
struct End {
	/* Two contexts with each. */
	End(pavo::Group &group, const std::string &name)
		: device(pavo::Device::open(name).value()),
		  job(pavo::Job::open(device, job_id, key).value()),
		  window(pavo::open_window(group, job).value()),
		  memory(size_t(vectors) * bytes),
		  mapping(pavo::Mapping::open(job, memory).value()),
		  rdma(pavo::Rdma::open(window).value())
	{
	}

	pavo::Rdma::Peer connect(pavo::Group &group)
	{
		return pavo::connect(group, rdma, {.contexts = 2, .hub = 0})
			.value()[0];
	}

	pavo::Device device;
	pavo::Job job;
	pavo::Window window;
	std::vector<std::byte> memory;
	pavo::Mapping mapping;
	pavo::Rdma rdma;
};

/* ---------------------------------------------------------- first machine */

struct Results {
	void take(const pavo::RdmaPiece &piece)
	{
		if (piece.tag < integers.size())
			integers[piece.tag].take(piece);
		else
			doubles.at(piece.tag - integers.size()).take(piece);
	}

	void copy(std::byte *to) const
	{
		for (auto &one : integers)
			to = std::ranges::copy(
				     std::as_bytes(std::span(one.result())), to)
				     .out;
		for (auto &one : doubles)
			to = std::ranges::copy(
				     std::as_bytes(std::span(one.result())), to)
				     .out;
	}

	std::vector<Reduction<int64_t>> integers;
	std::vector<Reduction<double>> doubles;
};

bool collect(pavo::Group &group, const std::string &device)
{
	End end(group, device);
	const unsigned senders = group.size() - 1u;
	Results results;
	unsigned arrived = 0;

	for (Fold fold : folds) {
		results.integers.emplace_back(fold, vector_of<int64_t>(0));
		results.doubles.emplace_back(fold, vector_of<double>(0));
	}
	end.rdma.on_piece(
		[&](const pavo::RdmaPiece &piece) { results.take(piece); });
	end.rdma.on_arrival([&](const pavo::RdmaArrival &) { arrived++; });
	end.connect(group);
	group.exchange(end.mapping.pvo()).value();
	while (arrived < vectors * senders)
		(void)end.rdma.progress();
	results.copy(end.memory.data());
	auto progress = [&] {
		(void)end.rdma.progress();
	};
	group.barrier(progress).value(); /* ready to be read */
	group.barrier(progress).value(); /* the end */
	printf("%u vectors of %u nodes came\n", vectors * senders, senders);
	return all_right(group.size(), end.memory.data());
}

/* ----------------------------------------------------------------- others */

bool contribute(pavo::Group &group, const std::string &device)
{
	End end(group, device);
	pavo::Rdma::Peer first = end.connect(group);
	pavo::Pvo results = group.exchange(end.mapping.pvo()).value()[0];
	std::vector<pavo::Completion> moved(vectors + 1);
	auto integers = vector_of<int64_t>(group.rank());
	auto doubles = vector_of<double>(group.rank());

	for (uint32_t n = 0; n < vectors; n++) {
		memcpy(&end.memory[n * bytes],
		       n < folds.size() ? static_cast<void *>(integers.data()) :
					  doubles.data(),
		       bytes);
		end.rdma.put(first,
			     {.local = end.mapping.pvo() + n * bytes,
			      .remote = {0},
			      .length = bytes,
			      .notify = true,
			      .tag = n,
			      .target = pavo::RdmaEnd::fifo},
			     moved[n])
			.value();
	}
	for (uint32_t n = 0; n < vectors; n++)
		end.rdma.wait(moved[n]).value();
	auto progress = [&] {
		(void)end.rdma.progress();
	};
	group.barrier(progress).value();
	end.rdma.get(first,
		     {.local = end.mapping.pvo(),
		      .remote = results,
		      .length = vectors * bytes},
		     moved.back())
		.value();
	end.rdma.wait(moved.back()).value();
	group.barrier(progress).value();
	printf("put %u vectors, got the results of %u nodes; %llu attempts were "
	       "repeated\n",
	       vectors, group.size(),
	       static_cast<unsigned long long>(end.rdma.retries()));
	return all_right(group.size(), end.memory.data());
}

} // namespace

int main(int argc, char **argv)
{
	bool first = argc == 2 || (argc == 4 && !strcmp(argv[2], "--senders"));
	int senders = argc == 4 ? atoi(argv[3]) : 1;

	if ((!first && argc != 3) || senders < 1 || senders > 60) {
		fprintf(stderr,
			"usage: reduction ADAPTER [--senders N | ADDRESS]\n");
		return 2;
	}
	try {
		auto group = pavo::Group::join(
				     {.host = first ? "" : argv[2],
				      .port = 7474,
				      .size = uint16_t(first ? senders + 1 : 0),
				      .key = key})
				     .value();
		bool fine = first ? collect(group, argv[1]) :
				    contribute(group, argv[1]);

		return fine ? 0 : 1;
	} catch (const std::exception &error) {
		fprintf(stderr, "reduction: %s\n", error.what());
		return 1;
	}
}
