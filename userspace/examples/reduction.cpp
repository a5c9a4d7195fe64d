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
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <list>
#include <string>
#include <vector>

#include "meeting.hpp"
#include "reduction.hpp"

namespace {

using examples::Fold;
using examples::Reduction;

constexpr uint32_t job_id = 1004;
constexpr uint64_t job_key = 0x726564756374696f;
constexpr uint16_t port = 7474;
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

/* Numbers that each end tells the other. */
struct Card {
	std::array<uint32_t, 2> contexts;
	pavo::Pvo results;
	uint16_t nodes;
};

pavo::Rdma::Peer meet(examples::Meeting &meeting, pavo::Rdma &rdma,
		      pavo::WindowAddress window, Card &mine, Card &theirs)
{
	examples::must(rdma.lend(mine.contexts), "contexts");
	theirs = meeting.exchange(mine);
	return examples::must(
		rdma.add({window,
			  {theirs.contexts.begin(), theirs.contexts.end()}}),
		"contexts");
}

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

bool collect(const std::string &device, uint16_t senders)
{
	examples::Node node(device, job_id, job_key, 0);
	std::vector<std::byte> memory(size_t(vectors) * bytes);
	pavo::Mapping mapping = pavo::Mapping::open(node.job, memory).value();
	pavo::Rdma rdma = pavo::Rdma::open(node.window).value();
	examples::Door door(port);
	std::list<examples::Meeting> meetings;
	Results results;
	unsigned arrived = 0;

	for (Fold fold : folds) {
		results.integers.emplace_back(fold, vector_of<int64_t>(0));
		results.doubles.emplace_back(fold, vector_of<double>(0));
	}
	rdma.on_piece(
		[&](const pavo::RdmaPiece &piece) { results.take(piece); });
	rdma.on_arrival([&](const pavo::RdmaArrival &) { arrived++; });
	for (unsigned i = 0; i < senders; i++) {
		Card mine{{}, mapping.pvo(), uint16_t(senders + 1)}, theirs;
		auto &meeting = meetings.emplace_back(door.meet());
		pavo::WindowAddress window = node.introduce(meeting);

		meet(meeting, rdma, window, mine, theirs);
	}
	while (arrived < vectors * senders)
		(void)rdma.progress();
	results.copy(memory.data());
	for (auto &meeting : meetings)
		meeting.exchange('r'); /* ready to be read */
	for (auto &meeting : meetings)
		meeting.exchange('e'); /* the end */
	printf("%u vectors of %u nodes came\n", vectors * senders, senders);
	return all_right(uint16_t(senders + 1), memory.data());
}

/* ----------------------------------------------------------------- others */

void finish(pavo::Rdma &rdma, const std::vector<pavo::Completion> &moved)
{
	while (rdma.pending())
		(void)rdma.progress();
	for (const pavo::Completion &one : moved)
		examples::must(one.result(), "RDMA");
}

bool contribute(const std::string &device, const std::string &host)
{
	examples::Meeting meeting(host, port);
	examples::Node node(device, job_id, job_key, meeting.node());
	pavo::WindowAddress window = node.introduce(meeting);
	std::vector<std::byte> memory(size_t(vectors) * bytes);
	pavo::Mapping mapping = pavo::Mapping::open(node.job, memory).value();
	pavo::Rdma rdma = pavo::Rdma::open(node.window).value();
	Card mine{{}, mapping.pvo(), 0}, theirs;
	pavo::Rdma::Peer first = meet(meeting, rdma, window, mine, theirs);
	std::vector<pavo::Completion> moved(vectors + 1);
	auto integers = vector_of<int64_t>(meeting.node());
	auto doubles = vector_of<double>(meeting.node());

	for (uint32_t n = 0; n < vectors; n++) {
		memcpy(&memory[n * bytes],
		       n < folds.size() ? static_cast<void *>(integers.data()) :
					  doubles.data(),
		       bytes);
		examples::must(rdma.put(first,
					{.local = mapping.pvo() + n * bytes,
					 .remote = {0},
					 .length = bytes,
					 .tell = true,
					 .tag = n,
					 .target = pavo::RdmaEnd::fifo},
					moved[n]),
			       "no put");
	}
	finish(rdma, moved);
	meeting.exchange('r');
	examples::must(rdma.get(first,
				{.local = mapping.pvo(),
				 .remote = theirs.results,
				 .length = vectors * bytes},
				moved.back()),
		       "no get");
	finish(rdma, moved);
	meeting.exchange('e');
	printf("put %u vectors, got the results of %u nodes; %llu attempts were "
	       "repeated\n",
	       vectors, theirs.nodes,
	       static_cast<unsigned long long>(rdma.repeated()));
	return all_right(theirs.nodes, memory.data());
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
		bool fine = first ? collect(argv[1], uint16_t(senders)) :
				    contribute(argv[1], argv[2]);

		return fine ? 0 : 1;
	} catch (const std::exception &error) {
		fprintf(stderr, "reduction: %s\n", error.what());
		return 1;
	}
}
