// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * failover_tests.cpp - numbers and packets from before: an adapter's recovery, and the
 * module's reload (sources.md#windows-failover). Packets are recorded on their
 * way into interface vb and sent again through va, on the other end of its wire.
 */
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <set>
#include <thread>

#include "both.h"
#include "raw.h"

using namespace windows;

namespace {

constexpr size_t failover_length = 20'000;
/* Where the life before left its packets, and the PVO they name. */
constexpr const char *left_behind = "/run/pavo-packets";

void replay(Wire &out, const std::vector<Frame> &frames)
{
	for (const Frame &frame : frames)
		out.send(frame);
}

/* End a hears that it is done. */
bool notified(Ends &ends, uint64_t tid)
{
	auto done = ended(ends.a);

	return done.tid == tid && done.status == pavo::PvoResult::ok;
}

TEST(Failover, PacketsOfBeforeARecoveryAreDroppedSilently)
{
	Ends ends(failover_length);
	Wire in("vb"), out("va");

	ASSERT_EQ(ends.ask(true, ends.request(1, failover_length)),
		  pavo::FrameState::sent);
	ASSERT_TRUE(notified(ends, 1));
	auto frames = in.recorded();
	ASSERT_EQ(frames.size(), (failover_length + 1379) / 1380);
	ends.there.fill(3);
	/* They reach it, and are late. */
	Moved late(ends.device_b, "rx_drop_tid");
	replay(out, frames);
	ASSERT_TRUE(eventually([&] { return late.by() == frames.size(); }));
	recover(ends.device_b);
	Moved stale(ends.device_b, "rx_drop_rcxt");
	replay(out, frames);
	ASSERT_TRUE(eventually([&] { return stale.by() == frames.size(); }));
	/* Also if the sender has not noticed the recovery. */
	ASSERT_EQ(ends.ask(true, ends.request(2, failover_length)),
		  pavo::FrameState::sent);
	ASSERT_TRUE(
		eventually([&] { return stale.by() == 2 * frames.size(); }));
	EXPECT_TRUE(ends.there.holds(3));
	EXPECT_EQ(ends.b.lmt().value().state, pavo::WindowState::valid)
		<< "no window error";
	EXPECT_TRUE(quiet(ends.b));
	EXPECT_TRUE(quiet(ends.a));
	/* New ones are good. */
	EXPECT_EQ(ends.b.lmt().value().rcxts_owned, 0u);
	uint32_t before = ends.rcxt_b;
	must(ends.b.take_rcxts({&ends.rcxt_b, 1}));
	EXPECT_NE(ends.rcxt_b >> PAVO_RCXT_INDEX_BITS,
		  before >> PAVO_RCXT_INDEX_BITS);
	ASSERT_EQ(ends.ask(true, ends.request(3, failover_length)),
		  pavo::FrameState::sent);
	ASSERT_TRUE(notified(ends, 3));
	EXPECT_TRUE(ends.there.holds(1));
}

TEST(Failover, WhatIsUnderWayAtARecoveryEnds)
{
	Ends ends(failover_length);
	uint32_t old = ends.rcxt_a;

	recover(ends.device_a);
	EXPECT_EQ(ends.ask(true, ends.request(1, failover_length, 0)),
		  pavo::FrameState::bad_rcxt);
	EXPECT_EQ(ends.a.return_rcxts({&old, 1}),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(ends.a.cancel({&old, 1}),
		  pavo::Unexpected(std::errc::invalid_argument));
	for (int round = 0; round < 40; round++) {
		std::vector<uint32_t> many(100);
		must(ends.a.take_rcxts(many));
		ends.rcxt_a = many[50];
		must(ends.b.take_rcxts({&ends.rcxt_b, 1}));
		pavo::FrameState state = pavo::FrameState::empty;
		ASSERT_TRUE(
			ends.a.prepare_rdma(pavo::Direction::write,
					    {node_b, ends.b.number()},
					    ends.request(1, failover_length, 0))
				.has_value());
		std::thread sender([&] { (void)ends.a.start(); });
		recover(ends.device_a);
		sender.join();
		ASSERT_TRUE(
			eventually([&] { return one_sent(ends.a, state); }));
		ASSERT_TRUE(state == pavo::FrameState::sent ||
			    state == pavo::FrameState::bad_rcxt)
			<< uint32_t(state);
		ASSERT_EQ(ends.a.lmt().value().rcxts, 0u);
		ASSERT_EQ(ends.a.lmt().value().rcxts_owned, 0u);
	}
}

/* Writes that to an adapter's command. Return: errno. */
int order(const pavo::Device &device, const std::string &words)
{
	const std::string path =
		common::adapter_folder(device.name()) + "recover";
	int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	bool taken = write(fd, words.data(), words.size()) ==
		     ssize_t(words.size());
	int error = taken ? 0 : errno;
	close(fd);
	return error;
}

/* Of the administrator's, and nothing but a yes. */
TEST(Failover, IsOrderedByTheRightWordOfTheAdministratorOnly)
{
	Ends ends(failover_length);
	const uint32_t before = ends.b.lmt().value().recoveries;

	for (const std::string words :
	     {"0", "0\n", "n", "off", "2", "-1", " 1", "\n", "recover"})
		EXPECT_EQ(order(ends.device_b, words), EINVAL) << words;
	EXPECT_EQ(order(ends.device_b, std::string(4000, 'x')), EINVAL);
	world::Process user([&](world::Process &) {
		world::become_user(0);
		return order(ends.device_b, "1") == EACCES &&
		       order(ends.device_b, "0") == EACCES;
	});
	EXPECT_TRUE(user.good());
	EXPECT_EQ(ends.b.lmt().value().recoveries, before);
	EXPECT_EQ(ends.b.lmt().value().rcxts_owned, 1u);
	ASSERT_EQ(ends.ask(true, ends.request(1, failover_length)),
		  pavo::FrameState::sent);
	EXPECT_TRUE(notified(ends, 1));
	EXPECT_EQ(order(ends.device_b, "1\n"), 0);
	EXPECT_EQ(ends.b.lmt().value().recoveries, before + 1);
	EXPECT_EQ(ends.b.lmt().value().rcxts_owned, 0u);
}

/* Operations: every third is to a FIFO, every other by the other end. */
struct FailoverLoad {
	static constexpr uint32_t operations = 60, size = 50'000;

	explicit FailoverLoad(Both &all) : both(all)
	{
		both.rdma_a.on_piece(
			[this](const pavo::RdmaPiece &piece) { take(piece); });
		both.rdma_b.on_piece(
			[this](const pavo::RdmaPiece &piece) { take(piece); });
		for (uint32_t n = 0; n < operations; n++) {
			fill(memory_of(at_a(n) == write(n)), place(n), size, n);
			begin(n);
		}
	}

	static bool at_a(uint32_t n) { return n & 1; }
	static bool write(uint32_t n) { return n & 2; }
	static bool to_fifo(uint32_t n) { return n % 3 == 0; }
	static size_t place(uint32_t n) { return size_t(n) * size; }
	world::Memory &memory_of(bool a)
	{
		return a ? both.memory_a : both.memory_b;
	}

	void begin(uint32_t n)
	{
		auto here = (at_a(n) ? both.mapping_a : both.mapping_b).pvo();
		auto there = (at_a(n) ? both.mapping_b : both.mapping_a).pvo();
		auto &rdma = at_a(n) ? both.rdma_a : both.rdma_b;
		auto peer = at_a(n) ? both.b_of_a : both.a_of_b;
		pavo::RdmaMove move{.local = here + place(n),
				    .remote = there + place(n),
				    .length = size,
				    .notify = true,
				    .tag = n,
				    .target = common::end_of(to_fifo(n))};
		auto over = [this, n](const pavo::Result<void> &how) {
			EXPECT_TRUE(how.has_value())
				<< n << ": " << how.error().message();
			ended++;
		};

		if (to_fifo(n))
			(write(n) ? move.remote : move.local) =
				pavo::Pvo{place(n)};
		if (write(n))
			(void)rdma.put(peer, move, over);
		else
			(void)rdma.get(peer, move, over);
	}

	void take(const pavo::RdmaPiece &piece)
	{
		uint32_t n = piece.tag;
		auto from = memory_of(at_a(n) == write(n))
				    .part(piece.at, piece.bytes.size());

		EXPECT_TRUE(to_fifo(n));
		EXPECT_TRUE(std::ranges::equal(from, piece.bytes)) << n;
		for (size_t i = 0; i < piece.bytes.size(); i++)
			EXPECT_TRUE(came.insert(piece.at + i).second) << n;
	}

	void expect_whole()
	{
		size_t fifo_bytes = 0;

		EXPECT_EQ(ended, operations);
		for (uint32_t n = 0; n < operations; n++) {
			EXPECT_EQ((at_a(n) ? both.arrived_b :
					     both.arrived_a)[n],
				  1)
				<< n;
			EXPECT_EQ(both.lengths[n], size) << n;
			if (to_fifo(n))
				fifo_bytes += size;
			else
				EXPECT_TRUE(equal(both.memory_a, place(n),
						  both.memory_b, place(n),
						  size))
					<< n;
		}
		EXPECT_EQ(came.size(), fifo_bytes);
	}

	Both &both;
	/* The administrator's thread looks at it. */
	std::atomic<uint32_t> ended = 0;
	std::set<size_t> came;
};

/* The libraries at both ends take new contexts, and every operation happens once. */
TEST(Failover, OperationsGoOnAfterRecoveries)
{
	Both both(4, {.timeout = std::chrono::milliseconds(5),
		      .piece = 20'000,
		      .half_piece = 8'000});
	FailoverLoad load(both);
	unsigned recoveries = 0;

	ASSERT_TRUE(eventually([&] {
		(void)both.rdma_a.progress();
		(void)both.rdma_b.progress();
		/* The last third needs the contexts of both. */
		if (recoveries < 8 && load.ended >= 5 * (recoveries + 1))
			recover(recoveries++ % 3 ? both.device_a :
						   both.device_b);
		return !both.rdma_a.pending() && !both.rdma_b.pending();
	}));
	EXPECT_EQ(recoveries, 8u);
	load.expect_whole();
	EXPECT_EQ(both.a.lmt().value().rcxts_owned, 8u);
	EXPECT_EQ(both.b.lmt().value().rcxts_owned, 8u);
}

/* The administrator recovers at any moment and does not wait for the library. */
TEST(Failover, RecoveriesComeFromAnotherThread)
{
	constexpr uint32_t wanted = 24;
	Both both(4, {.timeout = std::chrono::milliseconds(5),
		      .piece = 20'000,
		      .half_piece = 8'000});
	FailoverLoad load(both);
	std::atomic<uint32_t> recoveries = 0;
	std::thread administrator([&] {
		while (recoveries < wanted &&
		       eventually([&] { return load.ended > recoveries; }))
			recover(recoveries++ % 3 ? both.device_a :
						   both.device_b);
	});

	EXPECT_TRUE(both.run());
	administrator.join();
	EXPECT_EQ(recoveries, wanted);
	load.expect_whole();
	/* The last came when all was over, or not: they go on after it. */
	pavo::Result<void> result = pavo::Unexpected(std::errc::timed_out);
	(void)both.rdma_a.put(both.b_of_a,
			      {.local = both.mapping_a.pvo(),
			       .remote = both.mapping_b.pvo(),
			       .length = FailoverLoad::size},
			      [&](const pavo::Result<void> &how) {
				      result = how;
			      });
	ASSERT_TRUE(both.run());
	EXPECT_TRUE(result.has_value()) << result.error().message();
	EXPECT_TRUE(
		equal(both.memory_a, 0, both.memory_b, 0, FailoverLoad::size));
}

/* Before the module is loaded anew. */
TEST(Failover, LeavesPacketsBehind)
{
	Ends ends(failover_length);
	Wire in("vb");
	std::ofstream file(left_behind);

	ASSERT_EQ(ends.ask(true, ends.request(1, failover_length)),
		  pavo::FrameState::sent);
	ASSERT_TRUE(notified(ends, 1));
	file << ends.there.pvo() << ' ' << ends.b.number() << '\n';
	for (const Frame &frame : in.recorded()) {
		file << frame.size() << '\n';
		file.write(reinterpret_cast<const char *>(frame.data()),
			   std::streamsize(frame.size()));
	}
	ASSERT_TRUE(file.good());
}

/* After that: the adapter is the same to all who look. */
TEST(Failover, OfALifeBeforeTheAdapterTakesNothing)
{
	Ends ends(failover_length);
	Wire out("va");
	std::ifstream file(left_behind);
	std::vector<Frame> frames;
	uint64_t pvo, n;
	uint32_t window;

	ASSERT_TRUE(file >> pvo >> window);
	while (file >> n) {
		Frame frame(n);

		file.ignore();
		file.read(reinterpret_cast<char *>(frame.data()),
			  std::streamsize(n));
		frames.push_back(frame);
	}
	ASSERT_EQ(frames.size(), (failover_length + 1379) / 1380);
	/* The same job and the same window: all but what is random fits. */
	ASSERT_EQ(ends.b.number(), window);
	Moved stale(ends.device_b, "rx_drop_rcxt");
	replay(out, frames);
	ASSERT_TRUE(eventually([&] { return stale.by() == frames.size(); }));
	EXPECT_TRUE(ends.there.holds(2));
	/* And its PVO is none, where the context is good. */
	ASSERT_NE(pvo, ends.there.pvo());
	Moved refused(ends.device_b, "rx_drop_rdma_pvo");
	auto request = ends.request(1, failover_length, 0);
	request.remote_pvo = pvo;
	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	ASSERT_TRUE(eventually([&] { return refused.by() == 1; }));
	EXPECT_TRUE(ends.there.holds(2));
	EXPECT_EQ(ends.b.lmt().value().state, pavo::WindowState::valid);
}

} // namespace
