// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * adapter_handler_tests.cpp - handlers of an adapter: each event of any window of a context goes
 * to one of them (sources.md#windows-interrupt).
 */
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include <pavo/handler.hpp>

#include "adapter.h"
#include "command.hpp"

using namespace windows;
using pavo::AdapterHandler;
using pavo::Message;

namespace {

bool wait_for(const AdapterHandler &handler, int ms = long_enough)
{
	pollfd one = {.fd = handler.fd(), .events = POLLIN, .revents = 0};

	return poll(&one, 1, ms) == 1;
}

/* Some windows of b. */
struct AdapterHandlers : testing::Test {
	AdapterHandlers()
	{
		for (auto &window : windows)
			window = another(pair);
	}

	AdapterHandler handler() const
	{
		return AdapterHandler::open(pair.device_b).value();
	}

	/* An event of window @n, which has happened when this returns. */
	void raise(size_t n)
	{
		pavo::Window &window = *windows[n];
		Moved events(pair.device_b, "window_events");
		uint32_t came = 0;

		must(window.recv_threshold(1));
		must(pair.a.send({node_b, window.number()}, {}));
		ASSERT_TRUE(eventually([&] { return events.by() == 1; }));
		ASSERT_TRUE(eventually([&] {
			came += window.receive([](const Message &) {});
			return came == 1;
		}));
	}

	/* All windows that had events, by their place. */
	std::vector<size_t> taken(AdapterHandler &by) const
	{
		std::vector<size_t> places;
		uint32_t number;

		while (must(by.windows({&number, 1})))
			for (size_t n = 0; n < many; n++)
				if (windows[n]->number() == number)
					places.push_back(n);
		return places;
	}

	using Places = std::vector<size_t>;
	static constexpr size_t many = 5;
	Pair pair;
	std::unique_ptr<pavo::Window> windows[many];
};

TEST_F(AdapterHandlers, EventsOfAllWindowsGoRoundRobin)
{
	AdapterHandler all[] = {handler(), handler(), handler()};

	for (auto &one : all)
		must(one.ready());
	for (size_t round = 0; round < 9; round++) {
		AdapterHandler &next = all[round % 3];

		raise(round % many);
		ASSERT_TRUE(wait_for(next));
		for (auto &one : all)
			EXPECT_EQ(one.take(), &one == &next) << round;
		EXPECT_EQ(taken(next), Places{round % many});
		must(next.ready());
	}
	EXPECT_EQ(taken(all[0]), Places{});
}

/* The windows are a list, the event is one. */
TEST_F(AdapterHandlers, OneEventIsKeptAndAllWindowsOfIt)
{
	AdapterHandler one = handler(), two = handler();

	for (size_t n : {3, 1, 3, 4})
		raise(n);
	EXPECT_FALSE(wait_for(one, 0));
	must(one.ready());
	EXPECT_TRUE(one.take());
	must(two.ready());
	EXPECT_FALSE(two.take());
	EXPECT_EQ(taken(one), (Places{3, 1, 4}));
	EXPECT_EQ(taken(two), Places{});
	/* A window that is opened later counts, too, and one that is closed does not. */
	windows[0] = another(pair);
	raise(0);
	raise(2);
	EXPECT_TRUE(two.take());
	windows[2] = nullptr;
	windows[2] = another(pair);
	EXPECT_EQ(taken(two), Places{0});
}

TEST_F(AdapterHandlers, OneThatGoesLeavesItsEventToOthers)
{
	auto one = std::make_unique<AdapterHandler>(handler());
	AdapterHandler two = handler();

	must(one->ready());
	raise(1);
	must(two.ready());
	one.reset();
	EXPECT_TRUE(two.take());
	EXPECT_EQ(taken(two), Places{1});
	/* With the last one goes nothing that a later one needs. */
	two = handler();
	raise(4);
	AdapterHandler three = handler();
	must(three.ready());
	EXPECT_TRUE(three.take());
	EXPECT_EQ(taken(three), Places{4});
}

/* Beside the window's own, and of windows of this context only. */
TEST_F(AdapterHandlers, AreBesideThoseOfTheWindow)
{
	pavo::Device again = world::other_adapter();
	AdapterHandler one = handler(),
		       other = AdapterHandler::open(again).value();
	pavo::Handler own = pavo::Handler::open(*windows[2]).value();

	must(one.ready());
	must(other.ready());
	must(own.ready());
	raise(2);
	EXPECT_TRUE(own.take());
	EXPECT_TRUE(one.take());
	EXPECT_FALSE(other.take());
	EXPECT_EQ(taken(one), Places{2});
	uint32_t number;
	EXPECT_EQ(must(other.windows({&number, 1})), 0u);
	/* The end of a window is an event like others. */
	must(one.ready());
	must(windows[2]->disable());
	EXPECT_TRUE(own.take());
	EXPECT_TRUE(one.take());
	EXPECT_EQ(taken(one), Places{2});
}

TEST_F(AdapterHandlers, ThereAreNoMoreThanSo)
{
	std::vector<AdapterHandler> all;
	pavo::Command bad(PAVO_OBJECT_HANDLER, PAVO_METHOD_HANDLER_OPEN);
	std::vector<uint32_t> numbers(PAVO_HANDLER_WINDOWS + 1);

	for (uint32_t n = 0; n < PAVO_ADAPTER_HANDLERS; n++)
		all.push_back(handler());
	EXPECT_EQ(AdapterHandler::open(pair.device_b),
		  pavo::Unexpected(std::errc::no_space_on_device));
	all.pop_back();
	all.push_back(handler());
	/* The last one gets events as the first does. */
	must(all.back().ready());
	raise(0);
	EXPECT_TRUE(all.back().take());
	EXPECT_EQ(taken(all.back()), Places{0});
	EXPECT_EQ(all.back().windows({}),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(must(all.back().windows(numbers)), 0u);
	/* No whole ids, and more than a call takes. */
	std::vector<std::byte> odd(sizeof(uint32_t) + 1);
	all.pop_back();
	pavo::Command own(PAVO_OBJECT_HANDLER, PAVO_METHOD_HANDLER_OPEN);
	ASSERT_EQ(own.new_handle(PAVO_ATTR_HANDLER_HANDLE)
			  .in(PAVO_ATTR_HANDLER_EVENT, int32_t(all[0].fd()))
			  .run(pair.device_b.fd()),
		  0);
	for (auto bytes :
	     {std::span(odd), std::as_writable_bytes(std::span(numbers))})
		EXPECT_EQ(pavo::Command(PAVO_OBJECT_HANDLER,
					PAVO_METHOD_HANDLER_TAKE)
				  .handle(PAVO_ATTR_HANDLER_HANDLE, own.made())
				  .out_array(PAVO_ATTR_HANDLER_WINDOWS, bytes)
				  .run(pair.device_b.fd()),
			  EINVAL);
	/* No eventfd. */
	EXPECT_EQ(bad.new_handle(PAVO_ATTR_HANDLER_HANDLE)
			  .in(PAVO_ATTR_HANDLER_EVENT, int32_t(-1))
			  .run(pair.device_b.fd()),
		  EBADF);
}

/* Threads, each with a handler, serve the windows: each message is found by one of them. */
TEST_F(AdapterHandlers, ThreadsThatSleepFindAllMessages)
{
	constexpr uint32_t messages = 400;
	constexpr int threads = 3;
	std::atomic<uint32_t> came = 0;
	std::atomic<bool> over = false;
	std::mutex mutex[many];
	std::vector<AdapterHandler> all;
	std::vector<std::thread> running;

	for (auto &window : windows)
		must(window->recv_threshold(1));
	for (int n = 0; n < threads; n++)
		all.push_back(handler());
	auto look = [&](size_t n) {
		std::lock_guard guard(mutex[n]);
		auto count = [&] {
			came += uint32_t(
				windows[n]->receive([](const Message &) {}));
		};

		count();
		must(windows[n]->recv_threshold(1));
		count();
	};
	auto serve = [&](AdapterHandler &mine) {
		while (!over) {
			must(mine.ready());
			if (!wait_for(mine)) {
				ADD_FAILURE() << "asleep for ever";
				return;
			}
			mine.take();
			for (size_t n : taken(mine))
				look(n);
		}
	};
	for (auto &one : all)
		running.emplace_back(serve, std::ref(one));
	for (uint32_t n = 0; n < messages; n++) {
		ASSERT_TRUE(eventually([&] {
			return pair.a
				.send({node_b, windows[n % many]->number()}, {})
				.has_value();
		}));
		if (n % 16 == 15) {
			ASSERT_TRUE(eventually([&] { return came == n + 1; }))
				<< came << " of " << n + 1;
		}
	}
	over = true;
	/* Each is woken once more. */
	for (auto &one : all)
		ASSERT_EQ(eventfd_write(one.fd(), 1), 0);
	for (auto &thread : running)
		thread.join();
	EXPECT_EQ(came, messages);
}

} // namespace
