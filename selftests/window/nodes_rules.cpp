// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_rules.cpp - RDMA from other machines that an adapter does not take, but counts: by
 * tids that are over, by contexts that are at something or not the window's, and packets
 * of a time before the adapter's recovery. Nothing is written, and no window dies of it.
 */
#include <functional>

#include "nodes_attempts.h"
#include "raw.h"

using windows::Frame;
using windows::Wire;

namespace nodes {

namespace {

/* Hundreds of packets: what is sent takes some time. */
constexpr size_t rules_length = 300'000;
/* Operations that are done well have high tids, so that there are lower ones. */
constexpr uint64_t first_tid = 1000;
/* A UDP checksum that was left to the interface is not there when a packet is recorded. */
constexpr size_t at_checksum = 40;

/* The end whose adapter drops; one client after the other. */
class Keeper {
public:
	explicit Keeper(const Arguments &arguments)
		: asked(arguments, rules_length),
		  adapter_(arguments.adapters[0])
	{
		fill(asked.memory, untouched, 0);
		asked.together();
	}

	/*
	 * Let client @i go on until a packet is dropped for that reason; it waits while
	 * this end looks with @look at what has become of its memory.
	 */
	template <class Look>
	void watch(size_t i, const char *name, Look &&look)
	{
		uint64_t before = counter(adapter_, name);

		asked.meetings[i].exchange('g');
		until(name, [&] { return counter(adapter_, name) != before; });
		asked.meetings[i].exchange('c');
		look();
		asked.meetings[i].exchange('l');
	}

	/* The memory has the bytes that client @i wrote last when it was allowed to. */
	void must_have(size_t i, uint32_t number)
	{
		must_hold(asked.part(i), uint32_t(i + 1), number);
	}

	void must_live()
	{
		pavo::Lmt lmt = asked.node.window.lmt().value();

		must(lmt.state == pavo::WindowState::valid,
		     "a window died of what others do");
		must(!lmt.recv_count, "notified of what was dropped");
	}

	Asked asked;

private:
	std::string adapter_;
};

/* The end whose packets are dropped. */
class Breaker {
public:
	explicit Breaker(const Arguments &arguments)
		: asker(arguments, rules_length)
	{
		asker.request.tid = first_tid;
		together(asker.meeting);
	}

	/* As one may: the memory is there, and is this number's. */
	void write_well(uint32_t number)
	{
		fill(asker.memory, asker.self(), number);
		must(asker.notified(true).status == pavo::PvoResult::ok,
		     "a good write");
	}

	/* Once and again, until the other end has counted it. */
	void until_dropped(const std::function<void()> &once)
	{
		asker.meeting.exchange('g');
		until("to be dropped", [&] {
			once();
			return soon([&] { return asker.meeting.anything(); });
		});
		asker.meeting.exchange('c');
		/* It has looked. */
		asker.meeting.exchange('l');
	}

	/*
	 * By a context of its own, which has done nothing yet, so that this end's adapter
	 * sends it; and of memory that is not what was written.
	 */
	void by_another(uint32_t remote, uint64_t tid, bool write)
	{
		pavo::RequestFrame good = asker.request;

		fill(asker.memory, untouched, 1);
		asker.request.local_rcxt = contexts(asker.asking(), 1)[0];
		asker.request.remote_rcxt = remote;
		asker.request.tid = tid;
		until_dropped([&] { asker.attempt(write); });
		give_back(asker.request.local_rcxt);
		must_hold(asker.memory, untouched, 1);
		asker.request = good;
	}

	/* Two reads at once by one context there: it is at the first. */
	void two_at_once()
	{
		auto here = contexts(asker.asking(), 2);
		pavo::RequestFrame request = asker.request;

		until_dropped([&] {
			for (uint32_t rcxt : here) {
				request.local_rcxt = rcxt;
				request.tid++;
				must(asker.asking().prepare_rdma(
					     pavo::Direction::read,
					     {0, asker.window}, request),
				     "a read");
			}
			must(asker.asking().start(), "start");
			wait_sent(here.size());
		});
		for (uint32_t rcxt : here)
			give_back(rcxt);
		asker.request.tid = request.tid;
	}

	Asker asker;

private:
	void give_back(uint32_t rcxt)
	{
		must(asker.asking().return_rcxts({&rcxt, 1}), "return");
	}

	void wait_sent(size_t frames)
	{
		pavo::FrameState state;

		until("frames to be sent", [&] {
			frames -= asker.asking().sent({&state, 1});
			return !frames;
		});
	}
};

} // namespace

void keep_rules(const Arguments &arguments)
{
	Keeper keeper(arguments);
	Asked &asked = keeper.asked;
	pavo::Window another =
		pavo::Window::open(asked.node.job,
				   {.gid_index = asked.node.address.index})
			.value();
	std::vector<uint32_t> foreign = contexts(another, 1);

	for (size_t i = 0; i < asked.clients(); i++) {
		asked.meetings[i].exchange(foreign[0]);
		for (const char *why :
		     {"rx_drop_tid", "rx_drop_tid", "rx_drop_rcxt_busy",
		      "rx_drop_rcxt", "rx_drop_rcxt"})
			keeper.watch(i, why, [&] { keeper.must_have(i, 1); });
		/* And what it may do is done. */
		asked.meetings[i].exchange('w');
		keeper.must_have(i, 2);
	}
	keeper.must_live();
	asked.together();
}

void break_rules(const Arguments &arguments)
{
	Breaker breaker(arguments);
	Asker &asker = breaker.asker;

	breaker.write_well(1);
	uint32_t foreign = asker.meeting.exchange(uint32_t(0));
	uint32_t good = asker.request.remote_rcxt;

	breaker.by_another(good, 1, true);
	breaker.by_another(good, 1, false);
	breaker.two_at_once();
	/* Of another life of the adapter; and another window's. */
	breaker.by_another(good ^ 1u << PAVO_RCXT_INDEX_BITS, first_tid, true);
	breaker.by_another(foreign, first_tid, true);
	breaker.write_well(2);
	asker.meeting.exchange('w');
	together(asker.meeting);
}

void recover_from_the_past(const Arguments &arguments)
{
	Keeper keeper(arguments);
	Asked &asked = keeper.asked;
	pavo::Window &window = asked.node.window;

	/* All have written, and have recorded it. */
	asked.together();
	for (size_t i = 0; i < asked.clients(); i++)
		keeper.must_have(i, 1);
	recover(arguments.adapters[0]);
	must(!window.lmt().value().rcxts_owned,
	     "contexts are left by a recovery");
	fill(asked.memory, untouched, 2);
	asked.together();
	for (size_t i = 0; i < asked.clients(); i++) {
		/* The past; and who has not noticed. */
		for (int n = 0; n < 2; n++)
			keeper.watch(i, "rx_drop_rcxt", [&] {
				must_hold(asked.memory, untouched, 2);
			});
	}
	keeper.must_live();
	asked.rcxts = contexts(window, asked.clients());
	for (size_t i = 0; i < asked.clients(); i++) {
		asked.meetings[i].exchange(asked.rcxts[i]);
		asked.meetings[i].exchange('w');
		keeper.must_have(i, 3);
	}
	asked.together();
}

void replay_the_past(const Arguments &arguments)
{
	Wire wire(arguments.interface.c_str(), Wire::Way::OUT);
	Breaker breaker(arguments);
	Asker &asker = breaker.asker;

	breaker.write_well(1);
	std::vector<Frame> past = wire.recorded();
	must(past.size() >= rules_length / 1500, "too little was recorded");
	for (Frame &frame : past)
		windows::set_field(frame, at_checksum, 2, 0);
	together(asker.meeting);
	together(asker.meeting);
	breaker.until_dropped([&] {
		for (const Frame &frame : past)
			wire.send(frame);
	});
	fill(asker.memory, asker.self(), 3);
	breaker.until_dropped([&] { asker.attempt(true); });
	asker.request.remote_rcxt = asker.meeting.exchange(uint32_t(0));
	breaker.write_well(3);
	asker.meeting.exchange('w');
	together(asker.meeting);
}

} // namespace nodes
