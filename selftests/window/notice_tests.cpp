// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * notice_tests.cpp - notifications that a process did not request: of violations by peers, and of
 * recoveries of its adapter (sources.md#windows-write, sources.md#windows-failover).
 */
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include <infiniband/verbs.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include <pavo/handler.hpp>

#include "../common/files.h"
#include "both.h"
#include "command.hpp"
#include "shared_window.hpp"

using namespace windows;
using pavo::Handler;

namespace {

struct NoticeEvent {
	NoticeEvent() : fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
	~NoticeEvent() { close(fd); }
	NoticeEvent(const NoticeEvent &) = delete;

	/* Waits for it. Return: how often it was raised; 0: not within @ms. */
	uint64_t wait(int ms = long_enough) const
	{
		pollfd one = {.fd = fd, .events = POLLIN, .revents = 0};
		uint64_t n = 0;

		if (poll(&one, 1, ms) != 1 || read(fd, &n, sizeof(n)) < 0)
			return 0;
		return n;
	}

	int fd;
};

/* A window of b with eventfds, and a context at each end. */
struct Violated : Ends {
	Violated()
	{
		window = another(*this, {.recv_event = recv.fd});
		must(window->take_rcxts({&there_rcxt, 1}));
	}

	/* An operation of a with that memory of the window, of which no process is to be told. */
	void ask_for(bool write, uint64_t pvo)
	{
		auto wish = request(++tid, 100, 0);
		pavo::FrameState state = pavo::FrameState::empty;
		Moved refused(device_b, "rx_drop_rdma_pvo");

		wish.remote_rcxt = there_rcxt;
		wish.remote_pvo = pvo;
		must(a.prepare_rdma(write ? pavo::Direction::write :
					    pavo::Direction::read,
				    {node_b, window->number()}, wish));
		must(a.start());
		ASSERT_TRUE(eventually([&] { return one_sent(a, state); }));
		ASSERT_EQ(state, pavo::FrameState::sent);
		ASSERT_TRUE(eventually([&] { return refused.by() == 1; }));
		must(a.cancel({&rcxt_a, 1}));
	}

	uint64_t bad() const { return there.pvo() ^ uint64_t(1) << 60; }

	NoticeEvent recv;
	std::unique_ptr<pavo::Window> window;
	uint32_t there_rcxt = 0;
	uint64_t tid = 0;
};

/* No process asked to be told, yet the target's is woken and sees the reason. */
TEST(Violation, OfAPeerRaisesAnEventOfTheTarget)
{
	Violated ends;
	Handler handler = Handler::open(*ends.window).value();

	must(handler.ready());
	EXPECT_EQ(ends.window->lmt().value().violations, 0u);
	ends.ask_for(true, ends.bad());
	EXPECT_EQ(ends.recv.wait(), 1u);
	EXPECT_TRUE(handler.take());
	EXPECT_TRUE(quiet(*ends.window));
	pavo::Lmt lmt = ends.window->lmt().value();
	EXPECT_EQ(lmt.state, pavo::WindowState::valid);
	EXPECT_EQ(lmt.violations, 1u);
	EXPECT_EQ(lmt.violation_rcxt, ends.there_rcxt);
	EXPECT_EQ(lmt.violation_node, uint32_t(node_a));
	EXPECT_EQ(lmt.violation_window, ends.a.number());
	/* Also where the target would have been the source of the data. */
	ends.ask_for(false, ends.bad());
	EXPECT_EQ(ends.recv.wait(), 1u);
	EXPECT_EQ(ends.window->lmt().value().violations, 2u);
	EXPECT_EQ(ends.a.lmt().value().violations, 0u);
}

/* A peer that goes on with it does not keep the process awake. */
TEST(Violation, ThatIsRepeatedWakesAProcessThatHasLookedOnly)
{
	Violated ends;

	for (int n = 0; n < 5; n++)
		ends.ask_for(n % 2, ends.bad());
	EXPECT_EQ(ends.recv.wait(), 1u);
	EXPECT_EQ(ends.window->lmt().value().violations, 5u);
	ends.ask_for(true, ends.bad());
	EXPECT_EQ(ends.recv.wait(), 1u);
	EXPECT_EQ(ends.window->lmt().value().violations, 6u);
	/* A write to mapped memory is no violation. */
	auto wish = ends.request(++ends.tid, 100);
	wish.remote_rcxt = ends.there_rcxt;
	must(ends.a.prepare_rdma(pavo::Direction::write,
				 {node_b, ends.window->number()}, wish));
	must(ends.a.start());
	EXPECT_EQ(ended(ends.a).status, pavo::PvoResult::ok);
	EXPECT_EQ(ends.recv.wait(0), 0u);
	EXPECT_EQ(ends.window->lmt().value().violations, 6u);
}

/* The process may wait for nothing but room in its send FIFO. */
TEST(Violation, RaisesTheSendEventOfAWindowToo)
{
	Violated ends;
	NoticeEvent send;

	ends.window = another(ends, {.send_event = send.fd});
	must(ends.window->take_rcxts({&ends.there_rcxt, 1}));
	ends.ask_for(true, ends.bad());
	EXPECT_EQ(send.wait(), 1u);
	EXPECT_EQ(ends.window->lmt().value().violations, 1u);
}

/* ------------------------------------------------------------ recoveries */

uint32_t recoveries_in(const pavo::Window &window)
{
	return std::atomic_ref(shared_of(window).commands()->recoveries)
		.load(std::memory_order_acquire);
}

/* Windows that do nothing, of which one waits for its event only. */
TEST(Recovery, RaisesTheEventsOfAllWindows)
{
	constexpr size_t many = 5;
	Pair pair;
	NoticeEvent events[many], here;
	std::unique_ptr<pavo::Window> windows[many];
	auto away =
		pavo::Window::open(pair.job_a, {.recv_event = here.fd}).value();

	for (size_t n = 0; n < many; n++)
		windows[n] = another(pair, {.recv_event = events[n].fd});
	Handler handler = Handler::open(*windows[2]).value();
	must(handler.ready());
	const uint32_t before = pair.b.lmt().value().recoveries;
	EXPECT_EQ(recoveries_in(*windows[0]), before);
	recover(pair.device_b);
	for (size_t n = 0; n < many; n++) {
		EXPECT_EQ(events[n].wait(), 1u);
		EXPECT_EQ(recoveries_in(*windows[n]), before + 1);
		EXPECT_EQ(windows[n]->recoveries(), before + 1);
	}
	EXPECT_TRUE(handler.take());
	/* One that is opened now has nothing to hear of it. */
	NoticeEvent late;
	auto window = another(pair, {.recv_event = late.fd});
	EXPECT_EQ(recoveries_in(*window), before + 1);
	EXPECT_EQ(late.wait(0), 0u);
	/* It was the other adapter. */
	EXPECT_EQ(here.wait(0), 0u);
}

/* A process that waits for nothing but room in its send FIFO. */
TEST(Recovery, RaisesTheSendEventOfAWindowToo)
{
	Pair pair;
	NoticeEvent send;
	auto window = another(pair, {.send_event = send.fd});

	recover(pair.device_b);
	EXPECT_EQ(send.wait(), 1u);
	/* A message that arrives is no event of its send FIFO. */
	must(pair.a.send({node_b, window->number()}, {}));
	ASSERT_TRUE(eventually(
		[&] { return window->lmt().value().recv_count == 1; }));
	EXPECT_EQ(send.wait(0), 0u);
}

/* As ibv_get_async_event() has it. */
TEST(Recovery, IsAnEventOfTheDevice)
{
	Pair pair;
	pavo::Command made(UVERBS_OBJECT_ASYNC_EVENT,
			   UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	ib_uverbs_async_event_desc desc{};

	ASSERT_EQ(made.new_handle(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)
			  .run(pair.device_b.fd()),
		  0);
	int fd = int(made.made());
	pollfd one = {.fd = fd, .events = POLLIN, .revents = 0};
	ASSERT_EQ(poll(&one, 1, 0), 0);
	recover(pair.device_b);
	ASSERT_EQ(poll(&one, 1, long_enough), 1);
	ASSERT_EQ(read(fd, &desc, sizeof(desc)), ssize_t(sizeof(desc)));
	EXPECT_EQ(desc.event_type, uint32_t(IBV_EVENT_CLIENT_REREGISTER));
	EXPECT_EQ(desc.element, 1u);
	close(fd);
}

/* Nothing is sent to it, and it sends nothing. */
TEST(Recovery, IdleRdmaTakesNewContextsAtOnce)
{
	NoticeEvent event;
	Both both;
	pavo::Window window =
		pavo::Window::open(both.job_b, {.recv_event = event.fd}).value();
	pavo::Rdma rdma = pavo::Rdma::open(window).value();
	std::vector<uint32_t> rcxts(3);
	std::vector<uint32_t> heard;

	must(rdma.take_rcxts(rcxts));
	rdma.on_recovery([&](uint32_t n) { heard.push_back(n); });
	EXPECT_EQ(must(rdma.progress()), 0u);
	EXPECT_TRUE(heard.empty());
	recover(both.device_b);
	EXPECT_EQ(event.wait(), 1u);
	EXPECT_EQ(window.lmt().value().rcxts_owned, 0u);
	EXPECT_EQ(must(rdma.progress()), 0u);
	EXPECT_EQ(window.lmt().value().rcxts_owned, 3u);
	EXPECT_EQ(heard, std::vector{window.recoveries()});
	EXPECT_EQ(must(rdma.progress()), 0u);
	EXPECT_EQ(heard.size(), 1u);
}

/* --------------------------------------------------- the dump of all rCxts */

constexpr const char *rcxts_file = "/sys/kernel/debug/pavo/rcxts";

std::vector<std::string> rcxts_of(const pavo::Device &device)
{
	return common::lines_of(rcxts_file, device.name() + " rcxt ");
}

/* More than a page, than a block, and than one read takes. */
TEST(RcxtDump, HasEachOneThatAWindowHas)
{
	constexpr size_t many = 1500;
	Ends ends;
	std::vector<uint32_t> rcxts(many);

	EXPECT_EQ(rcxts_of(ends.device_b).size(), 1u);
	must(ends.b.take_rcxts(rcxts));
	auto lines = rcxts_of(ends.device_b);
	EXPECT_EQ(lines.size(), many + 1);
	for (size_t n : {size_t(0), many / 2, many - 1}) {
		char begin[80];

		snprintf(begin, sizeof(begin), "%s rcxt %#x window %u job %u ",
			 ends.device_b.name().c_str(), rcxts[n],
			 ends.b.number(), world::job_id);
		EXPECT_EQ(std::ranges::count_if(lines,
						[&](const std::string &line) {
							return line.starts_with(
								begin);
						}),
			  1)
			<< begin;
	}
	must(ends.b.return_rcxts(rcxts));
	EXPECT_EQ(rcxts_of(ends.device_b).size(), 1u);
	auto heads =
		common::lines_of(rcxts_file, ends.device_b.name() + " rcxts ");
	ASSERT_EQ(heads.size(), 1u);
	EXPECT_TRUE(heads[0].ends_with(
		" recoveries " +
		std::to_string(ends.b.lmt().value().recoveries)))
		<< heads[0];
}

TEST(RcxtDump, ShowsTheOperation)
{
	Ends ends;
	char words[160];

	ASSERT_EQ(ends.ask(true, ends.request(7, 5000)),
		  pavo::FrameState::sent);
	EXPECT_EQ(ended(ends.a).status, pavo::PvoResult::ok);
	snprintf(words, sizeof(words),
		 " idle tid 7 complete 7 peer node %u window %u rcxt %#x ",
		 unsigned(node_a), ends.a.number(), ends.rcxt_a);
	auto lines = rcxts_of(ends.device_b);
	ASSERT_EQ(lines.size(), 1u);
	EXPECT_NE(lines[0].find(words), std::string::npos) << lines[0];
	EXPECT_NE(lines[0].find(" total 5000 left 0 "), std::string::npos)
		<< lines[0];
	EXPECT_EQ(lines[0].find(" bound "), std::string::npos) << lines[0];
	must(ends.b.bind_counter(9, ends.rcxt_b));
	must(ends.b.start());
	EXPECT_TRUE(eventually([&] {
		return rcxts_of(ends.device_b)[0].find(" bound 9 ") !=
		       std::string::npos;
	}));
}

TEST(RcxtDump, IsForRoot)
{
	Ends ends;
	world::Process user([&](world::Process &) {
		world::become_user(0);
		return open(rcxts_file, O_RDONLY) < 0 && errno == EACCES;
	});

	EXPECT_TRUE(user.good());
}

} // namespace
