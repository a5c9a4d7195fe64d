// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_flags.cpp - conditional operations between machines. Each client puts some writes and a flag
 * that waits for them (RdmaMove::after). The one that serves looks for flags all the time: when it
 * sees one, all writes are there. Then it tells the client, by a put, too. Adapters of both ends
 * recover in the middle.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include <pavo/rdma.hpp>

#include "nodes.h"

namespace nodes {

namespace {

/* Of several packets each. */
constexpr size_t flag_writes = 4, write_most = 9000;
/* In a client's part: its flag, and the last one that the server has seen. */
constexpr size_t flag_at = flag_writes * write_most, seen_at = flag_at + 8;
constexpr size_t flag_part = seen_at + 8;
constexpr uint32_t flag_rounds = 120, client_recovers = 40,
		   server_recovers = 80;

struct FlagCard {
	std::array<uint32_t, flag_writes + 1> contexts = {};
	pavo::Pvo part = {};
};

size_t writes_of(uint32_t round)
{
	return 1 + round % flag_writes;
}

uint32_t length_in(uint32_t round)
{
	return uint32_t(write_most - round * 37 % 5000);
}

uint32_t pattern_in(uint32_t round, size_t write)
{
	return uint32_t(round * flag_writes + write);
}

/* A word that adapters write, too. */
std::atomic_ref<uint32_t> word_in(std::span<std::byte> part, size_t at)
{
	return std::atomic_ref(*reinterpret_cast<uint32_t *>(&part[at]));
}

/* Memory that other machines write to, and contexts for one of them. */
struct FlagEnd {
	FlagEnd(Node &node, size_t parts)
		: memory(parts * flag_part),
		  mapping(pavo::Mapping::open(node.job, memory).value()),
		  rdma(pavo::Rdma::open(node.window).value())
	{
	}

	FlagCard card(size_t i)
	{
		FlagCard mine{.part = mapping.pvo() + i * flag_part};

		must(rdma.take_rcxts(mine.contexts), "contexts");
		return mine;
	}

	pavo::Rdma::Peer add(pavo::WindowAddress window, const FlagCard &card)
	{
		return must(rdma.add({window,
				      {card.contexts.begin(),
				       card.contexts.end()}}),
			    "a peer");
	}

	std::span<std::byte> part(size_t i)
	{
		return std::span(memory).subspan(i * flag_part, flag_part);
	}

	std::vector<std::byte> memory;
	pavo::Mapping mapping;
	pavo::Rdma rdma;
};

void over(const pavo::Result<void> &how)
{
	must(how, "an operation");
}

/* ------------------------------------------------------------------- server */

class FlagServer {
public:
	explicit FlagServer(const Arguments &arguments)
		: server_(arguments),
		  end_(server_.node, server_.meetings.size()),
		  seen_(server_.meetings.size())
	{
		for (size_t i = 0; i < seen_.size(); i++) {
			const uint16_t node = server_.meetings[i].other();

			cards_.push_back(
				server_.meetings[i].exchange(end_.card(i)));
			peers_.push_back(end_.add({node, server_.windows[i]},
						  cards_.back()));
		}
	}

	void watch()
	{
		server_.together();
		until("all flags", [&] {
			for (size_t i = 0; i < seen_.size(); i++)
				look(i);
			(void)end_.rdma.progress();
			return !end_.rdma.pending() && all_seen();
		});
		server_.together();
	}

private:
	bool all_seen() const
	{
		return std::ranges::all_of(seen_, [](uint32_t seen) {
			return seen == flag_rounds;
		});
	}

	void look(size_t i)
	{
		const uint32_t round = word_in(end_.part(i), flag_at)
					       .load(std::memory_order_acquire);

		if (round == seen_[i])
			return;
		must(round == seen_[i] + 1, "a flag of another round");
		for (size_t n = 0; n < writes_of(round); n++)
			must_hold(end_.part(i).subspan(n * write_most,
						       length_in(round)),
				  uint32_t(i + 1), pattern_in(round, n));
		seen_[i] = round;
		word_in(end_.part(i), seen_at) = round;
		must(end_.rdma.put(peers_[i],
				   {.local = end_.mapping.pvo() +
					     i * flag_part + seen_at,
				    .remote = cards_[i].part + seen_at,
				    .length = sizeof(round)},
				   over),
		     "put");
		if (!i && round == server_recovers)
			recover(server_.node.device.name());
	}

	Server server_;
	FlagEnd end_;
	std::vector<FlagCard> cards_;
	std::vector<pavo::Rdma::Peer> peers_;
	std::vector<uint32_t> seen_;
};

/* ------------------------------------------------------------------- client */

class FlagClient {
public:
	explicit FlagClient(const Arguments &arguments)
		: client_(arguments), end_(client_.node, 1),
		  counter_(must(end_.rdma.take_counter(), "a counter"))
	{
		server_ = client_.meeting.exchange(end_.card(0));
		peer_ = end_.add({0, client_.window}, server_);
		together(client_.meeting);
	}

	void round(uint32_t number)
	{
		const uint32_t length = length_in(number);

		for (size_t n = 0; n < writes_of(number); n++) {
			fill(end_.part(0).subspan(n * write_most, length),
			     client_.self(), pattern_in(number, n));
			put(n * write_most, length, counter_, {});
		}
		word_in(end_.part(0), flag_at) = number;
		put(flag_at, sizeof(number), {}, pavo::RdmaCondition{counter_});
		if (number == client_recovers)
			recover(client_.node.device.name());
		until("the server to see a flag", [&] {
			(void)end_.rdma.progress();
			return !end_.rdma.pending() &&
			       word_in(end_.part(0), seen_at) == number;
		});
	}

	/* The server has to hear that its puts are over. */
	void finish()
	{
		until("the server", [&] {
			(void)end_.rdma.progress();
			return client_.meeting.anything();
		});
		together(client_.meeting);
	}

private:
	void put(size_t at, uint32_t length, std::optional<uint32_t> counter,
		 std::optional<pavo::RdmaCondition> after)
	{
		must(end_.rdma.put(peer_,
				   {.local = end_.mapping.pvo() + at,
				    .remote = server_.part + at,
				    .length = length,
				    .counter = counter,
				    .after = after},
				   over),
		     "put");
	}

	Client client_;
	FlagEnd end_;
	uint32_t counter_;
	FlagCard server_;
	pavo::Rdma::Peer peer_ = 0;
};

} // namespace

void watch_flags(const Arguments &arguments)
{
	FlagServer(arguments).watch();
}

void put_flags(const Arguments &arguments)
{
	FlagClient client(arguments);

	for (uint32_t number = 1; number <= flag_rounds; number++)
		client.round(number);
	client.finish();
}

} // namespace nodes
