// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_rounds.cpp - who of a machine's windows sends, and how much at a time, as another
 * machine sees it come; and who goes on when a worker has had its rounds
 * (sources.md#windows-send).
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "nodes_attempts.h"
#include "../common/parameter.h"
#include "raw.h"
#include "shared_window.hpp"

using common::Parameter;
using pavo::Message;
using pavo::Window;
using windows::AT_NODE;
using windows::AT_WINDOW;
using windows::field;
using windows::Frame;
using windows::Wire;

namespace nodes {

namespace {

/* Packets of a window in a pass of the test, several DRR rounds; and what one of RDMA carries. */
constexpr uint32_t each = 20, quantum = 3;
constexpr size_t packet = 1380, rounds_length = each * packet;
constexpr uint8_t message_opcode = 0xc0, data_opcode = 0xc1;

/* Which windows of a client a round's packets came from, as they came. */
struct Order {
	uint32_t n;
	std::array<uint32_t, 2 * each> windows;

	bool whole() const { return n == windows.size(); }
};

/* The end that looks at what comes, of one client after the other. */
class Watcher {
public:
	explicit Watcher(const Arguments &arguments)
		: asked(arguments, 2 * rounds_length),
		  wire_(common::interface_of(asked.node.device.name()).c_str())
	{
		std::vector<uint32_t> more =
			contexts(asked.node.window, asked.clients());

		for (size_t i = 0; i < asked.clients(); i++)
			asked.meetings[i].exchange(
				Other{more[i], asked.node.address.gid});
		fill(asked.memory, untouched, 0);
		asked.together();
	}

	/* The facts of this end that the client's first window needs. */
	struct Other {
		uint32_t rcxt;
		pavo::Gid gid;
	};

	/* Rounds of client @i with packets of that kind, until one has come whole. */
	void watch(size_t i, uint8_t opcode)
	{
		Order order;

		do {
			poke(i);
			wire_.recorded(opcode);
			poke(i);
			order = come(uint16_t(i + 1), opcode);
			asked.meetings[i].exchange(order);
			drop();
		} while (!order.whole());
	}

	/* Of client @i, until it has sent all that it wants to. */
	void take_messages(size_t i)
	{
		until("messages to be sent", [&] {
			drop();
			return asked.meetings[i].anything();
		});
		asked.meetings[i].exchange('t');
	}

	Asked asked;

private:
	void drop()
	{
		asked.node.window.receive([](const Message &) {});
	}

	/* Messages to the window that client @i says, until that is as it should be. */
	void poke(size_t i)
	{
		nodes::Meeting &meeting = asked.meetings[i];
		uint32_t window = meeting.exchange(uint32_t(0));

		until("a window to be poked", [&] {
			auto sent = asked.node.window.send(
				{uint16_t(i + 1), window}, {});
			if (sent !=
			    pavo::Unexpected(std::errc::no_buffer_space))
				must(sent, "message");
			return meeting.anything();
		});
		meeting.exchange('p');
	}

	Order come(uint16_t node, uint8_t opcode)
	{
		Order order{};

		soon([&] {
			for (const Frame &frame : wire_.recorded(opcode))
				if (field(frame, AT_NODE, 2) == node &&
				    !order.whole())
					order.windows[order.n++] = uint32_t(
						field(frame, AT_WINDOW, 3));
			return order.whole();
		});
		return order;
	}

	Wire wire_;
};

/*
 * Two windows that are to have something to send at the same time, though each call makes
 * the caller a worker. The first one's receive FIFO is full: before the next packet is
 * dropped the adapter looks at its commands, and no worker sends for that.
 */
class Sender {
public:
	explicit Sender(const Arguments &arguments)
		: asker_(arguments, 2 * rounds_length),
		  other_(asker_.meeting.exchange(Watcher::Other{})),
		  first_(another({.recv_frames = PAVO_FIFO_LEAST}))
	{
		fill(asker_.memory, asker_.self(), 0);
		together(asker_.meeting);
	}

	void messages()
	{
		rounds(each, [this](Window &window) {
			for (uint32_t n = 0; n < each; n++)
				must(window.prepare({0, asker_.window}, {}),
				     "a message");
		});
	}

	/* A request is a frame; what it asks for comes behind the frames of a round. */
	void rdma()
	{
		uint32_t mine = contexts(*first_, 1)[0];

		asker_.request.length = rounds_length;
		rounds(1, [&](Window &window) {
			pavo::RequestFrame request = asker_.request;

			request.tid = ++asker_.request.tid;
			if (&window == first_.get()) {
				request.local_rcxt = mine;
				request.remote_rcxt = other_.rcxt;
				request.local_pvo += rounds_length;
				request.remote_pvo += rounds_length;
			}
			must(window.prepare_rdma(pavo::Direction::write,
						 {0, asker_.window}, request),
			     "a write");
		});
		asker_.meeting.exchange('d');
	}

	/* After so many rounds a worker is to do something else, and the manager goes on. */
	void manager(const std::string &adapter)
	{
		constexpr uint32_t many = 1000;
		Parameter quantum("window_quantum", 1);
		auto window = another({.send_frames = 1024});
		uint64_t before = counter(adapter, "window_manager");
		std::vector<pavo::FrameState> states(many);
		size_t known = 0;

		for (uint32_t n = 0; n < many; n++)
			must(window->prepare({0, asker_.window}, {}),
			     "a message");
		must(window->start(), "start");
		until("all messages to be sent", [&] {
			known += window->sent(std::span(states).subspan(known));
			return known == many;
		});
		must(std::ranges::count(states, pavo::FrameState::sent) == many,
		     "a message was not sent");
		until("rounds of the work manager", [&] {
			return counter(adapter, "window_manager") - before >=
			       many / 100;
		});
		asker_.meeting.exchange('t');
	}

	void end() { together(asker_.meeting); }

private:
	std::unique_ptr<Window> another(pavo::WindowOptions options)
	{
		options.node = uint16_t(asker_.self());
		options.gid_index = asker_.node.address.index;
		auto made = std::make_unique<Window>(
			Window::open(asker_.node.job, options).value());
		must(made->set_node(0, other_.gid), "routes");
		return made;
	}

	/* @prepare: what a window has to send, in so many @frames */
	template <class Prepare> void rounds(uint32_t frames, Prepare &&prepare)
	{
		Order order;

		do {
			poked([&](const pavo::Lmt &lmt) {
				return lmt.recv_count == PAVO_FIFO_LEAST;
			});
			prepare(*first_);
			prepare(asker_.asking());
			command_start(frames);
			poked([&](const pavo::Lmt &lmt) {
				return lmt.send_ready == frames;
			});
			must(asker_.asking().start(), "start");
			order = asker_.meeting.exchange(Order{});
			first_->forget_sent();
			asker_.asking().forget_sent();
		} while (!order.whole());
		must_be_turns(order);
	}

	/* The other end sends to the first window until its table is so. */
	template <class Condition> void poked(Condition &&condition)
	{
		asker_.meeting.exchange(first_->number());
		until("what messages bring about",
		      [&] { return condition(first_->lmt().value()); });
		asker_.meeting.exchange('p');
	}

	/* As Window::start(), but no worker looks. */
	void command_start(uint32_t frames)
	{
		pavo_command_page *page = shared_of(*first_).commands();

		page->ring[page->producer % PAVO_WCMD_RING] =
			uint64_t(PAVO_WCMD_START_TRANSMIT)
				<< PAVO_WCMD_OP_SHIFT |
			frames;
		std::atomic_ref(page->producer).fetch_add(1);
	}

	/* So many packets of one, then so many of the other. */
	void must_be_turns(const Order &order)
	{
		std::array<uint32_t, 2> who = {first_->number(),
					       asker_.asking().number()};
		std::vector<uint32_t> expected;

		if (order.windows[0] != who[0])
			std::swap(who[0], who[1]);
		for (uint32_t sent = 0; sent < each; sent += quantum)
			for (uint32_t window : who)
				expected.insert(expected.end(),
						std::min(quantum, each - sent),
						window);
		std::string came;

		for (uint32_t window : order.windows)
			came += window == expected[0] ? 'a' : 'b';
		must(std::ranges::equal(order.windows, expected),
		     "windows do not send in rounds: " + came);
	}

	Asker asker_;
	Watcher::Other other_;
	std::unique_ptr<Window> first_;
};

} // namespace

void watch_rounds(const Arguments &arguments)
{
	Watcher watcher(arguments);
	Asked &asked = watcher.asked;

	for (size_t i = 0; i < asked.clients(); i++) {
		watcher.watch(i, message_opcode);
		watcher.watch(i, data_opcode);
		asked.meetings[i].exchange('d');
		until("all that was written in rounds", [&] {
			return first_wrong(asked.part(i), uint32_t(i + 1), 0) ==
			       asked.bytes;
		});
		watcher.take_messages(i);
	}
	asked.together();
}

void send_in_rounds(const Arguments &arguments)
{
	Parameter workers("window_workers", 1),
		limit("window_quantum", quantum);
	Sender sender(arguments);

	sender.messages();
	sender.rdma();
	sender.manager(arguments.adapters[0]);
	sender.end();
}

} // namespace nodes
