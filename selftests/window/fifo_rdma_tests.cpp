// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fifo_rdma_tests.cpp - operations of pavo::Rdma that go by the FIFOs: where the environment of a
 * job turns RDMA off, small ones, and where there are no contexts. Tests named Network are also
 * run with a network that loses, repeats and reorders.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include <pavo/broadcast.hpp>
#include <pavo/rdma.hpp>

#include "both.h"
#include "command.hpp"

using namespace windows;
using pavo::RdmaMove;

namespace {

/* As a user sets it for the processes of a job. */
struct WithoutRdma {
	WithoutRdma() { setenv("PAVO_JOB_RDMA", "0", 1); }
	~WithoutRdma() { unsetenv("PAVO_JOB_RDMA"); }
};

/* Packets of RDMA of any kind that both adapters have sent. */
struct RdmaPackets {
	explicit RdmaPackets(const Both &both)
		: sent_a(both.device_a, "tx_rdma_packets"),
		  sent_b(both.device_b, "tx_rdma_packets"),
		  done_a(both.device_a, "rdma_done"),
		  done_b(both.device_b, "rdma_done")
	{
	}

	uint64_t by() const
	{
		return sent_a.by() + sent_b.by() + done_a.by() + done_b.by();
	}

	Moved sent_a, sent_b, done_a, done_b;
};

/* @n puts of a and gets of b, of @length bytes, that are to end well and once. */
void move_some(Both &both, uint32_t n, uint32_t length)
{
	std::map<uint32_t, int> ended;

	both.arrived_b.clear();
	both.arrived_a.clear();
	fill(both.memory_a, 0, memory_size / 2, n + length);
	for (uint32_t i = 0; i < n; i++) {
		const bool put = i % 2;
		const size_t at = size_t(i) * (length + 7);
		RdmaMove move{
			.local = (put ? both.mapping_a : both.mapping_b).pvo() +
				 at,
			.remote =
				(put ? both.mapping_b : both.mapping_a).pvo() +
				at,
			.length = length,
			.notify = i % 3 != 0,
			.tag = i};
		auto count = [&ended, i](const pavo::Result<void> &how) {
			EXPECT_TRUE(how.has_value()) << how.error().message();
			ended[i]++;
		};

		if (put)
			must(both.rdma_a.put(both.b_of_a, move, count));
		else
			must(both.rdma_b.get(both.a_of_b, move, count));
	}
	ASSERT_TRUE(both.run());
	for (uint32_t i = 0; i < n; i++) {
		const size_t at = size_t(i) * (length + 7);

		EXPECT_EQ(ended[i], 1) << i;
		EXPECT_TRUE(equal(both.memory_a, at, both.memory_b, at, length))
			<< i;
		auto &there = i % 2 ? both.arrived_b : both.arrived_a;
		EXPECT_EQ(there[i], i % 3 != 0) << i;
		EXPECT_TRUE(!(i % 3) || both.lengths[i] == length);
	}
}

TEST(Network, FifoMovesAllWhereRdmaIsOff)
{
	WithoutRdma without;
	Both both;
	RdmaPackets packets(both);

	for (uint32_t length : {0u, 1u, 1500u, 20'000u, 100'000u})
		move_some(both, 12, length);
	EXPECT_EQ(packets.by(), 0u);
	EXPECT_EQ(both.a.lmt().value().rcxts_owned, 0u);
	EXPECT_EQ(both.b.lmt().value().rcxts_owned, 0u);
}

TEST(FifoRdma, HalfOperationsWhereRdmaIsOff)
{
	WithoutRdma without;
	Both both;
	RdmaPackets packets(both);
	std::map<uint64_t, std::byte> came;
	pavo::Completion there, back;
	constexpr uint32_t length = 10'000;

	both.rdma_b.on_piece([&](const pavo::RdmaPiece &piece) {
		uint64_t at = piece.at;

		EXPECT_EQ(piece.tag, 5u);
		for (std::byte byte : piece.bytes)
			EXPECT_TRUE(came.emplace(at++, byte).second);
	});
	both.rdma_b.on_feed([](const pavo::RdmaReadRequest &request) {
		EXPECT_EQ(request.length, 10'000u);
		return [](uint64_t at, std::span<std::byte> to) {
			for (std::byte &byte : to)
				byte = std::byte(at++ * 5);
		};
	});
	must(both.rdma_a.put(
		both.b_of_a,
		RdmaMove{.local = {300},
			 .remote = {1000},
			 .length = length,
			 .notify = true,
			 .tag = 5,
			 .target = pavo::RdmaEnd::fifo,
			 .source = pavo::RdmaEnd::fifo,
			 .fill =
				 [](uint64_t at, std::span<std::byte> to) {
					 for (std::byte &byte : to)
						 byte = std::byte(at++ * 3);
				 }},
		there));
	ASSERT_TRUE(both.run());
	EXPECT_TRUE(there.result().has_value());
	EXPECT_EQ(came.size(), length);
	for (uint64_t n = 0; n < length; n++)
		ASSERT_EQ(came[1000 + n], std::byte((300 + n) * 3));
	EXPECT_EQ(both.arrived_b[5], 1);
	EXPECT_EQ(both.lengths[5], length);
	must(both.rdma_a.get(both.b_of_a,
			     RdmaMove{.local = both.mapping_a.pvo(),
				      .remote = {50},
				      .length = length,
				      .source = pavo::RdmaEnd::fifo},
			     back));
	ASSERT_TRUE(both.run());
	EXPECT_TRUE(back.result().has_value());
	for (uint64_t n = 0; n < length; n++)
		ASSERT_EQ(both.memory_a.part(n, 1)[0], std::byte((50 + n) * 5));
	EXPECT_EQ(packets.by(), 0u);
}

/* One end alone may have it turned off. */
TEST(FifoRdma, OneEndWithoutRdmaDecides)
{
	auto both = std::make_unique<Both>();
	pavo::Window window =
		pavo::Window::open(both->job_b,
				   {.node = node_b,
				    .gid_index = both->address_b.index})
			.value();
	must(window.set_node(node_a, both->address_a.gid));
	RdmaPackets packets(*both);
	pavo::Completion there, back;
	std::optional<pavo::Rdma> off;
	{
		WithoutRdma without;

		off.emplace(pavo::Rdma::open(window).value());
	}
	auto peer = introduce(both->rdma_a, *off, node_b, window.number(), 2);
	auto peer_of_it =
		introduce(*off, both->rdma_a, node_a, both->a.number(), 2);
	RdmaMove move{.local = both->mapping_a.pvo(),
		      .remote = both->mapping_b.pvo(),
		      .length = 50'000};

	fill(both->memory_a, 0, 50'000, 9);
	must(both->rdma_a.put(peer, move, there));
	std::swap(move.local, move.remote);
	move.local.value += 100'000;
	must(off->get(peer_of_it, move, back));
	ASSERT_TRUE(eventually([&] {
		(void)both->rdma_a.progress();
		(void)off->progress();
		return there.over() && back.over();
	}));
	EXPECT_TRUE(there.result().has_value());
	EXPECT_TRUE(back.result().has_value());
	EXPECT_TRUE(equal(both->memory_a, 0, both->memory_b, 0, 50'000));
	EXPECT_TRUE(equal(both->memory_a, 0, both->memory_b, 100'000, 50'000));
	EXPECT_EQ(packets.by(), 0u);
}

/* There is no other way to many: the FIFOs move what one end asks another for. */
TEST(FifoRdma, ABroadcastIsRefusedWhereRdmaIsOff)
{
	Both both;
	pavo::Window window =
		pavo::Window::open(both.job_a,
				   {.node = node_a,
				    .gid_index = both.address_a.index,
				    .broadcast = true})
			.value();
	const pavo::BroadcastOptions options = {
		.group = {.gid = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
				   239, 9, 9, 9}},
			  .number = pavo::window_group | 9},
		.node = 9};
	std::optional<pavo::Rdma> off;
	{
		WithoutRdma without;

		off.emplace(pavo::Rdma::open(window).value());
	}
	auto source = pavo::Broadcast::open(*off, options);
	auto target = pavo::BroadcastTarget::open(*off, options.group,
						  both.mapping_a.pvo(), 4096);
	ASSERT_FALSE(source.has_value() || target.has_value());
	EXPECT_EQ(source.error().number(), EOPNOTSUPP);
	EXPECT_EQ(target.error().number(), EOPNOTSUPP);
	EXPECT_EQ(window.lmt().value().rcxts_owned, 0u);
	off.emplace(pavo::Rdma::open(window).value());
	EXPECT_TRUE(pavo::Broadcast::open(*off, options).has_value());
}

TEST(FifoRdma, SmallOperationsGoByTheFifos)
{
	Both both(4, {.rdma_from = 1000});
	RdmaPackets packets(both);

	move_some(both, 12, 999);
	EXPECT_EQ(packets.by(), 0u);
	/* A get of a larger one is notified by RDMA, too. */
	move_some(both, 12, 1000);
	EXPECT_GE(packets.by(), 12u);
}

/* Of the memory that another process mapped the library knows nothing; the adapter does. */
TEST(FifoRdma, MemoryOfOtherProcessesIsReachedByRdma)
{
	Both both(4, {.rdma_from = ~0u});
	RdmaPackets packets(both);
	world::Memory memory(world::page);
	pavo_map_args args = {
		.start = reinterpret_cast<uintptr_t>(memory.all().data()),
		.length = memory.all().size()};
	pavo_map_resp resp{};
	pavo::Completion there, back, nowhere;

	/* Behind the library's back, as another process would. */
	ASSERT_EQ(pavo::Command(PAVO_OBJECT_MAPPING, PAVO_METHOD_MAPPING_MAP)
			  .new_handle(PAVO_ATTR_MAPPING_HANDLE)
			  .handle(PAVO_ATTR_MAPPING_JOB, both.job_b.handle())
			  .in(PAVO_ATTR_MAPPING_ARGS, args)
			  .out(PAVO_ATTR_MAPPING_RESP, resp)
			  .run(both.job_b.fd()),
		  0);
	RdmaMove move{.local = both.mapping_a.pvo(),
		      .remote = {resp.pvo},
		      .length = 3000,
		      .notify = true,
		      .tag = 8};
	fill(both.memory_a, 0, 3000, 7);
	must(both.rdma_a.put(both.b_of_a, move, there));
	ASSERT_TRUE(both.run());
	EXPECT_TRUE(there.result().has_value())
		<< there.result().error_or({}).message();
	EXPECT_TRUE(equal(both.memory_a, 0, memory, 0, 3000));
	EXPECT_EQ(both.arrived_b[8], 1);
	move.local.value += 5000;
	must(both.rdma_a.get(both.b_of_a, move, back));
	ASSERT_TRUE(both.run());
	EXPECT_TRUE(back.result().has_value());
	EXPECT_TRUE(equal(both.memory_a, 5000, memory, 0, 3000));
	EXPECT_GE(packets.by(), 6u);
	/* Where RDMA does not find it either, that is the end of it. */
	move.remote.value ^= uint64_t(1) << 60;
	must(both.rdma_a.put(both.b_of_a, move, nowhere));
	ASSERT_TRUE(both.run());
	EXPECT_EQ(nowhere.result(), pavo::Unexpected(std::errc::bad_address));
}

TEST(FifoRdma, TouchesOnlyMappedMemoryOfTheJob)
{
	WithoutRdma without;
	Both both;
	pavo::Job other = pavo::Job::reserve(both.device_b, world::job_id + 1,
					     world::job_key)
				  .value();
	world::Memory memory(world::page);
	auto mapping = std::make_unique<pavo::Mapping>(
		pavo::Mapping::open(other, memory.all()).value());
	const auto bad = pavo::Unexpected(std::errc::bad_address);
	auto put = [&](pavo::Pvo to, uint32_t length) {
		pavo::Completion over;

		must(both.rdma_a.put(both.b_of_a,
				     RdmaMove{.local = both.mapping_a.pvo(),
					      .remote = to,
					      .length = length,
					      .notify = true},
				     over));
		EXPECT_TRUE(both.run());
		return over.result();
	};

	fill(both.memory_b, 0, memory_size, 3);
	fill(memory, 0, world::page, 4);
	/* Of another job; at the end; of a region that is gone. */
	EXPECT_EQ(put(mapping->pvo(), 100), bad);
	EXPECT_EQ(put(both.mapping_b.pvo() + (memory_size - 50), 51), bad);
	EXPECT_EQ(put({both.mapping_b.pvo().value - 1}, 100), bad);
	EXPECT_EQ(put({~uint64_t(0)}, 100), bad);
	auto gone = std::make_unique<pavo::Mapping>(
		pavo::Mapping::open(both.job_b, memory.all()).value());
	pavo::Pvo before = gone->pvo();
	EXPECT_TRUE(put(before, 100).has_value());
	gone.reset();
	fill(memory, 0, world::page, 4);
	EXPECT_EQ(put(before, 100), bad);
	EXPECT_TRUE(common::holds(memory.part(0, world::page), 4));
	EXPECT_TRUE(common::holds(both.memory_b.part(0, memory_size), 3));
	EXPECT_EQ(both.arrived_b.size(), 1u);
	EXPECT_EQ(both.a.lmt().value().state, pavo::WindowState::valid);
}

/* Run with max_rcxts=8: both ends take all of their adapters. */
TEST(FifoRdma, GoesOnWhenTheAdapterHasNoContexts)
{
	Both both(4);
	RdmaPackets packets(both);
	uint32_t one;

	ASSERT_EQ(both.b.lmt().value().rcxts_owned, 8u);
	EXPECT_EQ(both.b.take_rcxts({&one, 1}),
		  pavo::Unexpected(std::errc::no_space_on_device));
	move_some(both, 6, 5000);
	uint64_t by_rdma = packets.by();
	EXPECT_GE(by_rdma, 6u);
	/* Another window takes what a recovery has taken from b, before b can. */
	auto greedy = another(both);
	std::vector<uint32_t> all(8);
	recover(both.device_b);
	must(greedy->take_rcxts(all));
	/* More than there are channels, so that each finds out. */
	move_some(both, 12, 5000);
	EXPECT_EQ(both.b.lmt().value().rcxts_owned, 0u);
	/* Once none is left, nothing goes by RDMA. */
	by_rdma = packets.by();
	move_some(both, 6, 7000);
	EXPECT_EQ(packets.by(), by_rdma);
	must(greedy->return_rcxts(all));
	ASSERT_TRUE(both.run());
	EXPECT_EQ(both.b.lmt().value().rcxts_owned, 8u);
	move_some(both, 6, 6000);
	EXPECT_GT(packets.by(), by_rdma);
}

/* For docs/performance.md: microseconds of a put that notifies, one after the other. */
TEST(FifoRdma, DISABLED_TimesOfBothWays)
{
	constexpr int rounds = 2000;

	for (uint32_t from : {0u, ~0u}) {
		Both both(4, {.rdma_from = from}, 1024);

		for (uint32_t length : {0u, 64u, 1024u, 4096u, 32'768u}) {
			auto begin = std::chrono::steady_clock::now();

			for (int n = 0; n < rounds; n++) {
				must(both.rdma_a.put(
					both.b_of_a,
					RdmaMove{.local = both.mapping_a.pvo(),
						 .remote = both.mapping_b.pvo(),
						 .length = length,
						 .notify = true},
					[](const pavo::Result<void> &) {}));
				ASSERT_TRUE(both.run());
			}
			auto took = std::chrono::steady_clock::now() - begin;
			printf("# %s %u bytes: %.2f us\n",
			       from ? "FIFO" : "RDMA", length,
			       std::chrono::duration<double, std::micro>(took)
					       .count() /
				       rounds);
		}
	}
}

} // namespace
