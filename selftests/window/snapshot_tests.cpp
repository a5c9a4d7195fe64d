// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * snapshot_tests.cpp - the end of windows under traffic, without waiting for anybody
 * (sources.md#windows-snapshot): a process that is notified that
 * its memory is not in use any more finds no stray byte in it.
 */
#include <gtest/gtest.h>

#include <cstdlib>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "adapter.h"
#include "command.hpp"
#include "shared_window.hpp"

using namespace windows;
using pavo::Message;
using pavo::Window;

namespace {

/* A file of those that people look at, as a whole. */
std::string shown(const std::string &name)
{
	std::ifstream file("/sys/kernel/debug/pavo/" + name);

	return {std::istreambuf_iterator<char>(file), {}};
}

/* Pages of closed windows that were not freed yet, of that adapter. */
long closing(const pavo::Device &device)
{
	const std::string all = shown("live"),
			  before = device.name() + " closing ";
	size_t at = all.find(before);

	return at == std::string::npos ?
		       -1 :
		       std::stol(all.substr(at + before.size()));
}

bool nobody_at_work(const Window &window)
{
	return eventually([&] { return window.snapshot().value() == 0; });
}

/* ------------------------------------------------------------------ stress */

/*
 * Messages and RDMA writes from the first adapter to whatever is to be hit; both go on
 * when it is no more. Each has a thread.
 */
class Traffic {
public:
	explicit Traffic(Pair &pair)
		: pair_(pair), source_(size),
		  mapping_(
			  pavo::Mapping::open(pair.job_a, source_.all()).value())
	{
		pavo::WindowOptions options = {
			.node = node_a, .gid_index = pair.address_a.index};

		writer_ = std::make_unique<Window>(
			Window::open(pair.job_a, options).value());
		must(writer_->set_node(node_b, pair.address_b.gid));
		must(writer_->take_rcxts({&rcxt_, 1}));
		memset(source_.at(), 0xee, size);
		threads_[0] = std::thread([this] { messages(); });
		threads_[1] = std::thread([this] { writes(); });
	}
	~Traffic()
	{
		over_ = true;
		for (std::thread &thread : threads_)
			thread.join();
	}
	Traffic(const Traffic &) = delete;

	void aim(uint32_t window, uint32_t rcxt, uint64_t pvo)
	{
		std::lock_guard guard(mutex_);

		window_ = window;
		target_rcxt_ = rcxt;
		pvo_ = pvo;
	}

	/* Until so many more of each have been sent. */
	bool more(uint32_t n)
	{
		uint32_t messages = messages_, writes = writes_;

		return eventually([&] {
			return messages_ - messages >= n &&
			       writes_ - writes >= n;
		});
	}

	static constexpr size_t size = 1 << 16;

private:
	void messages()
	{
		auto bytes = pattern(1, 1200);

		while (!over_) {
			uint32_t window = window_;

			if (!pair_.a.send({node_b, window}, bytes).has_value())
				std::this_thread::yield();
			else
				messages_++;
		}
	}

	void writes()
	{
		pavo::RequestFrame request{};

		while (!over_) {
			pavo::FrameState state;
			uint32_t window;
			{
				std::lock_guard guard(mutex_);

				window = window_;
				request.remote_rcxt = target_rcxt_;
				request.remote_pvo = pvo_;
			}
			request.local_rcxt = rcxt_;
			request.local_pvo = mapping_.pvo().value;
			request.length = size;
			request.tid++;
			if (!window ||
			    !writer_->prepare_rdma(pavo::Direction::write,
						   {node_b, window}, request)
				     .has_value() ||
			    !writer_->start().has_value()) {
				std::this_thread::yield();
				continue;
			}
			eventually([&] {
				return writer_->sent({&state, 1}) == 1;
			});
			writes_++;
		}
	}

	Pair &pair_;
	world::Memory source_;
	pavo::Mapping mapping_;
	std::unique_ptr<Window> writer_;
	uint32_t rcxt_ = 0;
	std::mutex mutex_;
	std::atomic<uint32_t> window_ = 0;
	uint32_t target_rcxt_ = 0;
	uint64_t pvo_ = 0;
	std::atomic<uint32_t> messages_ = 0;
	std::atomic<uint32_t> writes_ = 0;
	std::atomic<bool> over_ = false;
	std::thread threads_[2];
};

/* All that a window and its peers may write to here. */
struct SnapshotTarget {
	SnapshotTarget(Pair &pair, Traffic &traffic,
		       const pavo::Mapping &mapping)
	{
		uint32_t rcxt;
		pavo::WindowOptions options = {.send_frames = frames,
					       .recv_frames = frames};

		window = another(pair, options);
		must(window->take_rcxts({&rcxt, 1}));
		traffic.aim(window->number(), rcxt, mapping.pvo().value);
	}

	/* Messages come, and so do bytes to @memory. */
	bool hit(world::Memory &memory)
	{
		bool message = false;

		memset(memory.at(), 0, memory.all().size());
		return eventually([&] {
			message |= window->receive([](const Message &) {}) > 0;
			return message && std::ranges::count(memory.all(),
							     std::byte(0xee));
		});
	}

	std::span<std::byte> fifo(bool send) const
	{
		auto *at = send ? shared_of(*window).send_frame(0) :
				  shared_of(*window).recv_frame(0);

		return {reinterpret_cast<std::byte *>(at),
			frames * size_t(PAVO_FRAME_SIZE)};
	}

	static constexpr uint32_t frames = 64;
	std::unique_ptr<Window> window;
};

std::span<std::byte> frame(const Window &window, uint32_t number)
{
	return {reinterpret_cast<std::byte *>(
			shared_of(window).send_frame(number)),
		PAVO_FRAME_SIZE};
}

/*
 * So many windows, one after the other, to each of which messages come, and RDMA to
 * @memory. @end: ends it and looks at what came of that; both still come.
 */
void under_traffic(
	uint32_t rounds,
	const std::function<void(SnapshotTarget &target, world::Memory &memory,
				 Traffic &traffic, uint32_t round)> &end)
{
	Pair pair;
	world::Memory memory(Traffic::size);
	pavo::Mapping mapping =
		pavo::Mapping::open(pair.job_b, memory.all()).value();
	Traffic traffic(pair);

	for (uint32_t round = 0; round < rounds; round++) {
		SnapshotTarget target(pair, traffic, mapping);

		ASSERT_TRUE(target.hit(memory)) << round;
		end(target, memory, traffic, round);
		if (testing::Test::HasFatalFailure())
			return;
	}
}

/* Of @all rounds an eighth in a plain run, all in a wide one (smp/guest.sh --wide). */
uint32_t rounds_of(uint32_t all)
{
	return getenv("PAVO_WIDE") ? all : all / 8;
}

/* All of it may be used for something else, FIFOs too, while packets still come. */
TEST(Snapshot, AtZeroTheMemoryIsTheProcesss)
{
	if (!world::has_two_cpus())
		GTEST_SKIP() << "its threads do not meet on one CPU";

	under_traffic(rounds_of(400), [](SnapshotTarget &target,
					 world::Memory &memory,
					 Traffic &traffic, uint32_t round) {
		must(target.window->disable());
		ASSERT_TRUE(nobody_at_work(*target.window));
		common::fill(memory.all(), round);
		common::fill(target.fifo(false), round + 1);
		common::fill(target.fifo(true), round + 2);
		ASSERT_TRUE(traffic.more(2));
		ASSERT_TRUE(common::holds(memory.all(), round)) << round;
		ASSERT_TRUE(common::holds(target.fifo(false), round + 1))
			<< round;
		ASSERT_TRUE(common::holds(target.fifo(true), round + 2))
			<< round;
	});
}

/* No window owns its contexts when the call returns, which waits for none. */
TEST(Snapshot, RdmaEndsWithTheCall)
{
	if (!world::has_two_cpus())
		GTEST_SKIP() << "its threads do not meet on one CPU";

	under_traffic(rounds_of(800), [](SnapshotTarget &target,
					 world::Memory &memory,
					 Traffic &traffic, uint32_t round) {
		if (round % 2)
			must(target.window->disable());
		else
			target.window.reset();
		common::fill(memory.all(), round);
		ASSERT_TRUE(traffic.more(1));
		ASSERT_TRUE(common::holds(memory.all(), round)) << round;
	});
}

/* A worker with very many frames before it is let go, and marks none of them later. */
TEST(Snapshot, OfTheOneThatSends)
{
	if (!world::has_two_cpus())
		GTEST_SKIP() << "its threads do not meet on one CPU";

	const uint32_t rounds = rounds_of(100);
	constexpr uint32_t frames = 1024;
	constexpr size_t size = 1 << 18;
	Parameter quantum("window_quantum", frames);
	Pair pair;
	world::Memory here(size), there(size);
	pavo::Mapping mapping_a =
		pavo::Mapping::open(pair.job_a, here.all()).value();
	pavo::Mapping mapping_b =
		pavo::Mapping::open(pair.job_b, there.all()).value();
	pavo::RequestFrame request{};
	uint32_t cut_short = 0;

	must(pair.b.take_rcxts({&request.remote_rcxt, 1}));
	for (uint32_t round = 0; round < rounds; round++) {
		pavo::WindowOptions options = {.node = node_a,
					       .send_frames = frames,
					       .gid_index =
						       pair.address_a.index};
		Window window = Window::open(pair.job_a, options).value();
		auto mark = [&](uint32_t n) {
			return std::atomic_ref(
				       shared_of(window).send_frame(n)->state)
				.load();
		};

		must(window.set_node(node_b, pair.address_b.gid));
		must(window.take_rcxts({&request.local_rcxt, 1}));
		request.tid++;
		request.local_pvo = mapping_a.pvo().value;
		request.remote_pvo = mapping_b.pvo().value;
		request.length = size;
		must(window.prepare_rdma(pavo::Direction::write,
					 {node_b, pair.b.number()}, request));
		for (uint32_t n = 1; n < frames; n++)
			must(window.prepare({node_b, pair.b.number()}, {}));
		std::thread sender([&] { (void)window.start(); });
		EXPECT_TRUE(eventually([&] { return mark(1); }));
		must(window.disable());
		uint32_t first = mark(0);
		cut_short += !mark(frames - 1);
		EXPECT_TRUE(nobody_at_work(window));
		/* The last first: that is what would be marked at last. */
		for (uint32_t n = frames; n--;)
			common::fill(frame(window, n), n);
		sender.join();
		EXPECT_EQ(window.lmt().value().rcxts, 0u);
		EXPECT_EQ(window.lmt().value().send_ready, 0u);
		EXPECT_TRUE(first == PAVO_FRAME_SENT || first == PAVO_FRAME_DEAD)
			<< first;
		for (uint32_t n = 0; n < frames; n++)
			ASSERT_TRUE(common::holds(frame(window, n), n)) << n;
		pair.b.receive([](const Message &) {});
	}
	EXPECT_GT(cut_short, 0u) << "no worker was interrupted";
}

/* ------------------------------------------------------------------- rules */

TEST(Disabled, NothingGoesInOrOut)
{
	Pair pair;
	std::vector<std::byte> bytes = pattern(1, 100);
	uint32_t rcxt;

	EXPECT_EQ(pair.b.snapshot(),
		  pavo::Unexpected(std::errc::invalid_argument))
		<< "it is not";
	must(pair.b.take_rcxts({&rcxt, 1}));
	must(pair.b.disable());
	must(pair.b.disable());
	ASSERT_TRUE(nobody_at_work(pair.b));
	EXPECT_EQ(pair.b.lmt().value().state, pavo::WindowState::disabled);
	EXPECT_EQ(pair.b.lmt().value().rcxts_owned, 0u);
	EXPECT_NE(shown("windows").find(" disabled"), std::string::npos);
	Moved dropped(pair.device_b, "rx_drop_window");
	Moved sent(pair.device_b, "tx_frames");
	must(pair.a.send({node_b, pair.b.number()}, bytes));
	must(pair.b.send({node_a, pair.a.number()}, bytes));
	ASSERT_TRUE(eventually([&] { return dropped.by() == 1; }));
	EXPECT_EQ(sent.by(), 0u);
	EXPECT_EQ(shared_of(pair.b).send_frame(0)->state,
		  uint32_t(PAVO_FRAME_EMPTY));
	EXPECT_FALSE(pair.b.receive([](const Message &) {}));
	EXPECT_EQ(pair.b.take_rcxts({&rcxt, 1}).error_or({}).number(),
		  ESHUTDOWN);
	EXPECT_EQ(pair.b.return_rcxts({&rcxt, 1}),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(pair.b.cancel({&rcxt, 1}),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(pair.b.snapshot().value(), 0u);
	/* Others go on. */
	auto other = another(pair);
	must(pair.a.send({node_b, other->number()}, bytes));
	EXPECT_TRUE(eventually(
		[&] { return other->receive([](const Message &) {}) == 1; }));
}

TEST(Closed, NobodyIsWaitedFor)
{
	Pair pair;

	/* Memory that waits for the end of others' work has been left behind. */
	EXPECT_TRUE(eventually([&] {
		another(pair).reset();
		return closing(pair.device_b) > 0;
	}));
	EXPECT_TRUE(eventually([&] { return closing(pair.device_b) == 0; }));
}

/* A process that opens waits before it is too much. */
TEST(Closed, NotAllMemoryWaits)
{
	constexpr long most = (64 << 20) / 4096, each = 2 * 4096 * 2048 / 4096;
	Pair pair;
	long worst = 0;
	pavo::WindowOptions options = {.send_frames = 4096,
				       .recv_frames = 4096};

	for (int n = 0; n < 40; n++) {
		another(pair, options).reset();
		worst = std::max(worst, closing(pair.device_b));
	}
	EXPECT_GT(worst, 0);
	EXPECT_LE(worst, most + each);
}

/* The number of a job is free when its windows are closed. */
TEST(Closed, TheJobEnds)
{
	pavo::Device device = world::adapter();

	for (int n = 0; n < 50; n++) {
		pavo::Job job = pavo::Job::reserve(device, world::job_id + 1,
						   world::job_key + n)
					.value();
		Window window = Window::open(job).value();

		EXPECT_EQ(window.lmt().value().job, world::job_id + 1);
	}
}

TEST(Live, ShowsWhoIsAtWork)
{
	if (!world::has_two_cpus())
		GTEST_SKIP() << "its threads do not meet on one CPU";

	Pair pair;
	world::Memory memory(Traffic::size);
	pavo::Mapping mapping =
		pavo::Mapping::open(pair.job_b, memory.all()).value();
	Traffic traffic(pair);
	SnapshotTarget target(pair, traffic, mapping);
	const std::string number = std::to_string(target.window->number());
	bool sends = false, receives = false;

	EXPECT_TRUE(eventually([&] {
		const std::string all = shown("live");

		target.window->receive([](const Message &) {});
		sends |= all.find("sends window ") != std::string::npos;
		receives |= all.find("receives window " + number + "\n") !=
			    std::string::npos;
		return sends && receives;
	})) << sends
	    << receives;
}

TEST(Broadcast, IsAllowedByAFlag)
{
	Pair pair;

	EXPECT_EQ(pair.b.lmt().value().flags, 0u);
	EXPECT_EQ(shown("windows").find("broadcast"), std::string::npos);
	pavo::WindowOptions options = {.broadcast = true};
	auto window = another(pair, options);
	EXPECT_EQ(window->lmt().value().flags, uint32_t(PAVO_WINDOW_BROADCAST));
	EXPECT_NE(shown("windows").find(" broadcast"), std::string::npos);
}

TEST(Broadcast, FlagsThatAreNone)
{
	Pair pair;

	for (uint32_t flags : {2u, 3u, 1u << 31, ~0u}) {
		pavo::Command command(PAVO_OBJECT_WINDOW,
				      PAVO_METHOD_WINDOW_OPEN);
		pavo_window_args args = {.send_frames = 16,
					 .recv_frames = 16,
					 .nodes = 1,
					 .node = 0,
					 .sgid_index = 0,
					 .recv_event = -1,
					 .send_event = -1,
					 .flags = flags};
		pavo_window_resp resp{};

		EXPECT_EQ(command.new_handle(PAVO_ATTR_WINDOW_HANDLE)
				  .handle(PAVO_ATTR_WINDOW_JOB,
					  pair.job_b.handle())
				  .in(PAVO_ATTR_WINDOW_ARGS, args)
				  .out(PAVO_ATTR_WINDOW_RESP, resp)
				  .run(pair.job_b.fd()),
			  EINVAL)
			<< flags;
	}
}

} // namespace
