// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_library.cpp - the other ways to use the library, between machines: operations that
 * are awaited by a coroutine, and the header for C. Each puts its memory there, where every
 * byte is turned round, and gets it back.
 */
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <pavo/pavo.h>
#include <pavo/rdma.hpp>

#include "nodes.h"
#include "task.h"

namespace nodes {

namespace {

constexpr size_t library_length = 150'001;

/* Where a window is. */
struct Place {
	uint32_t window;
	pavo::Gid gid;
};

struct LibraryCard {
	std::array<uint32_t, 4> contexts;
	pavo::Pvo memory;
};

/* ------------------------------------------------------------------- server */

class LibraryServer {
public:
	explicit LibraryServer(const Arguments &arguments)
		: server_(arguments),
		  memory_(arguments.clients * library_length),
		  mapping_(pavo::Mapping::open(server_.node.job, memory_)
				   .value()),
		  rdma_(pavo::Rdma::open(server_.node.window).value())
	{
		rdma_.on_arrival([this](const pavo::RdmaArrival &arrival) {
			must(arrival.length == library_length &&
				     arrival.tag == way_,
			     "something else came");
			flip_part(arrival.from.node - 1u);
		});
	}

	/* Of each client an operation there and one back; @way: 1: by C, and the tag. */
	void serve(uint32_t way)
	{
		way_ = way;
		flipped_ = 0;
		for (size_t i = 0; i < server_.meetings.size(); i++)
			meet(i);
		server_.together();
		progress_until(
			[&] { return flipped_ == server_.meetings.size(); });
		server_.together();
		/* They get it back. */
		progress_until([&] { return server_.all_wait(); });
		server_.together();
	}

private:
	/* By C it has another window than when they met. */
	void meet(size_t i)
	{
		nodes::Meeting &meeting = server_.meetings[i];
		uint32_t window = server_.windows[i];
		LibraryCard mine{{}, mapping_.pvo() + i * library_length};

		must(rdma_.take_rcxts(mine.contexts), "contexts");
		if (way_)
			window = meeting
					 .exchange(Place{
						 server_.node.window.number(),
						 server_.node.address.gid})
					 .window;
		LibraryCard theirs = meeting.exchange(mine);
		must(rdma_.add({{meeting.other(), window},
				{theirs.contexts.begin(),
				 theirs.contexts.end()}}),
		     "a peer");
	}

	void flip_part(size_t i)
	{
		auto part = std::span(memory_).subspan(i * library_length,
						       library_length);

		must_hold(part, uint32_t(i + 1), way_);
		for (std::byte &byte : part)
			byte = ~byte;
		flipped_++;
	}

	template <class Condition> void progress_until(Condition &&condition)
	{
		until("clients", [&] {
			(void)rdma_.progress();
			return condition();
		});
	}

	Server server_;
	std::vector<std::byte> memory_;
	pavo::Mapping mapping_;
	pavo::Rdma rdma_;
	uint32_t way_ = 0;
	size_t flipped_ = 0;
};

/* ------------------------------------------------------------------ clients */

void must_be_turned(std::span<std::byte> memory, uint32_t node, uint32_t way)
{
	for (std::byte &byte : memory)
		byte = ~byte;
	must_hold(memory, node, way);
}

using Result = std::optional<pavo::Result<void>>;

Task put(pavo::Rdma &rdma, pavo::Rdma::Peer to, pavo::RdmaMove move,
	 Result &result)
{
	result = co_await rdma.put(to, move);
}

Task get(pavo::Rdma &rdma, pavo::Rdma::Peer from, pavo::RdmaMove move,
	 Result &result)
{
	result = co_await rdma.get(from, move);
}

void by_coroutines(Client &client, uint32_t way)
{
	std::vector<std::byte> memory(library_length);
	pavo::Mapping mapping =
		pavo::Mapping::open(client.node.job, memory).value();
	pavo::Rdma rdma = pavo::Rdma::open(client.node.window).value();
	LibraryCard mine{{}, mapping.pvo()};
	Result result;
	auto over = [&] {
		(void)rdma.progress();
		return bool(result);
	};

	must(rdma.take_rcxts(mine.contexts), "contexts");
	LibraryCard theirs = client.meeting.exchange(mine);
	auto peer = must(
		rdma.add({{client.meeting.other(), client.window},
			  {theirs.contexts.begin(), theirs.contexts.end()}}),
		"a peer");
	pavo::RdmaMove move{.local = mapping.pvo(),
			    .remote = theirs.memory,
			    .length = library_length,
			    .notify = true,
			    .tag = way};

	fill(memory, client.self(), way);
	together(client.meeting);
	put(rdma, peer, move, result);
	until("what is put", over);
	must(*result, "put");
	together(client.meeting);
	std::ranges::fill(memory, std::byte(0));
	move.notify = false;
	result.reset();
	get(rdma, peer, move, result);
	until("what is got", over);
	must(*result, "get");
	must_be_turned(memory, client.self(), way);
	together(client.meeting);
}

/* --------------------------------------------------------------------- by C */

template <class T> using Opened = std::unique_ptr<T, void (*)(T *)>;

template <class T> Opened<T> opened(T *t, void (*close)(T *))
{
	must(t != nullptr, "something of the header for C");
	return {t, close};
}

/* A client that has nothing of C++ but how it meets the other. */
class ByC {
public:
	ByC(const std::string &adapter, nodes::Meeting &meeting)
		: device_(opened(pavo_device_open(adapter.c_str()),
				 pavo_device_close)),
		  job_(opened(pavo_job_open(device_.get(), job_id, job_key),
			      pavo_job_close)),
		  memory(library_length),
		  mapping_(opened(pavo_mapping_open(job_.get(), memory.data(),
						    memory.size()),
				  pavo_mapping_close)),
		  window_(open_window(adapter, meeting)),
		  rdma_(opened(pavo_rdma_open(window_.get(), nullptr, nullptr,
					      nullptr, nullptr),
			       pavo_rdma_close))
	{
		LibraryCard mine{{}, {pavo_mapping_pvo(mapping_.get())}};

		must(!pavo_rdma_take_rcxts(rdma_.get(), mine.contexts.data(),
					   mine.contexts.size()),
		     "contexts");
		LibraryCard theirs = meeting.exchange(mine);
		remote_ = theirs.memory.value;
		peer_ = pavo_rdma_add(rdma_.get(), meeting.other(), other_,
				      theirs.contexts.data(),
				      theirs.contexts.size());
		must(peer_ >= 0, "a peer");
	}

	/* All of the memory. */
	void move(bool put, bool notify, uint32_t tag)
	{
		pavo_completion end{};
		pavo_move move = {.local_pvo = pavo_mapping_pvo(mapping_.get()),
				  .remote_pvo = remote_,
				  .bytes = library_length,
				  .tag = tag,
				  .notify = notify};

		must(!(put ? pavo_rdma_put : pavo_rdma_get)(
			     rdma_.get(), peer_, &move, pavo_complete, &end),
		     "an operation");
		until("the end of an operation", [&] {
			pavo_rdma_progress(rdma_.get());
			return end.over;
		});
		must(!end.error, put ? "put" : "get");
	}

private:
	Opened<pavo_window> open_window(const std::string &adapter,
					nodes::Meeting &meeting)
	{
		pavo::AdapterAddress address =
			pavo::Device::open(adapter).value().address().value();
		pavo_window_options options = {.node = meeting.node(),
					       .gid_index = address.index};

		auto window = opened(pavo_window_open(job_.get(), &options),
				     pavo_window_close);
		Place theirs = meeting.exchange(
			Place{pavo_window_number(window.get()), address.gid});
		must(!pavo_window_set_node(window.get(), meeting.other(),
					   theirs.gid.data()),
		     "a route");
		other_ = theirs.window;
		return window;
	}

	Opened<pavo_device> device_;
	Opened<pavo_job> job_;

public:
	std::vector<std::byte> memory;

private:
	Opened<pavo_mapping> mapping_;
	uint32_t other_ = 0;
	Opened<pavo_window> window_;
	Opened<pavo_rdma> rdma_;
	uint64_t remote_ = 0;
	int peer_ = -1;
};

void by_c(const Arguments &arguments, Client &client, uint32_t way)
{
	ByC end(arguments.adapters[0], client.meeting);

	fill(end.memory, client.self(), way);
	together(client.meeting);
	end.move(true, true, way);
	together(client.meeting);
	std::ranges::fill(end.memory, std::byte(0));
	end.move(false, false, way);
	must_be_turned(end.memory, client.self(), way);
	together(client.meeting);
}

} // namespace

void serve_library(const Arguments &arguments)
{
	LibraryServer server(arguments);

	server.serve(0);
	server.serve(1);
}

void use_library(const Arguments &arguments)
{
	Client client(arguments);

	by_coroutines(client, 0);
	by_c(arguments, client, 1);
}

} // namespace nodes
