// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_broadcast_striped.cpp - RDMA to a group of machines over two adapters: a pavo::Broadcast at
 * each, and the next chunk goes by one that has few under way. Packets of the first adapter leave
 * from two addresses in turn. The one that serves is the source, and all others but the last are
 * members. In some rounds an adapter recovers in the middle. In the last one a member loses its
 * second link; the first adapter carries what is left.
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <pavo/broadcast.hpp>

#include "../common/slow_kernel.h"
#include "coming.h"
#include "nodes.h"

namespace nodes {

namespace {

/* The last chunk is shorter, and none is a whole number of packets. */
constexpr size_t striped_bytes = 2'000'003, chunk_bytes = 50'001;
constexpr size_t all_chunks = (striped_bytes + chunk_bytes - 1) / chunk_bytes;
/* Chunks under way at an adapter. */
constexpr size_t chunks_at_once = 3;
/* Number of no machine, by which an adapter sends to its group. */
constexpr uint16_t striped_members = 61;
/* Whose pattern memory has to which nothing was written. */
constexpr uint32_t striped_untouched = 301;

enum class Trouble { none, source_recovers, member_recovers, link_is_lost };
constexpr Trouble troubles[] = {Trouble::none, Trouble::source_recovers,
				Trouble::member_recovers, Trouble::none,
				Trouble::link_is_lost};
constexpr uint32_t striped_rounds = std::size(troubles);

/* Both adapters are on one wire, so each has a group of its own. */
pavo::BroadcastGroup striped_group(size_t path)
{
	return {.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 77, 1,
			uint8_t(path)},
		.number = pavo::window_group | (80 + uint32_t(path))};
}

pavo::BroadcastOptions striped_broadcast(size_t path)
{
	return {.group = striped_group(path),
		.node = striped_members,
		.timeout = std::chrono::milliseconds(50),
		.max_timeout = std::chrono::milliseconds(250),
		.attempts = common::slow_kernel() ? 120u : 40u};
}

uint32_t bytes_of(size_t chunk)
{
	return uint32_t(
		std::min(chunk_bytes, striped_bytes - chunk * chunk_bytes));
}

/* An adapter, with a window that may send to groups, and memory that all paths have. */
struct CastPath : nodes::Node {
	CastPath(const std::string &name, uint16_t number,
		 std::span<std::byte> memory)
		: Node(name, job_id, job_key, number),
		  mapping(pavo::Mapping::open(job, memory).value())
	{
		allow_broadcast(*this);
		rdma.emplace(pavo::Rdma::open(window).value());
	}

	pavo::Mapping mapping;
	std::optional<pavo::Rdma> rdma;
};

/* ------------------------------------------------------------------ source */

struct SourcePath : CastPath {
	SourcePath(const std::string &name, size_t path,
		   std::span<std::byte> memory)
		: CastPath(name, 0, memory),
		  cast(pavo::Broadcast::open(*rdma, striped_broadcast(path))
			       .value())
	{
	}

	void begin_round()
	{
		carried.clear();
		sent = common::fresh_counter(device.name(), "tx_rdma_packets");
		retries = cast.retries();
	}

	uint64_t retried() const { return cast.retries() - retries; }

	/* Packets of what it has carried, however many members there are. */
	uint64_t packets() const
	{
		const uint32_t most = window.rdma_payload();
		uint64_t all = 0;

		for (size_t chunk : carried)
			all += (bytes_of(chunk) + most - 1) / most;
		return all;
	}

	pavo::Broadcast cast;
	bool alive = true;
	/* Of this round. */
	std::vector<size_t> carried;
	uint64_t sent = 0;
	uint64_t retries = 0;
};

class StripedSource : public Visitors {
public:
	explicit StripedSource(const Arguments &arguments)
		: Visitors(arguments.clients), memory_(striped_bytes)
	{
		for (const std::string &name : arguments.adapters)
			add(name);
		send_from_second(*paths_[0], striped_members,
				 striped_group(0).gid);
	}

	void round(uint32_t number)
	{
		bool over = troubles[number] != Trouble::source_recovers;

		fill(memory_, 0, number);
		for (auto &path : paths_)
			path->begin_round();
		over_ = 0;
		for (size_t chunk = all_chunks; chunk--;)
			waiting_.push_back(chunk);
		until("all members to have all", [&] {
			if (!over && over_ > all_chunks / 4) {
				over = true;
				recover(paths_[1]->device.name());
			}
			pump();
			return over_ == all_chunks;
		});
		check(number);
	}

private:
	void add(const std::string &name)
	{
		paths_.push_back(std::make_unique<SourcePath>(
			name, paths_.size(), memory_));
		for (nodes::Meeting &meeting : meetings) {
			const pavo::WindowAddress window =
				paths_.back()->introduce(meeting);

			if (&meeting != &meetings.back())
				must(paths_.back()->cast.add(window), "member");
		}
	}

	void pump()
	{
		for (auto &path : paths_) {
			while (path->alive && !waiting_.empty() &&
			       path->cast.pending() < chunks_at_once)
				put(*path);
			(void)path->cast.progress();
		}
	}

	void put(SourcePath &path)
	{
		const size_t chunk = waiting_.back();
		const uint64_t at = chunk * chunk_bytes;

		waiting_.pop_back();
		must(path.cast.put({.local = path.mapping.pvo() + at,
				    .offset = at,
				    .length = bytes_of(chunk),
				    .tag = uint32_t(chunk)},
				   [this, &path,
				    chunk](const pavo::Result<void> &how) {
					   end(path, chunk, how);
				   }),
		     "put");
	}

	void end(SourcePath &path, size_t chunk, const pavo::Result<void> &how)
	{
		if (how) {
			path.carried.push_back(chunk);
			over_++;
			return;
		}
		must(how.error() == std::errc::timed_out,
		     "RDMA to a group has failed by something else");
		path.alive = false;
		waiting_.push_back(chunk);
	}

	void check(uint32_t number)
	{
		const bool lost = troubles[number] == Trouble::link_is_lost;

		must(paths_[0]->alive && paths_[1]->alive != lost,
		     "another path has failed");
		for (auto &path : paths_) {
			printf("# round %u, %s: %zu chunks, %llu retries\n",
			       number, path->device.name().c_str(),
			       path->carried.size(),
			       (unsigned long long)path->retried());
			must(!path->alive || !path->carried.empty(),
			     "a path has carried nothing");
			/* Counters are some milliseconds old. */
			if (path->alive && !path->retried())
				until("each packet to be counted once", [&] {
					return counter(path->device.name(),
						       "tx_rdma_packets") ==
					       path->sent + path->packets();
				});
		}
	}

	std::vector<std::byte> memory_;
	std::vector<std::unique_ptr<SourcePath>> paths_;
	std::vector<size_t> waiting_;
	/* Chunks that all members have. */
	size_t over_ = 0;
};

/* ----------------------------------------------------------------- clients */

struct ClientPath : CastPath {
	ClientPath(const std::string &name, uint16_t number,
		   std::span<std::byte> memory)
		: CastPath(name, number, memory), idle(name), arrived()
	{
	}

	void join(size_t path)
	{
		target.emplace(pavo::BroadcastTarget::open(
				       *rdma, striped_group(path),
				       mapping.pvo(), striped_bytes)
				       .value());
		target->on_arrival([this](const pavo::BroadcastArrival &one) {
			must(one.from.node == 0, "it is not of the source");
			arrived.at(one.tag)++;
		});
	}

	/* That have come in this round. */
	size_t chunks() const
	{
		return size_t(std::ranges::count_if(
			arrived, [](unsigned times) { return times > 0; }));
	}

	std::optional<pavo::BroadcastTarget> target;
	Idle idle;
	/* How often each chunk has come by this path in this round. */
	std::array<unsigned, all_chunks> arrived;
};

class StripedClient {
public:
	explicit StripedClient(const Arguments &arguments)
		: meeting(visit(arguments)), interface_(arguments.interface),
		  first_(striped_group(0).gid), memory_(striped_bytes)
	{
		fill(memory_, striped_untouched, meeting.node());
		for (const std::string &name : arguments.adapters) {
			paths_.push_back(std::make_unique<ClientPath>(
				name, meeting.node(), memory_));
			paths_.back()->introduce(meeting);
		}
	}

	bool is_member() const { return meeting.node() < 3; }

	void join()
	{
		for (size_t i = 0; i < paths_.size(); i++)
			paths_[i]->join(i);
	}

	void round(uint32_t number)
	{
		bool over = meeting.node() != 1;

		for (auto &path : paths_)
			path->arrived = {};
		until("the source", [&] {
			if (!over && paths_[1]->chunks() > 1) {
				over = true;
				make(troubles[number]);
			}
			for (auto &path : paths_)
				(void)path->rdma->progress();
			return meeting.anything();
		});
	}

	/* Each chunk has come once; what a lost path may have had comes by the other, too. */
	void must_have(uint32_t number)
	{
		const bool lost = troubles[number] == Trouble::link_is_lost;

		for (size_t chunk = 0; chunk < all_chunks; chunk++) {
			const unsigned a = paths_[0]->arrived[chunk],
				       b = paths_[1]->arrived[chunk];

			must(a <= 1 && b <= 1 && (lost ? a || b : a + b == 1),
			     "a chunk has arrived not once");
		}
		must_hold(memory_, 0, number);
	}

	/* They came from both addresses of the source's first adapter, and by several ports. */
	void must_have_come_by_all_routes() const
	{
		const Coming::Sources sources = first_.sources();

		must(sources.addresses == 2 && sources.ports > 2,
		     "not all routes to the group are used");
	}

	void must_be_untouched() const
	{
		must_hold(memory_, striped_untouched, meeting.node());
		for (const auto &path : paths_)
			path->idle.must_be();
	}

	nodes::Meeting meeting;

private:
	void make(Trouble trouble)
	{
		if (trouble == Trouble::member_recovers)
			recover(paths_[1]->device.name());
		if (trouble == Trouble::link_is_lost)
			must(!std::system(
				     ("ip link set " + interface_ + " down")
					     .c_str()),
			     "the link is not lost");
	}

	std::string interface_;
	/* For the group of the first adapter. */
	Coming first_;
	std::vector<std::byte> memory_;
	std::vector<std::unique_ptr<ClientPath>> paths_;
};

} // namespace

void serve_striped_broadcast(const Arguments &arguments)
{
	StripedSource source(arguments);

	source.together();
	for (uint32_t number = 0; number < striped_rounds; number++) {
		source.round(number);
		source.together();
		source.together();
	}
}

void join_striped_broadcast(const Arguments &arguments)
{
	StripedClient client(arguments);

	if (client.is_member())
		client.join();
	together(client.meeting);
	for (uint32_t number = 0; number < striped_rounds; number++) {
		client.round(number);
		together(client.meeting);
		if (client.is_member())
			client.must_have(number);
		else
			client.must_be_untouched();
		together(client.meeting);
	}
	if (client.is_member())
		client.must_have_come_by_all_routes();
}

} // namespace nodes
