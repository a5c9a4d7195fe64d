// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * end_tests.cpp - the end of a window wakes all that sleep on it: it is dead, disabled or
 * closed, or its adapter or interface is taken away, under traffic.
 */
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <pavo/handler.hpp>

#include "second_wire.h"
#include "shared_window.hpp"

using namespace windows;
using pavo::Handler;
using pavo::Message;
using pavo::Window;

namespace {

struct Event {
	Event() : fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
	~Event() { close(fd); }
	Event(const Event &) = delete;

	/* It was raised, or will be. */
	bool raised() const
	{
		pollfd file = {fd, POLLIN, 0};
		uint64_t n;

		return poll(&file, 1, long_enough) == 1 &&
		       read(fd, &n, sizeof(n)) == sizeof(n);
	}
	bool silent() const
	{
		pollfd file = {fd, POLLIN, 0};

		return !poll(&file, 1, 0);
	}

	int fd;
};

/* Threads that take what comes to a window and sleep between, as in pavo_handler(3). */
class Sleepers {
public:
	explicit Sleepers(Window &window) : window_(window)
	{
		for (std::thread &thread : threads_)
			thread = std::thread([this] { serve(); });
	}
	~Sleepers() { join(); }
	Sleepers(const Sleepers &) = delete;

	/* All have said that they are ready, and look at nothing before they are woken. */
	bool asleep() const
	{
		return eventually([&] {
			return window_.lmt().value().handlers_ready ==
			       (1u << many) - 1;
		});
	}

	/* Return: how many were woken and saw that it was the end. */
	uint32_t join()
	{
		for (std::thread &thread : threads_)
			if (thread.joinable())
				thread.join();
		return ended_;
	}

	static constexpr uint32_t many = 4;

private:
	void look()
	{
		window_.receive([](const Message &) {});
	}

	bool ask_for_next(Handler &handler)
	{
		std::lock_guard guard(mutex_);

		look();
		if (!window_.recv_threshold(1).has_value())
			return false;
		look();
		return handler.ready().has_value() &&
		       window_.lmt().value_or({}).state ==
			       pavo::WindowState::valid;
	}

	void serve()
	{
		Handler handler = Handler::open(window_).value();
		int set = epoll_create1(EPOLL_CLOEXEC);
		epoll_event event = {.events = EPOLLIN};

		EXPECT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, handler.fd(), &event),
			  0);
		while (ask_for_next(handler)) {
			int n;

			/* A command of the shell may end meanwhile. */
			do {
				n = epoll_wait(set, &event, 1, long_enough);
			} while (n < 0 && errno == EINTR);
			if (n != 1) {
				ADD_FAILURE() << "asleep for ever";
				close(set);
				return;
			}
			handler.take();
		}
		ended_++;
		close(set);
	}

	Window &window_;
	std::mutex mutex_;
	std::atomic<uint32_t> ended_ = 0;
	std::thread threads_[many];
};

/* A write from memory that is none. */
void kill(Window &window, uint16_t node, uint32_t to)
{
	pavo::RequestFrame request{};

	must(window.take_rcxts({&request.local_rcxt, 1}));
	request.tid = 1;
	request.local_pvo = uint64_t(1) << 60;
	request.length = 100;
	must(window.prepare_rdma(pavo::Direction::write, {node, to}, request));
	must(window.start());
}

/* A window of b, and all that may wait for it. */
struct End : testing::Test {
	End()
	{
		pavo::WindowOptions options = {.recv_event = recv.fd,
					       .send_event = send.fd};

		window = another(pair, options);
	}

	Pair pair;
	Event recv, send;
	std::unique_ptr<Window> window;
};

TEST_F(End, ByDeathWakesAll)
{
	Sleepers sleepers(*window);

	ASSERT_TRUE(sleepers.asleep());
	EXPECT_TRUE(recv.silent());
	EXPECT_TRUE(send.silent());
	kill(*window, node_a, pair.a.number());
	EXPECT_TRUE(recv.raised());
	EXPECT_TRUE(send.raised());
	EXPECT_EQ(sleepers.join(), Sleepers::many);
	EXPECT_EQ(window->lmt().value().state, pavo::WindowState::dead);
}

TEST_F(End, ByDisablingWakesAll)
{
	Sleepers sleepers(*window);

	ASSERT_TRUE(sleepers.asleep());
	EXPECT_TRUE(recv.silent());
	EXPECT_TRUE(send.silent());
	must(window->disable());
	EXPECT_TRUE(recv.raised());
	EXPECT_TRUE(send.raised());
	EXPECT_EQ(sleepers.join(), Sleepers::many);
	/* Once is enough. */
	must(window->disable());
	EXPECT_TRUE(recv.silent());
}

TEST_F(End, ByClosingWakesAll)
{
	EXPECT_TRUE(recv.silent());
	EXPECT_TRUE(send.silent());
	window.reset();
	EXPECT_TRUE(recv.raised());
	EXPECT_TRUE(send.raised());
}

/* Handlers that were not ready, too, and later ones; each as often as it asks. */
TEST_F(End, IsReportedToLateWaiters)
{
	for (bool dead : {true, false}) {
		auto own = another(pair);
		Handler ready = Handler::open(*own).value(),
			idle = Handler::open(*own).value();

		must(ready.ready());
		if (dead) {
			kill(*own, node_a, pair.a.number());
			ASSERT_TRUE(eventually([&] {
				return own->lmt().value().state ==
				       pavo::WindowState::dead;
			}));
		} else {
			must(own->disable());
		}
		EXPECT_TRUE(eventually([&] { return ready.take(); }));
		EXPECT_TRUE(eventually([&] { return idle.take(); }));
		Handler late = Handler::open(*own).value();
		EXPECT_FALSE(late.take()) << "it has not asked";
		for (int n = 0; n < 3; n++)
			for (Handler *handler : {&ready, &idle, &late}) {
				EXPECT_FALSE(handler->take());
				must(handler->ready());
				EXPECT_TRUE(handler->take()) << dead << n;
			}
		EXPECT_EQ(own->lmt().value().event_kept, 0u);
	}
}

/* Nothing else is carried out, but the ring has room for as many as one likes. */
TEST_F(End, TakesCommandsThatChangeNothing)
{
	must(window->disable());
	for (uint32_t n = 0; n < 3 * PAVO_WCMD_RING; n++)
		ASSERT_TRUE(window->recv_threshold(1).has_value());
	must(window->send({node_a, pair.a.number()}, {}));
	pavo::Lmt lmt = window->lmt().value();
	EXPECT_EQ(lmt.recv_threshold, 0u);
	EXPECT_EQ(lmt.send_ready, 0u);
	EXPECT_EQ(lmt.recv_free, 0u);
}

/* ----------------------------------------------------------------- removal */

/*
 * An end of the second wire: a window whose owner sleeps, and another that sends messages
 * and writes to the other end's as fast as it can, until its adapter is gone.
 */
struct Side : PathEnd {
	static constexpr uint32_t length = 100'000;

	Side(const char *name, uint16_t node)
		: PathEnd(name, node), sleepers(*window), memory(length),
		  mapping(pavo::Mapping::open(job, memory.all()).value())
	{
		pavo::WindowOptions options = {.node = node,
					       .gid_index = address.index,
					       .recv_event = recv.fd,
					       .send_event = send.fd};

		sender = std::make_unique<Window>(
			Window::open(job, options).value());
		must(window->take_rcxts({&target, 1}));
		must(sender->take_rcxts({&source, 1}));
	}
	~Side() { stop(); }

	void begin(uint16_t node, const Side &to)
	{
		request.local_rcxt = source;
		request.remote_rcxt = to.target;
		request.local_pvo = mapping.pvo().value;
		request.remote_pvo = to.mapping.pvo().value;
		request.length = length;
		must(sender->set_node(node, to.address.gid));
		thread =
			std::thread([this, node, number = to.window->number()] {
				flood(node, number);
			});
	}

	void flood(uint16_t node, uint32_t to)
	{
		auto bytes = pattern(1, 1000);

		while (!over && why.has_value()) {
			/* Full frames, and contexts that are busy, do no harm. */
			request.tid++;
			(void)sender->prepare_rdma(pavo::Direction::write,
						   {node, to}, request);
			(void)sender->prepare({node, to}, bytes);
			why = sender->start();
			if (why.has_value())
				why = shared_of(*sender).kick();
			std::this_thread::yield();
		}
	}

	void stop()
	{
		over = true;
		if (thread.joinable())
			thread.join();
	}

	/* All that waited is awake, and every call says why. */
	void expect_gone()
	{
		uint32_t rcxt = 0;

		EXPECT_TRUE(recv.raised());
		EXPECT_TRUE(send.raised());
		EXPECT_EQ(sleepers.join(), Sleepers::many);
		if (thread.joinable())
			thread.join();
		EXPECT_EQ(why, pavo::Unexpected(std::errc::io_error));
		EXPECT_EQ(window->lmt(), pavo::Unexpected(std::errc::io_error));
		EXPECT_EQ(shared_of(*window).kick(),
			  pavo::Unexpected(std::errc::io_error));
		EXPECT_EQ(window->take_rcxts({&rcxt, 1}),
			  pavo::Unexpected(std::errc::io_error));
		EXPECT_EQ(window->cancel({&target, 1}),
			  pavo::Unexpected(std::errc::io_error));
		EXPECT_EQ(window->return_rcxts({&target, 1}),
			  pavo::Unexpected(std::errc::io_error));
		EXPECT_EQ(window->disable(),
			  pavo::Unexpected(std::errc::io_error));
		EXPECT_EQ(window->snapshot(),
			  pavo::Unexpected(std::errc::io_error));
	}

	/* It still works, though no window is at the other end. */
	void expect_alive()
	{
		EXPECT_FALSE(over);
		stop();
		EXPECT_TRUE(why.has_value()) << why.error().message();
		EXPECT_EQ(window->lmt().value().state,
			  pavo::WindowState::valid);
		EXPECT_TRUE(recv.silent());
		must(window->disable());
		EXPECT_EQ(sleepers.join(), Sleepers::many);
		EXPECT_TRUE(eventually(
			[&] { return window->snapshot().value() == 0; }));
	}

	/* Both kinds have come here, and go on coming. */
	bool hit()
	{
		return eventually([&] {
			return window->lmt().value().recv_count > 100 &&
			       memory.at()[length - 1] == std::byte(0xee);
		});
	}

	Sleepers sleepers;
	world::Memory memory;
	pavo::Mapping mapping;
	Event recv, send;
	std::unique_ptr<Window> sender;
	uint32_t source = 0, target = 0;
	pavo::RequestFrame request{};
	std::atomic<bool> over = false;
	pavo::Result<void> why;
	std::thread thread;
};

/* The second wire is there for each test, and its adapters. */
struct TakenAway : testing::Test {
	void SetUp() override
	{
		wire("make");
		adapter_is_active("wc0");
		adapter_is_active("wd0");
	}
	void TearDown() override { wire("unmake"); }

	void under_traffic(const std::string &removal, bool c_goes, bool d_goes)
	{
		Side c("wc0", node_a), d("wd0", node_b);

		memset(c.memory.at(), 0xee, Side::length);
		memset(d.memory.at(), 0, Side::length);
		c.begin(node_b, d);
		ASSERT_TRUE(d.hit());
		d.begin(node_a, c);
		ASSERT_TRUE(c.hit());
		wire(removal);
		c_goes ? c.expect_gone() : c.expect_alive();
		d_goes ? d.expect_gone() : d.expect_alive();
	}
};

TEST_F(TakenAway, AnAdapterWakesAll)
{
	under_traffic("delete wc0", true, false);
}

TEST_F(TakenAway, TheOtherEndsAdapterWakesNobodyHere)
{
	under_traffic("delete wd0", false, true);
}

TEST_F(TakenAway, TheInterfaceWakesAll)
{
	under_traffic("unplug", true, true);
}

/* Nothing goes by; all that there is of a window is a sleeper, or not even that. */
TEST_F(TakenAway, AnIdleAdapterWakesAll)
{
	PathEnd c("wc0", node_a), d("wd0", node_b);
	Handler never_ready = Handler::open(*c.window).value();
	pavo::AdapterHandler of_all =
		pavo::AdapterHandler::open(c.device).value();
	uint32_t number;
	std::optional<Sleepers> sleepers(std::in_place, *d.window);

	must(d.window->disable());
	EXPECT_EQ(sleepers->join(), Sleepers::many);
	wire("unplug");
	EXPECT_TRUE(eventually([&] { return never_ready.take(); }));
	EXPECT_TRUE(eventually([&] { return of_all.take(); }));
	EXPECT_EQ(of_all.ready(), pavo::Unexpected(std::errc::io_error));
	EXPECT_EQ(of_all.windows({&number, 1}),
		  pavo::Unexpected(std::errc::io_error));
	EXPECT_TRUE(eventually([&] {
		return d.window->lmt() == pavo::Unexpected(std::errc::io_error);
	}));
	/* No waiter is notified twice, and nothing has to be undone. */
	EXPECT_EQ(c.window->disable(), pavo::Unexpected(std::errc::io_error));
}

} // namespace
