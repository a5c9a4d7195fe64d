// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_rdma.cpp - exactly-once RDMA between machines, in all forms: memory or the FIFO at
 * either end. An end that is notified that bytes are there uses their memory for something else at
 * once, and looks in the end whether anything was written to it after that. Adapters may
 * recover in the middle, at both ends.
 */
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include <pavo/rdma.hpp>

#include "../common/direction.h"
#include "nodes.h"

using pavo::Pvo;
using pavo::Rdma;
using pavo::RdmaArrival;
using pavo::RdmaFill;
using pavo::RdmaMove;
using pavo::RdmaPiece;
using pavo::RdmaReadRequest;

namespace nodes {

namespace {

/* Number of a byte where there is no memory. */
constexpr uint64_t numbers = 0x12345'6789'0000;
/* The pattern of memory that no end writes to. */
constexpr uint32_t rdma_untouched = 200;
constexpr size_t gap = 5;
/* How often an adapter recovers, if it does. */
constexpr unsigned recoveries = 3;

/* Several pieces each, and no long waits for what was lost. */
constexpr pavo::RdmaOptions rdma_options = {
	.timeout = std::chrono::milliseconds(10),
	.max_timeout = std::chrono::milliseconds(200),
	.piece = 20'000,
	.half_piece = 8'000};

/* An operation of a client; its place in the list is its tag and its pattern. */
struct Operation {
	bool write, from_fifo, to_fifo;
	uint32_t length;
	/* Of what is memory, from the client's part on. */
	size_t place;
	/* The server hears of it. */
	bool notify;
};

const std::vector<Operation> &operations()
{
	static const std::vector<Operation> all = [] {
		std::vector<Operation> list;
		size_t place = gap;

		for (bool write : {true, false})
			for (int fifo : {0, 1, 2, 3})
				for (uint32_t length :
				     {0, 1, 64, 1985, 20'001, 70'001}) {
					list.push_back({write, bool(fifo & 1),
							bool(fifo & 2), length,
							place,
							write || fifo & 1});
					place += length + gap;
				}
		return list;
	}();

	return all;
}

/* Memory of a client's operations, at one end: all of them and what is between. */
size_t part_size()
{
	const Operation &last = operations().back();

	return last.place + last.length + gap;
}

std::span<std::byte> bytes_of(std::span<std::byte> part,
			      const Operation &operation)
{
	return part.subspan(operation.place, operation.length);
}

/* Nothing is written before and behind what is to be. */
void must_hold_gaps(std::span<const std::byte> part)
{
	must_hold(part.first(gap), rdma_untouched, 0);
	for (const Operation &operation : operations()) {
		size_t end = operation.place + operation.length;

		must_hold(part.subspan(end, gap), rdma_untouched, 0, end);
	}
}

RdmaFill filler(uint32_t node, uint32_t tag)
{
	return [node, tag](uint64_t at, std::span<std::byte> to) {
		fill(to, node, tag, at - numbers);
	};
}

/* Pieces that come to a FIFO: each byte once, as it was made. */
class Pieces {
public:
	/* @node: the client whose operation it is */
	void take(uint32_t node, const RdmaPiece &piece)
	{
		const Operation &operation = operations().at(piece.tag);
		std::vector<bool> &came = came_[{node, piece.tag}];
		uint64_t at = piece.at - numbers;

		came.resize(operation.length);
		must(operation.to_fifo && at <= came.size() &&
			     piece.bytes.size() <= came.size() - at,
		     "a piece of nothing");
		must_hold(piece.bytes, node, piece.tag, at);
		for (size_t i = 0; i < piece.bytes.size(); i++) {
			must(!came[at + i], "a byte came twice");
			came[at + i] = true;
		}
		count_[{node, piece.tag}] += piece.bytes.size();
	}

	void must_be_whole(uint32_t node, uint32_t tag)
	{
		must(count_[{node, tag}] == operations()[tag].length,
		     "notified of an end, and bytes are missing");
	}

private:
	using Which = std::pair<uint32_t, uint32_t>;
	std::map<Which, std::vector<bool>> came_;
	std::map<Which, size_t> count_;
};

/* The administrator's part. */
class Recoveries {
public:
	Recoveries(const std::string &adapter, bool wanted)
		: adapter_(adapter), left_(wanted ? recoveries : 0)
	{
	}

	/* One after every @each of what is @done. */
	void look(size_t done, size_t each)
	{
		if (!left_ || done < next_ + each)
			return;
		recover(adapter_);
		next_ += each;
		left_--;
	}

	bool over() const { return !left_; }

private:
	std::string adapter_;
	unsigned left_;
	size_t next_ = 0;
};

/* The facts that a client needs. */
struct RdmaCard {
	std::array<uint32_t, 4> contexts;
	Pvo part;
};

/* ------------------------------------------------------------------- server */

/* It begins nothing; the clients put and get. */
class RdmaServer {
public:
	RdmaServer(const Arguments &arguments, bool recover)
		: server_(arguments), memory_(arguments.clients * part_size()),
		  mapping_(pavo::Mapping::open(server_.node.job, memory_)
				   .value()),
		  rdma_(pavo::Rdma::open(server_.node.window, rdma_options)
				.value()),
		  recoveries_(arguments.adapters[0], recover)
	{
		rdma_.on_arrival(
			[this](const RdmaArrival &arrival) { take(arrival); });
		rdma_.on_piece([this](const RdmaPiece &piece) {
			pieces_.take(piece.from.node, piece);
		});
		rdma_.on_feed([](const RdmaReadRequest &asked) {
			return filler(asked.from.node, asked.tag);
		});
		for (nodes::Meeting &meeting : server_.meetings) {
			prepare(meeting.other());
			exchange_cards(meeting);
		}
		server_.together();
	}

	void run()
	{
		until("all operations of all", [this] {
			(void)rdma_.progress();
			recoveries_.look(arrived_.size(), 8);
			return server_.all_wait() &&
			       arrived_.size() == expected();
		});
		must(recoveries_.over(), "a recovery did not take place");
		for (nodes::Meeting &meeting : server_.meetings)
			must_be_in_order(meeting.other());
		server_.together();
	}

private:
	std::span<std::byte> part(uint32_t node)
	{
		return std::span(memory_).subspan((node - 1) * part_size(),
						  part_size());
	}

	void exchange_cards(nodes::Meeting &meeting)
	{
		RdmaCard card{{},
			      mapping_.pvo() +
				      (meeting.other() - 1u) * part_size()};

		must(rdma_.take_rcxts(card.contexts), "contexts for the peer");
		meeting.exchange(card);
	}

	/* Fill the memory that a client will get. */
	void prepare(uint32_t node)
	{
		fill(part(node), rdma_untouched, 0);
		for (uint32_t tag = 0; tag < operations().size(); tag++)
			if (!operations()[tag].write)
				fill(bytes_of(part(node), operations()[tag]),
				     node, tag);
	}

	size_t expected() const
	{
		size_t n = 0;

		for (const Operation &operation : operations())
			n += operation.notify;
		return n * server_.meetings.size();
	}

	void take(const RdmaArrival &arrival)
	{
		const Operation &operation = operations().at(arrival.tag);
		uint32_t node = arrival.from.node, tag = arrival.tag;

		must(operation.notify && arrived_.insert({node, tag}).second,
		     "notified of what was not to be notified, or twice");
		if (operation.write && operation.to_fifo) {
			pieces_.must_be_whole(node, tag);
		} else if (operation.write) {
			auto bytes = bytes_of(part(node), operation);

			must_hold(bytes, node, tag);
			fill(bytes, used_again + node, tag);
		}
	}

	void must_be_in_order(uint32_t node)
	{
		must_hold_gaps(part(node));
		for (uint32_t tag = 0; tag < operations().size(); tag++) {
			const Operation &operation = operations()[tag];
			auto bytes = bytes_of(part(node), operation);

			if (!operation.write)
				must_hold(bytes, node, tag);
			else if (operation.to_fifo)
				must_hold(bytes, rdma_untouched, 0,
					  operation.place);
			else
				must_hold(bytes, used_again + node, tag);
		}
	}

	Server server_;
	std::vector<std::byte> memory_;
	pavo::Mapping mapping_;
	Rdma rdma_;
	Pieces pieces_;
	/* Of whom, and what. */
	std::set<std::pair<uint32_t, uint32_t>> arrived_;
	Recoveries recoveries_;
};

/* ------------------------------------------------------------------- client */

class RdmaClient {
public:
	RdmaClient(const Arguments &arguments, bool recover)
		: client_(arguments), memory_(part_size()),
		  mapping_(pavo::Mapping::open(client_.node.job, memory_)
				   .value()),
		  rdma_(pavo::Rdma::open(client_.node.window, rdma_options)
				.value()),
		  recoveries_(arguments.adapters[0], recover)
	{
		rdma_.on_piece([this](const RdmaPiece &piece) {
			pieces_.take(client_.self(), piece);
		});
		fill(memory_, rdma_untouched, 0);
		card_ = client_.meeting.exchange(RdmaCard{});
		peer_ = must(
			rdma_.add({{client_.meeting.other(), client_.window},
				   {card_.contexts.begin(),
				    card_.contexts.end()}}),
			"contexts of its own");
		together(client_.meeting);
	}

	void run()
	{
		for (uint32_t tag = 0; tag < operations().size(); tag++)
			begin(tag);
		until("the end of all operations", [this] {
			(void)rdma_.progress();
			recoveries_.look(ended_, 10);
			return !rdma_.pending();
		});
		must(ended_ == operations().size(), "an end was not notified");
		must(recoveries_.over(), "a recovery did not take place");
		must_be_in_order();
		together(client_.meeting);
		printf("%llu attempts were repeated\n",
		       static_cast<unsigned long long>(rdma_.retries()));
	}

private:
	void begin(uint32_t tag)
	{
		const Operation &operation = operations()[tag];
		bool write = operation.write;
		bool here = write ? operation.from_fifo : operation.to_fifo;
		bool there = write ? operation.to_fifo : operation.from_fifo;
		Pvo number{numbers};
		RdmaMove move{.local = here ? number :
					      mapping_.pvo() + operation.place,
			      .remote = there ? number :
						card_.part + operation.place,
			      .length = operation.length,
			      .notify = operation.notify,
			      .tag = tag,
			      .target = common::end_of(operation.to_fifo),
			      .source = common::end_of(operation.from_fifo)};
		auto over = [this, tag](const pavo::Result<void> &how) {
			end(tag, how);
		};

		if (write && !here)
			fill(bytes_of(memory_, operation), client_.self(), tag);
		if (write && here)
			move.fill = filler(client_.self(), tag);
		must(write ? rdma_.put(peer_, move, over) :
			     rdma_.get(peer_, move, over),
		     "no operation");
	}

	void end(uint32_t tag, const pavo::Result<void> &ended)
	{
		const Operation &operation = operations()[tag];
		auto bytes = bytes_of(memory_, operation);

		must(ended, "RDMA");
		ended_++;
		if (!operation.write && operation.to_fifo)
			pieces_.must_be_whole(client_.self(), tag);
		else if (!operation.write)
			must_hold(bytes, client_.self(), tag);
		/* The other end has all that was put. */
		if (operation.write ? !operation.from_fifo : !operation.to_fifo)
			fill(bytes, used_again, tag);
	}

	void must_be_in_order()
	{
		must_hold_gaps(memory_);
		for (uint32_t tag = 0; tag < operations().size(); tag++) {
			const Operation &operation = operations()[tag];
			auto bytes = bytes_of(memory_, operation);

			if (operation.write ? operation.from_fifo :
					      operation.to_fifo)
				must_hold(bytes, rdma_untouched, 0,
					  operation.place);
			else
				must_hold(bytes, used_again, tag);
		}
	}

	Client client_;
	std::vector<std::byte> memory_;
	pavo::Mapping mapping_;
	Rdma rdma_;
	Pieces pieces_;
	Recoveries recoveries_;
	RdmaCard card_;
	Rdma::Peer peer_;
	size_t ended_ = 0;
};

} // namespace

void serve_rdma(const Arguments &arguments)
{
	RdmaServer(arguments, false).run();
}

void serve_rdma_and_recover(const Arguments &arguments)
{
	RdmaServer(arguments, true).run();
}

void ask_for_rdma(const Arguments &arguments)
{
	RdmaClient(arguments, false).run();
}

void ask_for_rdma_and_recover(const Arguments &arguments)
{
	RdmaClient(arguments, true).run();
}

} // namespace nodes
