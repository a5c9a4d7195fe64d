// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_told.cpp - what machines are told of RDMA between them: of its end, source, target,
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

using Clock = std::chrono::steady_clock;

/* Several packets, the last of them odd. */
constexpr size_t length = 20'007;
/* How long an attempt is waited for, before another. */
constexpr auto patience = std::chrono::milliseconds(200);

/* Until it is so, or an attempt was waited for. */
template <class Condition> bool soon(Condition &&condition)
{
	auto deadline = Clock::now() + patience;

	while (!condition()) {
		if (Clock::now() > deadline)
			return false;
		std::this_thread::yield();
	}
	return true;
}

/* ----------------------------------------------------------- who is told */

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
 * One end of an operation: its memory, and what its window is told. @source: it is where
 * the bytes come from.
 */
class End {
public:
	End(std::span<std::byte> memory, uint32_t client)
		: memory_(memory), client_(client)
	{
	}

	void begin(uint32_t tag, bool source)
	{
		unsigned flag = source ? PAVO_RDMA_TELL_SOURCE :
					 PAVO_RDMA_TELL_TARGET;

		tag_ = tag;
		source_ = source;
		wanted_ = choice(tag).flags & flag;
		tids_.clear();
		fill(memory_, source ? client_ : untouched, tag);
	}

	/* A source may be told again, of another attempt. */
	void take(const Message &came)
	{
		pavo_rdma_done done = came.done();

		must(came.type == PAVO_FRAME_RDMA_DONE && wanted_ &&
			     done.tag == tag_ && done.target == !source_,
		     "told of what was not to be told");
		must(done.status == PAVO_PVO_OK && done.length == length,
		     "told of something else");
		must(tids_.insert(done.tid).second &&
			     (source_ || tids_.size() == 1),
		     "told twice");
		must_hold(memory_, client_, tag_);
	}

	bool over() const
	{
		return (!wanted_ || !tids_.empty()) &&
		       first_wrong(memory_, client_, tag_) == length;
	}

private:
	std::span<std::byte> memory_;
	uint32_t client_;
	uint32_t tag_ = 0;
	bool source_ = false;
	/* It is to be told. */
	bool wanted_ = false;
	std::set<uint64_t> tids_;
};

/* The server of one operation of each client. */
class Round {
public:
	Round(Asked &asked, std::vector<End> &ends)
		: asked_(asked), ends_(ends), over_(ends.size())
	{
	}

	/* Until those who have asked once more are served, or have to ask again. */
	bool attempt()
	{
		bool all = true;

		soon([&] {
			asked_.node.window.receive([&](const Message &came) {
				ends_.at(came.node - 1u).take(came);
			});
			return std::ranges::all_of(ends_, &End::over);
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
	std::vector<End> &ends_;
	/* At both ends. */
	std::vector<bool> over_;
};

} // namespace

void serve_told(const Arguments &arguments)
{
	Asked asked(arguments, length);
	std::vector<End> ends;

	for (size_t i = 0; i < asked.clients(); i++)
		ends.emplace_back(asked.part(i), uint32_t(i + 1));
	for (uint32_t tag = 0; tag < choices; tag++) {
		for (End &end : ends)
			end.begin(tag, !choice(tag).write);
		asked.together();
		Round round(asked, ends);
		until([&] { return round.attempt(); }, "an operation of each");
	}
}

void ask_told(const Arguments &arguments)
{
	Asker asker(arguments, length);
	End end(asker.memory, asker.self());
	uint64_t attempts = 0;

	for (uint32_t tag = 0; tag < choices; tag++) {
		bool write = choice(tag).write, over = false;

		asker.request.tag = tag;
		asker.request.flags = uint8_t(choice(tag).flags);
		asker.request.attempts = 0;
		end.begin(tag, write);
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
		: asker_(arguments, length), adapter_(arguments.adapters[0])
	{
		fill(asker_.memory, untouched, 0);
		together(asker_.meeting);
	}

	/* Nothing is moved, and it is told why. */
	void abroad()
	{
		const uint64_t right = asker_.request.remote_pvo;

		for (bool write : {true, false}) {
			/* Another key; and a page that nobody mapped. */
			asker_.request.remote_pvo = right ^ uint64_t(1) << 60;
			must(told(write).status == PAVO_PVO_KEY,
			     "a wrong key has another status");
			asker_.request.remote_pvo = right + (uint64_t(1) << 36);
			must(told(write).status != PAVO_PVO_OK,
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
		must(told(true).status == PAVO_PVO_OK, "an honest write");
	}

	/* Its own memory it has to know: its window is dead, for everybody. */
	void at_home()
	{
		pavo_rdma_request &request = asker_.request;
		const uint64_t right = request.local_pvo;
		Window &window = asker_.asking();

		request.tid++;
		request.local_pvo ^= uint64_t(1) << 60;
		must(asker_.ask(true) == PAVO_FRAME_BAD_PVO,
		     "memory that is not its own was sent");
		must(window.lmt().state == 2 &&
			     window.lmt().fatal_rcxt == request.local_rcxt,
		     "the window does not say of what it died");
		request.tid++;
		request.local_pvo = right;
		must(asker_.ask(true) == PAVO_FRAME_DEAD,
		     "a dead window sends");
		be_sent_to();
	}

private:
	/* Of one attempt after the other: one is answered. */
	pavo_rdma_done told(bool write)
	{
		pavo_rdma_request &request = asker_.request;
		pavo_rdma_done answer{};

		request.flags = write ? PAVO_RDMA_TELL_SOURCE :
					PAVO_RDMA_TELL_TARGET;
		request.attempts = 0;
		request.tag++;
		until(
			[&] {
				asker_.attempt(write);
				request.attempts++;
				return soon([&] { return hear(answer); });
			},
			"to be told of an operation");
		return answer;
	}

	/* Of the last attempt; of others it may be told later. */
	bool hear(pavo_rdma_done &answer)
	{
		bool heard = false;

		asker_.asking().receive([&](const Message &came) {
			must(came.type == PAVO_FRAME_RDMA_DONE,
			     "told of what is no end of RDMA");
			pavo_rdma_done done = came.done();
			if (done.tid != asker_.request.tid)
				return;
			must(done.tag == asker_.request.tag,
			     "told of another operation");
			answer = done;
			heard = true;
		});
		return heard;
	}

	/* Messages are dropped, counted, and come into no frame. */
	void be_sent_to()
	{
		uint32_t had = asker_.asking().lmt().recv_count;
		uint64_t before = dropped();

		asker_.meeting.exchange('d');
		until([&] { return dropped() != before; },
		      "a message to a dead window to be dropped");
		must(asker_.asking().lmt().recv_count == had,
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
	Asked asked(arguments, length);
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
	until(
		[&] {
			for (size_t i = 0; i < asked.clients(); i++)
				window.send(uint16_t(i + 1), asked.windows[i],
					    {});
			return asked.all_wait();
		},
		"clients that are dead");
	for (examples::Meeting &meeting : asked.meetings)
		meeting.exchange('e');
	must(window.lmt().state == 1 && !window.lmt().recv_count,
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
