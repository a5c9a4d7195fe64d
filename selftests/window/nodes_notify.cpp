// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_notify.cpp - notifications of RDMA between machines: of its end at the source, the
 * target, both or none; of a refusal; and of the reason why a window is dead.
 */
#include <algorithm>
#include <cstdio>
#include <set>

#include "nodes_attempts.h"

using pavo::Message;
using pavo::Window;

namespace nodes {

namespace {

/* Several packets, the last of them odd. */
constexpr size_t notify_length = 20'007;
/* --------------------------------------------------------- notifications */

/* All choices: writes, then reads; its number is its tag and its pattern. */
struct Choice {
	bool write;
	unsigned flags;
};

constexpr uint32_t choices = 8;

constexpr Choice choice(uint32_t tag)
{
	return {tag < 4, tag % 4};
}

/*
 * One end of the operations of a client: its memory, and its notifications. Attempts
 * that were one too many end as well, perhaps when the next operation has begun. Only who is
 * written to hears of each operation once: it knows its attempts from each other.
 */
class NotifiedEnd {
public:
	/* @asks: it is the client's. */
	NotifiedEnd(std::span<std::byte> memory, uint32_t client, bool asks)
		: memory_(memory), client_(client), asks_(asks)
	{
	}

	void begin(uint32_t tag)
	{
		tag_ = tag;
		heard_ = false;
		fill(memory_, is_source(tag) ? client_ : untouched, tag);
	}

	void take(const Message &came)
	{
		pavo::DoneFrame done = came.done();
		uint32_t tag = done.tag;

		must(came.type == pavo::FrameType::rdma_done && tag <= tag_ &&
			     is_told(tag) && done.target == !is_source(tag),
		     "notified without a request for it");
		must(done.status == pavo::PvoResult::ok &&
			     done.length == notify_length,
		     "notified of something else");
		must(tids_.insert(done.tid).second,
		     "notified twice of an attempt");
		must((tag == tag_ && !heard_) || asks_ || is_source(tag),
		     "notified twice of an operation");
		if (tag < tag_)
			return;
		heard_ = true;
		must_hold(memory_, client_, tag);
	}

	bool over() const
	{
		return (heard_ || !is_told(tag_)) &&
		       first_wrong(memory_, client_, tag_) == notify_length;
	}

private:
	/* This end is where the bytes come from. */
	bool is_source(uint32_t tag) const
	{
		return choice(tag).write == asks_;
	}

	bool is_told(uint32_t tag) const
	{
		return choice(tag).flags &
		       (is_source(tag) ? pavo::rdma_flag::tell_source :
					 pavo::rdma_flag::tell_target);
	}

	std::span<std::byte> memory_;
	uint32_t client_;
	bool asks_;
	uint32_t tag_ = 0;
	/* Of that one's end. */
	bool heard_ = false;
	std::set<uint64_t> tids_;
};

/* The server of one operation of each client. */
class Round {
public:
	Round(Responder &responder, std::vector<NotifiedEnd> &ends)
		: asked_(responder), ends_(ends), over_(ends.size())
	{
	}

	/* Until those that have repeated a request are served, or have to repeat it. */
	bool attempt()
	{
		bool all = true;

		soon([&] {
			asked_.node.window.receive([&](const Message &came) {
				ends_.at(came.from.node - 1u).take(came);
			});
			return std::ranges::all_of(ends_, &NotifiedEnd::over);
		});
		for (size_t i = 0; i < ends_.size(); i++) {
			if (over_[i])
				continue;
			bool here = ends_[i].over();
			over_[i] = asked_.meetings[i].exchange(here) && here;
			all &= over_[i];
		}
		return all;
	}

private:
	Responder &asked_;
	std::vector<NotifiedEnd> &ends_;
	/* At both ends. */
	std::vector<bool> over_;
};

} // namespace

void serve_notify(const Arguments &arguments)
{
	Responder responder(arguments, notify_length);
	std::vector<NotifiedEnd> ends;

	for (size_t i = 0; i < responder.clients(); i++)
		ends.emplace_back(responder.part(i), uint32_t(i + 1), false);
	for (uint32_t tag = 0; tag < choices; tag++) {
		for (NotifiedEnd &end : ends)
			end.begin(tag);
		responder.together();
		Round round(responder, ends);
		until("an operation of each", [&] { return round.attempt(); });
	}
}

void request_notify(const Arguments &arguments)
{
	Requester requester(arguments, notify_length);
	NotifiedEnd end(requester.memory, requester.self(), true);
	uint64_t attempts = 0;

	for (uint32_t tag = 0; tag < choices; tag++) {
		bool write = choice(tag).write, over = false;

		requester.request.tag = tag;
		requester.request.flags = uint8_t(choice(tag).flags);
		requester.request.attempts = 0;
		end.begin(tag);
		together(requester.meeting);
		while (!over) {
			requester.attempt(write);
			requester.request.attempts++;
			attempts++;
			bool here = soon([&] {
				requester.own_window().receive(
					[&](const Message &came) {
						end.take(came);
					});
				return end.over();
			});
			over = requester.meeting.exchange(here) && here;
		}
	}
	printf("%llu attempts of %u operations\n",
	       static_cast<unsigned long long>(attempts), choices);
}

/* ------------------------------------------------------------- violations */

namespace {

/* A client that does what it may not. */
class Violator {
public:
	explicit Violator(const Arguments &arguments)
		: requester_(arguments, notify_length),
		  adapter_(arguments.adapters[0])
	{
		fill(requester_.memory, untouched, 0);
		together(requester_.meeting);
	}

	/* No data is moved, and the requester is notified of the reason. */
	void abroad()
	{
		const uint64_t right = requester_.request.remote_pvo;

		for (bool write : {true, false}) {
			/* Another key; and a page that is not mapped. */
			requester_.request.remote_pvo = right ^ uint64_t(1)
									<< 60;
			must(requester_.complete(write).status ==
				     pavo::PvoResult::key,
			     "a wrong key has another status");
			requester_.request.remote_pvo =
				right + (uint64_t(1) << 36);
			must(requester_.complete(write).status !=
				     pavo::PvoResult::ok,
			     "a page that is not mapped was read or written");
			must_hold(requester_.memory, untouched, 0);
		}
		requester_.request.remote_pvo = right;
		/* The other end looks. */
		together(requester_.meeting);
		together(requester_.meeting);
	}

	/* And what it may do is done. */
	void honest()
	{
		fill(requester_.memory, requester_.self(), 1);
		must(requester_.complete(true).status == pavo::PvoResult::ok,
		     "an honest write");
	}

	/* Its own memory it has to know: its window is dead, for everybody. */
	void at_home()
	{
		pavo::RequestFrame &request = requester_.request;
		const uint64_t right = request.local_pvo;
		Window &window = requester_.own_window();

		request.tid++;
		request.local_pvo ^= uint64_t(1) << 60;
		must(requester_.post(true) == pavo::FrameState::bad_pvo,
		     "memory that is not its own was sent");
		must(window.lmt()->state == pavo::WindowState::dead &&
			     window.lmt()->fatal_rcxt == request.local_rcxt,
		     "the window does not say of what it died");
		request.tid++;
		request.local_pvo = right;
		must(requester_.post(true) == pavo::FrameState::dead,
		     "a dead window sends");
		be_sent_to();
	}

private:
	/* Messages are dropped, counted, and come into no frame. */
	void be_sent_to()
	{
		uint32_t had = requester_.own_window().lmt()->recv_count;
		uint64_t before = dropped();

		requester_.meeting.exchange('d');
		until("a message to a dead window to be dropped",
		      [&] { return dropped() != before; });
		must(requester_.own_window().lmt()->recv_count == had,
		     "a dead window takes messages");
		requester_.meeting.exchange('e');
	}

	uint64_t dropped() const { return counter(adapter_, "rx_drop_window"); }

	Requester requester_;
	std::string adapter_;
};

} // namespace

void suffer_violations(const Arguments &arguments)
{
	Responder responder(arguments, notify_length);
	Window &window = responder.node.window;

	fill(responder.memory, untouched, 0);
	responder.together();
	/* All were refused. */
	responder.together();
	must_hold(responder.memory, untouched, 0);
	responder.together();
	for (size_t i = 0; i < responder.clients(); i++) {
		responder.meetings[i].exchange('d');
		must_hold(responder.part(i), uint32_t(i + 1), 1);
	}
	until("clients that are dead", [&] {
		for (size_t i = 0; i < responder.clients(); i++)
			(void)window.send(
				{uint16_t(i + 1), responder.windows[i]}, {});
		return responder.all_wait();
	});
	for (examples::Meeting &meeting : responder.meetings)
		meeting.exchange('e');
	must(window.lmt()->state == pavo::WindowState::valid &&
		     !window.lmt()->recv_count,
	     "what others do wrong came to this window");
}

void violate(const Arguments &arguments)
{
	Violator violator(arguments);

	violator.abroad();
	violator.honest();
	violator.at_home();
}

} // namespace nodes
