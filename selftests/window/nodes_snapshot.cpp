// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_snapshot.cpp - windows that end while other machines send messages and RDMA to them
 * (sources.md#windows-snapshot). A process that is notified that its
 * memory is not in use any more finds no stray byte in it, though packets still come.
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "../common/slow_kernel.h"
#include "nodes.h"
#include "shared_window.hpp"

using pavo::Message;
using pavo::Window;

namespace nodes {

namespace {

/* Ends within a page and within a packet. */
constexpr uint32_t snapshot_part = 20'007;
constexpr uint32_t frames = 64;
constexpr uint32_t snapshot_rounds = 8;

/* Where a client sends to. */
struct Aim {
	bool over;
	uint32_t window;
	uint32_t rcxt;
	pavo::Pvo memory;
};

/* ------------------------------------------------------------------- server */

class Target {
public:
	explicit Target(const Arguments &arguments)
		: server_(arguments), clients_(arguments.clients),
		  adapter_(arguments.adapters[0]),
		  memory_(clients_ * snapshot_part),
		  mapping_(
			  pavo::Mapping::open(server_.node.job, memory_).value())
	{
	}

	/* One more window. @disable: ask whether it is used; or close it at once. */
	void round(uint32_t number, bool disable)
	{
		auto window = open();

		hit(*window);
		if (disable)
			end(*window, number);
		else
			window.reset();
		fill(memory_, used_again, number);
		let_more_come();
		must_hold(memory_, used_again, number);
		if (window) {
			must_hold(fifo(*window, false), used_again, number + 1);
			must_hold(fifo(*window, true), used_again, number + 2);
		}
	}

	void finish()
	{
		for (nodes::Meeting &meeting : server_.meetings)
			meeting.exchange(Aim{true, 0, 0, {}});
	}

private:
	/* All clients send to it from now on. */
	std::unique_ptr<Window> open()
	{
		auto window = std::make_unique<Window>(
			Window::open(server_.node.job,
				     pavo::WindowOptions{
					     .node = 0,
					     .send_frames = frames,
					     .recv_frames = frames,
					     .gid_index =
						     server_.node.address.index})
				.value());
		auto rcxts = contexts(*window, clients_);

		std::ranges::fill(memory_, std::byte(0));
		for (uint32_t i = 0; i < clients_; i++)
			server_.meetings[i].exchange(
				Aim{false, window->number(), rcxts[i],
				    mapping_.pvo() + i * snapshot_part});
		return window;
	}

	/* Messages of all have come, and the bytes of all. */
	void hit(Window &window)
	{
		std::set<uint16_t> heard;

		until("messages and RDMA of all", [&] {
			/* They send faster than one can look. */
			window.receive(
				[&](const Message &came) {
					look(window, came.from.node, came);
					heard.insert(came.from.node);
				},
				frames);
			return heard.size() == clients_ && whole();
		});
	}

	bool whole() const
	{
		for (uint32_t i = 0; i < clients_; i++)
			if (first_wrong(std::span(memory_).subspan(
						i * snapshot_part,
						snapshot_part),
					i + 1, 0) < snapshot_part)
				return false;
		return true;
	}

	void end(Window &window, uint32_t number)
	{
		must(window.disable(), "disable");
		until("no process to use a window",
		      [&] { return !must(window.snapshot(), "snapshot"); });
		fill(fifo(window, false), used_again, number + 1);
		fill(fifo(window, true), used_again, number + 2);
	}

	std::span<std::byte> fifo(const Window &window, bool send) const
	{
		auto *at = send ? shared_of(window).send_frame(0) :
				  shared_of(window).recv_frame(0);

		return {reinterpret_cast<std::byte *>(at),
			frames * size_t(PAVO_FRAME_SIZE)};
	}

	/*
	 * Packets to what is no more come by. The number that the kernel shows may be some
	 * milliseconds old: once it changes it is of now.
	 */
	void let_more_come() const
	{
		uint64_t before = dropped();

		until("a stray packet", [&] { return dropped() != before; });
		before = dropped();
		until("more stray packets",
		      [&] { return dropped() >= before + 50; });
	}

	uint64_t dropped() const { return counter(adapter_, "rx_drop_window"); }

	Server server_;
	uint32_t clients_;
	std::string adapter_;
	std::vector<std::byte> memory_;
	pavo::Mapping mapping_;
};

/* ------------------------------------------------------------------- client */

/* Messages and RDMA writes that no peer acknowledges. */
class Archer {
public:
	explicit Archer(const Arguments &arguments)
		: client_(arguments), memory_(snapshot_part),
		  mapping_(
			  pavo::Mapping::open(client_.node.job, memory_).value())
	{
		fill(memory_, client_.self(), 0);
		request_.local_rcxt = contexts(window(), 1)[0];
		request_.local_pvo = mapping_.pvo().value;
		request_.length = snapshot_part;
	}

	void run()
	{
		for (;;) {
			Aim aim = client_.meeting.exchange(Aim{});

			if (aim.over)
				break;
			request_.remote_rcxt = aim.rcxt;
			request_.remote_pvo = aim.memory.value;
			until("another aim", [&] {
				shoot(aim.window);
				return client_.meeting.anything();
			});
		}
		must_hold(memory_, client_.self(), 0);
	}

private:
	Window &window() { return client_.node.window; }

	/*
	 * One of each; when both have left the next may. If two machines never rest, a third with
	 * one CPU and checkers has no time for its process, and KASAN keeps every packet.
	 */
	void shoot(uint32_t at)
	{
		std::array<pavo::FrameState, 2> states{};
		size_t marked = 0;

		if (slow_)
			std::this_thread::sleep_for(
				std::chrono::milliseconds(10));
		request_.tid++;
		must(window().prepare({0, at}, message(window(), client_.self(),
						       {number_++, 0})),
		     "message");
		must(window().prepare_rdma(pavo::Direction::write, {0, at},
					   request_),
		     "RDMA");
		must(window().start(), "start");
		until("frames to be sent", [&] {
			marked += window().sent(
				std::span(states).subspan(marked));
			return marked == states.size();
		});
		for (pavo::FrameState state : states)
			must(state == pavo::FrameState::sent ||
				     state == pavo::FrameState::not_sent,
			     "a frame was refused");
	}

	Client client_;
	std::vector<std::byte> memory_;
	pavo::Mapping mapping_;
	pavo::RequestFrame request_{};
	uint32_t number_ = 0;
	const bool slow_ = common::slow_kernel();
};

} // namespace

void reuse_memory(const Arguments &arguments)
{
	Target target(arguments);

	for (uint32_t n = 0; n < snapshot_rounds; n++)
		target.round(n, n % 2 == 0);
	target.finish();
}

void keep_sending(const Arguments &arguments)
{
	Archer(arguments).run();
}

} // namespace nodes
