// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * halves.cpp - RDMA of several nodes into one buffer, at the same time: each has its part
 * of it, byte by byte, and nothing of any other's. Run by three-nodes.sh.
 *
 * usage: pavo-halves ADAPTER SENDERS      the target
 *        pavo-halves ADAPTER ADDRESS      a sender; of others' parts it reads
 *
 * Rounds: the senders put; the target looks when all senders have said that they have put; then the
 * senders get the part of the next one of them.
 */
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <pavo/rdma.hpp>

#include "nodes.h"

namespace {

constexpr uint32_t job_id = 1999;
constexpr uint64_t job_key = 0x68616c766573;
constexpr uint16_t port = 7479;
/* Ends within a page and within a packet. */
constexpr uint32_t part = 300'007;
constexpr uint32_t rounds = 4;

/* The facts that a sender needs. */
struct Card {
	std::array<uint32_t, 2> contexts;
	pavo::Pvo buffer;
	uint32_t senders;
};

/* ------------------------------------------------------------------ target */

class Target {
public:
	Target(const std::string &device, uint32_t senders)
		: node_(device, job_id, job_key, 0), buffer_(senders * part),
		  mapping_(pavo::Mapping::open(node_.job, buffer_).value()),
		  rdma_(pavo::Rdma::open(node_.window).value()),
		  arrived_(senders)
	{
		nodes::Listener listener(port);

		rdma_.on_arrival([this](const pavo::RdmaArrival &arrival) {
			take(arrival);
		});
		for (uint32_t i = 0; i < senders; i++) {
			meetings_.push_back(listener.meet());
			node_.introduce(meetings_.back());
			Card card{{}, mapping_.pvo(), senders};
			common::must(rdma_.take_rcxts(card.contexts),
				     "contexts");
			meetings_.back().exchange(card);
		}
		/* From here on they send at the same time. */
		together();
	}

	void round(uint32_t number)
	{
		auto all = [&] {
			return std::ranges::all_of(arrived_, [&](uint32_t n) {
				return n == number;
			});
		};

		while (!all())
			(void)rdma_.progress();
		for (uint32_t i = 0; i < arrived_.size(); i++)
			nodes::must_hold(std::span(buffer_).subspan(i * part,
								    part),
					 i + 1, number);
		/* They look, then they are done. */
		together();
		together();
	}

private:
	/* No thread goes on before all have come. */
	void together()
	{
		for (char word : {'c', 'g'})
			for (nodes::Meeting &meeting : meetings_)
				meeting.exchange(word);
	}

	void take(const pavo::RdmaArrival &arrival)
	{
		uint32_t &last = arrived_.at(arrival.from.node - 1);

		if (arrival.tag != last + 1)
			throw std::runtime_error(
				"notified of what was not sent, or twice");
		if (arrival.length != part)
			throw std::runtime_error("notified of another length");
		last = arrival.tag;
	}

	nodes::Node node_;
	std::vector<std::byte> buffer_;
	pavo::Mapping mapping_;
	pavo::Rdma rdma_;
	/* The round of each that came last. */
	std::vector<uint32_t> arrived_;
	std::vector<nodes::Meeting> meetings_;
};

/* ------------------------------------------------------------------ sender */

class Sender {
public:
	Sender(const std::string &device, const std::string &host)
		: meeting_(host, port),
		  node_(device, job_id, job_key, meeting_.node()),
		  buffer_(part),
		  mapping_(pavo::Mapping::open(node_.job, buffer_).value()),
		  rdma_(pavo::Rdma::open(node_.window).value())
	{
		pavo::WindowAddress window = node_.introduce(meeting_);

		target_ = meeting_.exchange(Card{});
		peer_ = common::must(rdma_.add({window,
						{target_.contexts.begin(),
						 target_.contexts.end()}}),
				     "contexts");
		together();
	}

	void round(uint32_t number)
	{
		uint32_t self = meeting_.node(),
			 next = self % target_.senders + 1;

		nodes::fill(buffer_, self, number);
		move(true, self, number);
		together();
		move(false, next, 0);
		nodes::must_hold(buffer_, next, number);
		together();
	}

	uint64_t repeated() const { return rdma_.retries(); }

private:
	void together()
	{
		meeting_.exchange('c');
		meeting_.exchange('g');
	}

	/* To or from the part of a node. */
	void move(bool put, uint32_t node, uint32_t tag)
	{
		pavo::RdmaMove move{.local = mapping_.pvo(),
				    .remote =
					    target_.buffer + (node - 1) * part,
				    .length = part,
				    .notify = put,
				    .tag = tag};
		pavo::Result<void> result;
		auto done = [&](const pavo::Result<void> &how) {
			result = how;
		};

		common::must(put ? rdma_.put(peer_, move, done) :
				   rdma_.get(peer_, move, done),
			     "no operation");
		while (rdma_.pending())
			(void)rdma_.progress();
		common::must(result, put ? "put" : "get");
	}

	nodes::Meeting meeting_;
	nodes::Node node_;
	std::vector<std::byte> buffer_;
	pavo::Mapping mapping_;
	pavo::Rdma rdma_;
	Card target_;
	pavo::Rdma::Peer peer_;
};

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: pavo-halves ADAPTER SENDERS|ADDRESS\n");
		return 2;
	}
	try {
		std::string word = argv[2];

		if (word.find_first_of(".:") == word.npos) {
			Target target(argv[1], uint32_t(std::stoul(word)));

			for (uint32_t n = 1; n <= rounds; n++)
				target.round(n);
		} else {
			Sender sender(argv[1], word);

			for (uint32_t n = 1; n <= rounds; n++)
				sender.round(n);
			printf("%llu attempts were repeated\n",
			       static_cast<unsigned long long>(
				       sender.repeated()));
		}
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "pavo-halves: %s\n", error.what());
		return 1;
	}
}
