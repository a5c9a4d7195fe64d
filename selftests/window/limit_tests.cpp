// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * limit_tests.cpp - opening and closing: what is refused, what comes back, and that
 * nothing touches a window's memory after its end.
 */
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "adapter.h"

using namespace windows;
using namespace world;
using pavo::Job;
using pavo::Message;
using pavo::Window;
using pavo::WindowOptions;

namespace {

struct WindowTest : testing::Test {
	pavo::Device a = adapter();
	Job job = Job::reserve(a, job_id, job_key).value();

	int refusal_of(const WindowOptions &options)
	{
		return refusal(
			[&] { (void)Window::open(job, options).value(); });
	}
};

/* Windows that the privileged see. */
size_t listed()
{
	return common::lines_of("/sys/kernel/debug/pavo/windows").size();
}

/* Of a module that was loaded without any. */
TEST_F(WindowTest, ParametersAreTheUsual)
{
	EXPECT_EQ(parameter("window_workers"), 4u);
	EXPECT_EQ(parameter("window_quantum"), 16u);
	EXPECT_EQ(parameter("max_windows"), 16384u);
	EXPECT_EQ(parameter("max_rcxts"), 100'000u);
	EXPECT_EQ(parameter("share_per_user"), 25u);
}

TEST_F(WindowTest, ItsTableSaysWhatItIs)
{
	WindowOptions options = {.send_frames = 32, .recv_frames = 64};
	Window window = Window::open(job, options).value();
	pavo::Lmt lmt = window.lmt().value();

	EXPECT_EQ(lmt.state, pavo::WindowState::valid);
	EXPECT_EQ(lmt.window, window.number());
	EXPECT_GT(lmt.window, 0u);
	EXPECT_EQ(lmt.job, job_id);
	EXPECT_EQ(lmt.send_frames, 32u);
	EXPECT_EQ(lmt.recv_frames, 64u);
	EXPECT_EQ(lmt.recv_free, 64u);
	EXPECT_EQ(lmt.send_ready, 0u);
	EXPECT_EQ(lmt.recv_threshold, 0u);
	EXPECT_EQ(lmt.quantum, parameter("window_quantum"));
}

TEST_F(WindowTest, RefusesWhatCannotBe)
{
	for (uint32_t frames : {0u, 8u, 17u, 65536u}) {
		WindowOptions options = {.send_frames = frames};
		EXPECT_EQ(refusal_of(options), EINVAL) << frames;
		options = {};
		options.recv_frames = frames;
		EXPECT_EQ(refusal_of(options), EINVAL) << frames;
	}
	WindowOptions options = {.nodes = 0};
	EXPECT_EQ(refusal_of(options), EINVAL);
	options.nodes = 65537;
	EXPECT_EQ(refusal_of(options), EINVAL);
	options = {};
	options.recv_event = 1000;
	EXPECT_EQ(refusal_of(options), EBADF);
	options.recv_event = STDOUT_FILENO;
	EXPECT_EQ(refusal_of(options), EINVAL) << "no eventfd";
	EXPECT_EQ(listed(), 0u);
}

TEST_F(WindowTest, AddressesThatAreNone)
{
	WindowOptions options = {.gid_index = address_of(a).index};
	Window window = Window::open(job, options).value();
	pavo::Gid none{};

	EXPECT_EQ(window.set_node(64, address_of(a).gid),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(window.set_node(0, none),
		  pavo::Unexpected(std::errc::invalid_argument));
	must(window.set_node(63, address_of(a).gid));
	must(window.set_node(63, address_of(a).gid));
}

TEST_F(WindowTest, ItsMemoryCountsAsLocked)
{
	/* 64 and 256 frames of 2 KiB are 160 pages. */
	Process small([](Process &) {
		become_user(159 * page);
		pavo::Device own = adapter();
		Job of_user = Job::reserve(own, job_id + 1, job_key).value();

		return refusal([&] {
			       (void)Window::open(of_user, {}).value();
		       }) == ENOMEM;
	});
	EXPECT_TRUE(small.good());
	Process enough([](Process &) {
		become_user(160 * page);
		pavo::Device own = adapter();
		Job of_user = Job::reserve(own, job_id + 1, job_key).value();

		for (int n = 0; n < 3; n++)
			if (refusal([&] {
				    (void)Window::open(of_user, {}).value();
			    }))
				return false;
		Window window = Window::open(of_user, {}).value();
		return refusal([&] {
			       (void)Window::open(of_user, {}).value();
		       }) == ENOMEM;
	});
	EXPECT_TRUE(enough.good());
}

TEST_F(WindowTest, EndsWithItsProcess)
{
	Process child([](Process &self) {
		pavo::Device own = adapter();
		Job member = Job::join(own, job_id, job_key).value();
		Window one = Window::open(member, {}).value(),
		       two = Window::open(member, {}).value();

		self.meet();
		self.meet();
		return true;
	});

	child.meet();
	EXPECT_EQ(listed(), 2u);
	child.kill();
	EXPECT_TRUE(eventually([] { return !listed(); }));
}

/* The job is there as long as a window of it is. */
TEST_F(WindowTest, KeepsItsJob)
{
	auto own = std::make_unique<Job>(
		Job::reserve(a, job_id + 1, job_key).value());
	Window window = Window::open(*own, {}).value();

	own.reset();
	EXPECT_EQ(window.lmt().value().job, job_id + 1);
	EXPECT_EQ(
		refusal([&] { Job::reserve(a, job_id + 1, job_key).value(); }),
		EEXIST);
}

TEST(Closing, UnderTraffic)
{
	constexpr int rounds = 200;
	Pair pair;
	std::atomic<uint32_t> target = 0;
	std::atomic<bool> over = false;
	Moved frames(pair.device_b, "rx_frames");
	std::thread sender([&] {
		std::vector<std::byte> bytes = pattern(1, 1200);

		while (!over)
			if (!pair.a.send({node_b, target}, bytes).has_value())
				std::this_thread::yield();
	});

	for (int n = 0; n < rounds; n++) {
		WindowOptions options = {.recv_frames = 64};
		std::unique_ptr<Window> window = another(pair, options);

		target = window->number();
		EXPECT_TRUE(eventually([&] {
			return window->receive([](const Message &) {}) > 0;
		}));
		/* Its memory is someone else's right after that. */
		window.reset();
	}
	over = true;
	sender.join();
	EXPECT_GE(frames.by(), uint64_t(rounds));
}

/* Of each pool, jobs among them, a user has one then. */
TEST_F(WindowTest, AUserHasAShareOfThem)
{
	Parameter share("share_per_user", 0);
	const auto has_one = [](Process &process, uint32_t number) {
		become_user(1 << 22, 5000 + number);
		pavo::Device own = adapter();
		Job its = Job::reserve(own, job_id + number, job_key).value();
		const auto no_more = [&] {
			return refusal([&] {
				       (void)Window::open(its).value();
			       }) == EDQUOT;
		};
		auto window =
			std::make_unique<Window>(Window::open(its).value());
		bool good = no_more();

		process.meet();
		process.meet();
		window.reset();
		window = std::make_unique<Window>(Window::open(its).value());
		return good && no_more();
	};
	Process one([&](Process &process) { return has_one(process, 1); }),
		another([&](Process &process) { return has_one(process, 2); });
	std::vector<Window> of_root;

	one.meet();
	another.meet();
	for (int n = 0; n < 3; n++)
		of_root.push_back(Window::open(job).value());
	one.meet();
	another.meet();
	EXPECT_TRUE(one.good());
	EXPECT_TRUE(another.good());
}

/* With the module's parameter max_windows=3. */
TEST_F(WindowTest, TheAdapterHasThree)
{
	ASSERT_EQ(parameter("max_windows"), 3u);
	auto one = std::make_unique<Window>(Window::open(job).value()),
	     two = std::make_unique<Window>(Window::open(job).value());
	Window three = Window::open(job).value();

	EXPECT_EQ(refusal_of({}), ENOSPC);
	two.reset();
	EXPECT_EQ(refusal_of({}), 0);
	EXPECT_EQ(listed(), 2u);
}

} // namespace
