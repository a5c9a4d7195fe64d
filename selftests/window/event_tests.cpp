// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * event_tests.cpp - handlers that are notified of a window's events, and when
 * (sources.md#windows-interrupt).
 */
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <pavo/handler.hpp>

#include "adapter.h"
#include "command.hpp"
#include "shared_window.hpp"

using namespace windows;
using pavo::Handler;
using pavo::Message;

namespace {

using Bytes = std::vector<std::byte>;

/* Handlers of window b, and an epoll set of their files. */
struct Handlers : testing::Test {
	Handlers() : set(epoll_create1(EPOLL_CLOEXEC)) {}
	~Handlers() override { close(set); }

	Handler &add()
	{
		epoll_event event{};

		all.push_back(std::make_unique<Handler>(
			Handler::open(pair.b).value()));
		event.events = EPOLLIN;
		event.data.u32 = uint32_t(all.size() - 1);
		EXPECT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, all.back()->fd(),
				    &event),
			  0);
		return *all.back();
	}

	/* @n messages come; empty ones. */
	void send(uint32_t n)
	{
		for (uint32_t i = 0; i < n; i++)
			must(pair.a.send({node_b, pair.b.number()}, {}));
		uint32_t came = 0;
		ASSERT_TRUE(eventually([&] {
			came += pair.b.receive([](const Message &) {});
			return came == n;
		})) << came;
	}

	/* An event, which a handler has now or the window remembers. */
	void raise()
	{
		Moved events(pair.device_b, "window_events");

		must(pair.b.recv_threshold(1));
		send(1);
		ASSERT_TRUE(eventually([&] { return events.by() == 1; }));
	}

	/* The handler that was given an event: its place in @all; -1: none within @ms. */
	int given(int ms = 0)
	{
		std::array<epoll_event, PAVO_HANDLERS> events{};
		int n = epoll_wait(set, events.data(), int(events.size()), ms);

		EXPECT_LE(n, 1) << "an event is for one";
		if (n < 1)
			return -1;
		EXPECT_TRUE(all[events[0].data.u32]->take());
		return int(events[0].data.u32);
	}

	Pair pair;
	std::vector<std::unique_ptr<Handler>> all;
	int set;
};

TEST_F(Handlers, EventsGoRoundRobin)
{
	for (int n = 0; n < 3; n++)
		must(add().ready());
	for (int round = 0; round < 12; round++) {
		raise();
		int who = given(long_enough);
		ASSERT_EQ(who, round % 3);
		EXPECT_FALSE(all[who]->take()) << "once";
		must(all[who]->ready());
	}
	EXPECT_EQ(given(), -1);
}

TEST_F(Handlers, WhoIsNotReadyGetsNone)
{
	for (int n = 0; n < 3; n++)
		add();
	must(all[1]->ready());
	EXPECT_EQ(pair.b.lmt().value().handlers, 7u);
	EXPECT_EQ(pair.b.lmt().value().handlers_ready, 2u);
	raise();
	EXPECT_EQ(given(long_enough), 1);
	EXPECT_EQ(pair.b.lmt().value().handlers_ready, 0u);
	EXPECT_EQ(pair.b.lmt().value().event_kept, 0u);
	/* No handler said that it is ready again. */
	for (int n = 0; n < 5; n++)
		raise();
	EXPECT_EQ(given(), -1);
	EXPECT_EQ(pair.b.lmt().value().event_kept, 1u);
	/* All five are one, which the first ready handler gets. */
	must(all[2]->ready());
	EXPECT_EQ(given(), 2);
	EXPECT_EQ(pair.b.lmt().value().event_kept, 0u);
	must(all[0]->ready());
	must(all[0]->ready());
	EXPECT_EQ(given(), -1);
	raise();
	EXPECT_EQ(given(long_enough), 0);
	EXPECT_EQ(given(), -1);
}

/* The window cannot know whether the handler dealt with it. */
TEST_F(Handlers, WhoGoesLeavesItsEventToOthers)
{
	auto one = std::make_unique<Handler>(Handler::open(pair.b).value());

	must(one->ready());
	raise();
	one.reset();
	EXPECT_EQ(pair.b.lmt().value().event_kept, 1u);
	must(add().ready());
	EXPECT_EQ(given(), 0);
	/* One that dealt with its own leaves nothing; nor one that had none. */
	must(all[0]->ready());
	one = std::make_unique<Handler>(Handler::open(pair.b).value());
	one.reset();
	one = std::make_unique<Handler>(Handler::open(pair.b).value());
	must(one->ready());
	raise();
	raise();
	EXPECT_EQ(given(long_enough), 0);
	EXPECT_TRUE(one->take());
	must(one->ready());
	one.reset();
	EXPECT_EQ(pair.b.lmt().value().event_kept, 0u);
	must(all[0]->ready());
	EXPECT_EQ(given(), -1);
	/* And to one that is ready it goes at once. */
	raise();
	EXPECT_EQ(given(long_enough), 0);
	one = std::make_unique<Handler>(Handler::open(pair.b).value());
	must(one->ready());
	raise();
	must(all[0]->ready());
	EXPECT_EQ(given(), -1);
	one.reset();
	EXPECT_EQ(given(), 0);
	EXPECT_EQ(pair.b.lmt().value().event_kept, 0u);
}

/* That of the window's beginning is notified of all of them. */
TEST_F(Handlers, TheWindowsOwnEventfdIsAlwaysReady)
{
	pavo::WindowOptions options = {
		.recv_event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
	auto window = another(pair, options);
	Handler handler = Handler::open(*window).value();
	Moved events(pair.device_b, "window_events");
	uint64_t n = 0;

	must(handler.ready());
	for (uint64_t round = 1; round <= 3; round++) {
		must(window->recv_threshold(1));
		must(pair.a.send({node_b, window->number()}, {}));
		ASSERT_TRUE(eventually([&] { return events.by() == round; }));
	}
	EXPECT_EQ(read(options.recv_event, &n, sizeof(n)), ssize_t(sizeof(n)));
	EXPECT_EQ(n, 3u);
	EXPECT_TRUE(handler.take());
	EXPECT_EQ(window->lmt().value().event_kept, 1u);
	close(options.recv_event);
}

TEST_F(Handlers, ThresholdsCanBeTurnedOff)
{
	Moved events(pair.device_b, "window_events");

	must(add().ready());
	for (uint32_t off : {0u, 1u << 31, ~0u - 1, ~0u}) {
		must(pair.b.recv_threshold(1));
		must(pair.b.recv_threshold(off));
		send(2);
		must(pair.b.recv_threshold_early(1));
		must(pair.b.recv_threshold_early(off));
		send(2);
		EXPECT_EQ(pair.b.lmt().value().recv_threshold, 0u);
		EXPECT_EQ(pair.b.lmt().value().recv_early, 0u);
	}
	raise();
	EXPECT_EQ(events.by(), 1u);
	EXPECT_EQ(given(), 0);
	/* The most that is one. */
	constexpr uint32_t most = ~0u >> 1;
	must(pair.b.recv_threshold(most));
	EXPECT_EQ(pair.b.lmt().value().recv_threshold, most);
	must(pair.b.recv_threshold_early(most));
	EXPECT_EQ(pair.b.lmt().value().recv_early, most);
	must(pair.b.send_threshold(most));
	EXPECT_EQ(pair.b.lmt().value().send_threshold, most);
	must(pair.b.send_threshold(most + 1));
	EXPECT_EQ(pair.b.lmt().value().send_threshold, 0u);
}

/* ------------------------------------------------------------------- early */

TEST_F(Handlers, EarlyEventsCountSlots)
{
	Moved events(pair.device_b, "window_events");

	must(add().ready());
	must(pair.b.recv_threshold(1));
	must(pair.b.recv_threshold_early(3));
	EXPECT_EQ(pair.b.lmt().value().recv_threshold, 0u)
		<< "in place of the other";
	send(2);
	EXPECT_EQ(pair.b.lmt().value().recv_early, 1u);
	send(1);
	EXPECT_EQ(given(long_enough), 0);
	must(all[0]->ready());
	send(5);
	EXPECT_EQ(pair.b.lmt().value().recv_early, 0u);
	must(pair.b.recv_threshold_early(1));
	must(pair.b.recv_threshold(2));
	EXPECT_EQ(pair.b.lmt().value().recv_early, 0u)
		<< "in place of the other";
	send(1);
	EXPECT_EQ(pair.b.lmt().value().recv_threshold, 1u);
	EXPECT_EQ(events.by(), 1u);
	send(1);
	EXPECT_EQ(given(long_enough), 0);
}

/*
 * The kernel's own account of its acts, in order. Wakings are traced since the guest began
 * (run.sh) and stay so: to begin and end that the kernel patches its scheduler, and CPUs
 * that are emulated in parallel have been seen to stop there for good.
 */
class Trace {
public:
	explicit Trace(pid_t thread)
	{
		write("trace", "\n");
		write("events/sched/sched_waking/filter",
		      "pid == " + std::to_string(thread));
		write("events/sched/sched_waking/enable", "1");
		write("events/pavo/pavo_count/enable", "1");
		write("tracing_on", "1");
	}
	~Trace()
	{
		write("tracing_on", "0");
		write("events/pavo/pavo_count/enable", "0");
		write("events/sched/sched_waking/filter", "0");
		write("trace", "\n");
	}

	/* On which line @text is said first; -1: on none. */
	int line(const std::string &text) const
	{
		std::ifstream file(directory + "trace");
		std::string line;

		for (int n = 0; std::getline(file, line); n++)
			if (line.find(text) != std::string::npos)
				return n;
		return -1;
	}

private:
	static void write(const std::string &name, const std::string &text)
	{
		std::ofstream(directory + name) << text << std::flush;
	}

	static inline const std::string directory = "/sys/kernel/tracing/";
};

bool sleeps(pid_t thread)
{
	std::ifstream file("/proc/self/task/" + std::to_string(thread) +
			   "/stat");
	std::string line;

	std::getline(file, line);
	size_t name = line.rfind(')');
	return name != std::string::npos && line[name + 2] == 'S';
}

/* The waiting thread is woken, then the frame is complete and counted; or after. */
TEST_F(Handlers, EarlyEventsComeBeforeTheFrame)
{
	must(add().ready());
	for (bool early : {true, false}) {
		std::atomic<pid_t> id = 0;
		int who = -1;
		std::thread waiter([&] {
			id = gettid();
			who = given(long_enough);
		});
		ASSERT_TRUE(eventually([&] { return id && sleeps(id); }));
		must(early ? pair.b.recv_threshold_early(1) :
			     pair.b.recv_threshold(1));
		Trace trace(id);
		Bytes bytes = pattern(1, 1000);
		bool same = false;
		must(pair.a.send({node_b, pair.b.number()}, bytes));
		waiter.join();
		EXPECT_EQ(who, 0);
		ASSERT_TRUE(eventually([&] {
			return pair.b.receive([&](const Message &message) {
				same = std::ranges::equal(message.payload,
							  bytes);
			});
		}));
		EXPECT_TRUE(same);
		const std::string counted = pair.device_b.name() + " rx_frames";
		ASSERT_TRUE(
			eventually([&] { return trace.line(counted) >= 0; }));
		int woken = trace.line("sched_waking");
		ASSERT_GE(woken, 0);
		EXPECT_EQ(woken < trace.line(counted), early);
		must(all[0]->ready());
	}
}

/* An end of RDMA is a frame like others. */
TEST_F(Handlers, EarlyEventsOfRdma)
{
	world::Memory memory(100000);
	pavo::Mapping mapping_a =
		pavo::Mapping::open(pair.job_a, memory.part(0, 50000)).value();
	pavo::Mapping mapping_b =
		pavo::Mapping::open(pair.job_b, memory.part(50000, 50000))
			.value();
	uint32_t rcxt_a, rcxt_b;
	pavo::RequestFrame request{};

	must(add().ready());
	must(pair.a.take_rcxts({&rcxt_a, 1}));
	must(pair.b.take_rcxts({&rcxt_b, 1}));
	memset(memory.at(), 0x5a, 50000);
	for (uint64_t tid = 1; tid <= 20; tid++) {
		memset(memory.at() + 50000, 0, 50000);
		request.local_rcxt = rcxt_a;
		request.remote_rcxt = rcxt_b;
		request.tid = tid;
		request.local_pvo = mapping_a.pvo().value;
		request.remote_pvo = mapping_b.pvo().value;
		request.length = 50000;
		request.flags = pavo::rdma_flag::notify_target;
		must(pair.b.recv_threshold_early(1));
		must(pair.a.prepare_rdma(pavo::Direction::write,
					 {node_b, pair.b.number()}, request));
		must(pair.a.start());
		ASSERT_EQ(given(long_enough), 0);
		ASSERT_TRUE(eventually([&] {
			return pair.b.receive([&](const Message &message) {
				EXPECT_EQ(message.done().tid, tid);
			});
		}));
		EXPECT_TRUE(std::ranges::equal(memory.part(0, 50000),
					       memory.part(50000, 50000)));
		must(all[0]->ready());
	}
}

/* ----------------------------------------------------------------- hostile */

int add_handler(const pavo::Window &window, int32_t fd)
{
	uint32_t number = 0;

	return pavo::Command(PAVO_OBJECT_WINDOW_MORE,
			     PAVO_METHOD_WINDOW_ADD_HANDLER)
		.handle(PAVO_ATTR_WINDOW_HANDLE, shared_of(window).handle())
		.in(PAVO_ATTR_WINDOW_EVENT, fd)
		.out(PAVO_ATTR_WINDOW_HANDLER_MADE, number)
		.run(shared_of(window).fd());
}

int remove_handler(const pavo::Window &window, uint32_t number)
{
	return pavo::Command(PAVO_OBJECT_WINDOW_MORE,
			     PAVO_METHOD_WINDOW_REMOVE_HANDLER)
		.handle(PAVO_ATTR_WINDOW_HANDLE, shared_of(window).handle())
		.in(PAVO_ATTR_WINDOW_HANDLER, number)
		.run(shared_of(window).fd());
}

TEST_F(Handlers, NumbersAndFilesThatAreNone)
{
	Moved bad(pair.device_b, "window_bad_commands");
	uint64_t refused = 0;

	EXPECT_EQ(add_handler(pair.b, -1), EBADF);
	EXPECT_EQ(add_handler(pair.b, 1000), EBADF);
	EXPECT_EQ(add_handler(pair.b, STDOUT_FILENO), EINVAL);
	EXPECT_EQ(add_handler(pair.b, shared_of(pair.b).fd()), EINVAL);
	add();
	for (uint32_t number : {1u, 15u, 16u, 17u, 64u, 1u << 31, ~0u}) {
		pavo_command_page *page = shared_of(pair.b).commands();

		EXPECT_EQ(remove_handler(pair.b, number), EINVAL) << number;
		page->ring[page->producer % PAVO_WCMD_RING] =
			uint64_t(PAVO_WCMD_HANDLER_READY)
				<< PAVO_WCMD_OP_SHIFT |
			number;
		std::atomic_ref(page->producer).fetch_add(1);
		must(shared_of(pair.b).kick());
		EXPECT_EQ(bad.by(), ++refused) << number;
	}
	EXPECT_EQ(pair.b.lmt().value().handlers, 1u);
	EXPECT_EQ(pair.b.lmt().value().handlers_ready, 0u);
	EXPECT_EQ(remove_handler(pair.b, 0), 0);
	EXPECT_EQ(remove_handler(pair.b, 0), EINVAL) << "twice";
	must(pair.b.recv_threshold(1));
	send(1);
	EXPECT_EQ(given(), -1);
}

TEST_F(Handlers, NoMoreThanSixteen)
{
	for (uint32_t n = 0; n < PAVO_HANDLERS; n++)
		EXPECT_EQ(add().number(), n);
	EXPECT_EQ(world::refusal([&] {
			  Handler more = Handler::open(pair.b).value();
		  }),
		  ENOSPC);
	all[7].reset();
	all[7] = std::make_unique<Handler>(Handler::open(pair.b).value());
	EXPECT_EQ(all[7]->number(), 7u);
	EXPECT_EQ(world::refusal([&] {
			  Handler more = Handler::open(pair.b).value();
		  }),
		  ENOSPC);
	for (auto &handler : all)
		must(handler->ready());
	EXPECT_EQ(pair.b.lmt().value().handlers_ready, 0xffffu);
}

/* A handler whose eventfd the process closed, and one whose window went first. */
TEST_F(Handlers, OutliveNothing)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	EXPECT_EQ(add_handler(pair.b, fd), 0);
	close(fd);
	must(add().ready());
	raise();
	EXPECT_EQ(given(long_enough), 0);
	auto window = another(pair);
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	EXPECT_EQ(add_handler(*window, fd), 0);
	window.reset();
	close(fd);
}

/* -------------------------------------------------------------------- load */

/* Threads with a handler each share what comes to a window. */
class Crew {
public:
	Crew(pavo::Window &window, bool early, uint32_t count)
		: window_(window), early_(early), seen_(count),
		  stop_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
	{
		arm();
	}
	~Crew() { close(stop_); }

	uint32_t taken() const { return taken_; }
	bool over() const { return over_; }
	size_t once() const
	{
		return size_t(std::count(seen_.begin(), seen_.end(), 1u));
	}

	/* Return: how many events it was given. */
	uint32_t work()
	{
		Handler handler = Handler::open(window_).value();
		uint32_t events = 0;

		for (ready(handler); wait(handler); ready(handler)) {
			std::lock_guard guard(mutex_);

			events++;
			/* It is under way. */
			for (int n = 0; !look() && early_ && n < 100; n++)
				;
			/* Messages that came before it asked raise none. */
			arm();
			look();
		}
		return events;
	}

	/* One that never looks, and goes when it likes. */
	void loiter()
	{
		while (!over_) {
			Handler handler = Handler::open(window_).value();

			ready(handler);
			std::this_thread::yield();
		}
	}

private:
	void ready(Handler &handler)
	{
		std::lock_guard guard(mutex_);

		must(handler.ready());
	}

	void arm()
	{
		must(early_ ? window_.recv_threshold_early(1) :
			      window_.recv_threshold(1));
	}

	bool wait(Handler &handler)
	{
		std::array<pollfd, 2> files = {
			{{handler.fd(), POLLIN, 0}, {stop_, POLLIN, 0}}};

		do {
			if (poll(files.data(), files.size(), long_enough) < 1) {
				ADD_FAILURE()
					<< "no handler is notified of more";
				end();
			}
		} while (!over_ && !handler.take());
		return !over_;
	}

	void end()
	{
		uint64_t one = 1;

		over_ = true;
		EXPECT_EQ(write(stop_, &one, sizeof(one)),
			  ssize_t(sizeof(one)));
	}

	size_t look()
	{
		size_t n = window_.receive([&](const Message &message) {
			uint32_t number;

			ASSERT_GE(message.payload.size(), sizeof(number));
			memcpy(&number, message.payload.data(), sizeof(number));
			ASSERT_LT(number, seen_.size());
			Bytes expected = pattern(number, 8 + number % 900);
			memcpy(expected.data(), &number, sizeof(number));
			ASSERT_TRUE(
				std::ranges::equal(message.payload, expected));
			seen_[number]++;
		});

		taken_ += uint32_t(n);
		if (n && taken_ == seen_.size())
			end();
		return n;
	}

	std::mutex mutex_;
	pavo::Window &window_;
	const bool early_;
	std::vector<uint32_t> seen_;
	std::atomic<uint32_t> taken_ = 0;
	std::atomic<bool> over_ = false;
	int stop_;
};

struct Load : testing::TestWithParam<bool> {};

TEST_P(Load, NoMessageIsLeftLying)
{
	constexpr uint32_t senders = 2, each = 6000, workers = 4;
	Pair pair(false, 1024);
	std::vector<std::unique_ptr<pavo::Window>> windows;
	std::array<uint32_t, workers> events{};
	std::vector<std::thread> threads;
	Crew crew(pair.a, GetParam(), senders * each);

	for (uint32_t t = 0; t < workers; t++)
		threads.emplace_back([&, t] { events[t] = crew.work(); });
	threads.emplace_back([&] { crew.loiter(); });
	for (uint32_t t = 0; t < senders; t++)
		windows.push_back(another(pair));
	for (uint32_t t = 0; t < senders; t++)
		threads.emplace_back([&, t] {
			for (uint32_t n = 0; n < each && !crew.over(); n++) {
				uint32_t number = t * each + n;
				Bytes bytes = pattern(number, 8 + number % 900);

				memcpy(bytes.data(), &number, sizeof(number));
				/* Now and then all must have been taken. */
				while (!crew.over() &&
				       n * senders >= crew.taken() + 300)
					std::this_thread::yield();
				while (!windows[t]
						->send({node_a,
							pair.a.number()},
						       bytes)
						.has_value())
					std::this_thread::yield();
			}
		});
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(crew.taken(), senders * each);
	EXPECT_EQ(crew.once(), senders * each) << "each once";
	for (uint32_t n : events)
		EXPECT_GT(n, 0u) << "all were served";
}

INSTANTIATE_TEST_SUITE_P(Events, Load, testing::Values(false, true),
			 [](const auto &info) {
				 return info.param ? "early" : "usual";
			 });

} // namespace
