// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_notified.cpp - notifications of RDMA between machines: of its end, source, target,
 * both or none; and that it was refused, or why a window is dead.
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
constexpr size_t notified_length = 20'007;
/* ----------------------------------------------------------- notifications */

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
 * One end of the operations of a client: its memory, and the notifications of its window. Attempts
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
		     "notified of what was not to be notified");
		must(done.status == pavo::PvoResult::ok &&
			     done.length == notified_length,
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
		       first_wrong(memory_, client_, tag_) == notified_length;
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
		       (is_source(tag) ? pavo::rdma_flag::notify_source :
					 pavo::rdma_flag::notify_target);
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
	Round(Asked &asked, std::vector<NotifiedEnd> &ends)
		: asked_(asked), ends_(ends), over_(ends.size())
	{
	}

	/* Until those who have asked once more are served, or have to ask again. */
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
	Asked &asked_;
	std::vector<NotifiedEnd> &ends_;
	/* At both ends. */
	std::vector<bool> over_;
};

} // namespace

void serve_notified(const Arguments &arguments)
{
	Asked asked(arguments, notified_length);
	std::vector<NotifiedEnd> ends;

	for (size_t i = 0; i < asked.clients(); i++)
		ends.emplace_back(asked.part(i), uint32_t(i + 1), false);
	for (uint32_t tag = 0; tag < choices; tag++) {
		for (NotifiedEnd &end : ends)
			end.begin(tag);
		asked.together();
		Round round(asked, ends);
		until("an operation of each", [&] { return round.attempt(); });
	}
}

void ask_notified(const Arguments &arguments)
{
	Asker asker(arguments, notified_length);
	NotifiedEnd end(asker.memory, asker.self(), true);
	uint64_t attempts = 0;

	for (uint32_t tag = 0; tag < choices; tag++) {
		bool write = choice(tag).write, over = false;

		asker.request.tag = tag;
		asker.request.flags = uint8_t(choice(tag).flags);
		asker.request.attempts = 0;
		end.begin(tag);
		together(asker.meeting);
		while (!over) {
			asker.attempt(write);
			asker.request.attempts++;
			attempts++;
			bool here = soon([&] {
				asker.asking().receive(
					[&](const Message &came) {
						end.take(came);
					});
				return end.over();
			});
			over = asker.meeting.exchange(here) && here;
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
		: asker_(arguments, notified_length),
		  adapter_(arguments.adapters[0])
	{
		fill(asker_.memory, untouched, 0);
		together(asker_.meeting);
	}

	/* Nothing is moved, and the notification says why. */
	void abroad()
	{
		const uint64_t right = asker_.request.remote_pvo;

		for (bool write : {true, false}) {
			/* Another key; and a page that is not mapped. */
			asker_.request.remote_pvo = right ^ uint64_t(1) << 60;
			must(asker_.notified(write).status ==
				     pavo::PvoResult::key,
			     "a wrong key has another status");
			asker_.request.remote_pvo = right + (uint64_t(1) << 36);
			must(asker_.notified(write).status !=
				     pavo::PvoResult::ok,
			     "a page that is not mapped was read or written");
			must_hold(asker_.memory, untouched, 0);
		}
		asker_.request.remote_pvo = right;
		/* The other end looks. */
		together(asker_.meeting);
		together(asker_.meeting);
	}

	/* And what it may do is done. */
	void honest()
	{
		fill(asker_.memory, asker_.self(), 1);
		must(asker_.notified(true).status == pavo::PvoResult::ok,
		     "an honest write");
	}

	/* Its own memory it has to know: its window is dead, for everybody. */
	void at_home()
	{
		pavo::RequestFrame &request = asker_.request;
		const uint64_t right = request.local_pvo;
		Window &window = asker_.asking();

		request.tid++;
		request.local_pvo ^= uint64_t(1) << 60;
		must(asker_.ask(true) == pavo::FrameState::bad_pvo,
		     "memory that is not its own was sent");
		must(window.lmt().value().state == pavo::WindowState::dead &&
			     window.lmt().value().fatal_rcxt ==
				     request.local_rcxt,
		     "the window does not say of what it died");
		request.tid++;
		request.local_pvo = right;
		must(asker_.ask(true) == pavo::FrameState::dead,
		     "a dead window sends");
		be_sent_to();
	}

private:
	/* Messages are dropped, counted, and come into no frame. */
	void be_sent_to()
	{
		uint32_t had = asker_.asking().lmt().value().recv_count;
		uint64_t before = dropped();

		asker_.meeting.exchange('d');
		until("a message to a dead window to be dropped",
		      [&] { return dropped() != before; });
		must(asker_.asking().lmt().value().recv_count == had,
		     "a dead window takes messages");
		asker_.meeting.exchange('e');
	}

	uint64_t dropped() const { return counter(adapter_, "rx_drop_window"); }

	Asker asker_;
	std::string adapter_;
};

} // namespace

void suffer_violations(const Arguments &arguments)
{
	Asked asked(arguments, notified_length);
	Window &window = asked.node.window;

	fill(asked.memory, untouched, 0);
	asked.together();
	/* All were refused. */
	asked.together();
	must_hold(asked.memory, untouched, 0);
	asked.together();
	for (size_t i = 0; i < asked.clients(); i++) {
		asked.meetings[i].exchange('d');
		must_hold(asked.part(i), uint32_t(i + 1), 1);
	}
	until("clients that are dead", [&] {
		for (size_t i = 0; i < asked.clients(); i++)
			(void)window.send({uint16_t(i + 1), asked.windows[i]},
					  {});
		return asked.all_wait();
	});
	for (nodes::Meeting &meeting : asked.meetings)
		meeting.exchange('e');
	must(window.lmt().value().state == pavo::WindowState::valid &&
		     !window.lmt().value().recv_count,
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
