// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_talk.cpp - messages between machines, each answered. An end that misses the answer
 * says a lost message again, so every message comes at least once. The one that serves looks
 * for them, or looks when one of its handlers is signalled.
 */
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include <pavo/handler.hpp>

#include "nodes.h"

using pavo::Message;
using pavo::Window;

namespace nodes {

namespace {

using Clock = std::chrono::steady_clock;

/* Of answers: their pattern is another than that of what they answer. */
constexpr uint32_t answer_of = 100;
/* Messages of a client that wait for an answer, and how long. */
constexpr size_t ahead = 8;
constexpr auto talk_patience = std::chrono::milliseconds(30);

/* From no byte of pattern to all that there is room for. */
size_t length_of(const Window &window, uint32_t number)
{
	size_t most = window.max_payload() - sizeof(Head);

	return sizeof(Head) + (number % 8 ? number * 367 % most : most);
}

/* A message that there is no room for is said again, like one that is lost. */
void say(Window &window, uint16_t node, uint32_t to,
	 std::span<const std::byte> bytes)
{
	auto sent = window.send({node, to}, bytes);

	if (sent != pavo::Unexpected(std::errc::no_buffer_space))
		must(sent, "message");
}

} // namespace

std::vector<std::byte> message(const Window &window, uint32_t node, Head head)
{
	std::vector<std::byte> bytes(length_of(window, head.number));

	memcpy(bytes.data(), &head, sizeof(head));
	fill(std::span(bytes).subspan(sizeof(head)), node, head.number);
	return bytes;
}

Head look(const Window &window, uint32_t node, const Message &message)
{
	Head head;

	must(message.type == pavo::FrameType::message &&
		     message.payload.size() >= sizeof(head),
	     "what came is no message");
	memcpy(&head, message.payload.data(), sizeof(head));
	must(message.payload.size() == length_of(window, head.number),
	     "a message has not the length that it was sent with");
	must_hold(message.payload.subspan(sizeof(head)), node, head.number);
	return head;
}

/* ------------------------------------------------------------------- server */

namespace {

class MessageServer {
public:
	explicit MessageServer(const Arguments &arguments)
		: server_(arguments), seen_(arguments.clients)
	{
	}

	Window &window() { return server_.node.window; }
	/* How many came, with those that came again. */
	uint64_t taken() const { return taken_; }

	/* Takes and answers what is there. */
	void serve()
	{
		window().receive(
			[this](const Message &message) { take(message); });
	}

	bool each_sent(size_t n) const
	{
		for (auto &numbers : seen_)
			if (numbers.size() < n)
				return false;
		return true;
	}

	/* All that were sent have come. */
	void finish()
	{
		enough_ = true;
		until("all messages to be answered", [this] {
			serve();
			return server_.all_wait();
		});
		for (size_t i = 0; i < seen_.size(); i++) {
			uint32_t sent =
				server_.meetings[i].exchange(uint32_t(0));

			must(seen_[i].size() == sent &&
				     *seen_[i].rbegin() == sent - 1,
			     "other messages came than were sent");
		}
	}

private:
	void take(const Message &came)
	{
		Head head = look(window(), came.from.node, came);

		must(came.from.node > 0 && came.from.node <= seen_.size() &&
			     came.from.window ==
				     server_.windows[came.from.node - 1u],
		     "a message comes from another window");
		seen_[came.from.node - 1u].insert(head.number);
		taken_++;
		say(window(), came.from.node, came.from.window,
		    message(window(), answer_of + came.from.node,
			    {head.number, enough_}));
	}

	Server server_;
	/* Numbers of each client. */
	std::vector<std::set<uint32_t>> seen_;
	uint64_t taken_ = 0;
	bool enough_ = false;
};

/* Three handlers of a window, which all wait in one epoll set. */
class Handlers {
public:
	explicit Handlers(Window &window) : set_(epoll_create1(EPOLL_CLOEXEC))
	{
		for (uint32_t i = 0; i < 3; i++) {
			epoll_event event{.events = EPOLLIN,
					  .data = {.u32 = i}};

			all_.push_back(std::make_unique<pavo::Handler>(
				pavo::Handler::open(window).value()));
			must(!epoll_ctl(set_, EPOLL_CTL_ADD, all_[i]->fd(),
					&event),
			     "epoll");
			must(all_[i]->ready(), "handler");
		}
	}
	~Handlers() { close(set_); }
	Handlers(const Handlers &) = delete;

	bool quiet() const { return given(0) < 0; }

	/* Events are given to handlers round-robin. */
	void wait()
	{
		must(given(90'000) == next_, "not the next one");
		must(all_[next_]->take() && quiet(), "more than one event");
	}

	/* That one is ready for another. */
	void ready()
	{
		must(all_[next_]->ready(), "handler");
		next_ = (next_ + 1) % int(all_.size());
	}

private:
	/* The handler that was given an event; -1: none within @ms. */
	int given(int ms) const
	{
		std::array<epoll_event, 4> events{};
		int n = epoll_wait(set_, events.data(), int(events.size()), ms);

		must(n >= 0 && n <= 1, "an event is for one");
		return n ? int(events[0].data.u32) : -1;
	}

	std::vector<std::unique_ptr<pavo::Handler>> all_;
	int next_ = 0;
	int set_;
};

/* When there is to be an event. */
struct Threshold {
	uint32_t n;
	bool early;

	void ask(Window &window) const
	{
		must(early ? window.recv_threshold_early(n) :
			     window.recv_threshold(n),
		     "threshold");
	}
	/*
	 * So many slots are in use by then. An early one may be of a frame that was
	 * under way when it was asked for; with one CPU that is one.
	 */
	uint32_t least() const { return early ? n - 1 : n; }
};

/* While it waits the clients say again what was not answered: n will come. */
void one_event(MessageServer &listener, Handlers &handlers, Threshold threshold)
{
	Window &window = listener.window();
	uint32_t before = window.lmt().value().recv_count;
	uint32_t received = window.received();

	threshold.ask(window);
	/* Messages that came before it was asked for raise none. */
	listener.serve();
	handlers.wait();
	must(window.lmt().value().recv_count - before >= threshold.least(),
	     "an event came too soon");
	until("the messages that an event was of", [&] {
		listener.serve();
		return window.received() - received >= threshold.n;
	});
	handlers.ready();
}

/* Thresholds that are turned off. */
void no_event(MessageServer &listener, Handlers &handlers)
{
	Window &window = listener.window();

	for (bool early : {false, true}) {
		Threshold{40, early}.ask(window);
		Threshold{0, early}.ask(window);
		uint64_t taken = listener.taken();
		until("more messages", [&] {
			listener.serve();
			return listener.taken() >= taken + 50;
		});
		must(handlers.quiet() && !window.lmt().value().event_kept,
		     "an event without a request");
	}
}

} // namespace

void serve_messages(const Arguments &arguments)
{
	MessageServer listener(arguments);

	until("200 messages of each", [&] {
		listener.serve();
		return listener.each_sent(200);
	});
	listener.finish();
}

void serve_events(const Arguments &arguments)
{
	MessageServer listener(arguments);
	Handlers handlers(listener.window());

	for (bool early : {false, true})
		for (uint32_t n : {1, 2, 5})
			for (int times = 0; times < 5; times++)
				one_event(listener, handlers, {n, early});
	no_event(listener, handlers);
	listener.finish();
}

/* ------------------------------------------------------------------- client */

namespace {

class Speaker {
public:
	explicit Speaker(const Arguments &arguments) : client_(arguments) {}

	/* Until the peer said that it is enough, and all was answered. */
	void run()
	{
		until("answers", [this] {
			hear();
			speak();
			return enough_ && open_.empty();
		});
		client_.meeting.exchange(next_);
	}

private:
	Window &window() { return client_.node.window; }

	void hear()
	{
		window().receive([this](const Message &came) {
			Head head = look(window(), answer_of + client_.self(),
					 came);

			must(!came.from.node &&
				     came.from.window == client_.window,
			     "an answer comes from another window");
			must(head.number < next_, "an answer to nothing");
			open_.erase(head.number);
			enough_ = enough_ || head.enough;
		});
	}

	void speak()
	{
		auto now = Clock::now();

		while (!enough_ && open_.size() < ahead)
			open_[next_++] = {};
		for (auto &[number, again] : open_) {
			if (now < again)
				continue;
			say(window(), 0, client_.window,
			    message(window(), client_.self(), {number, 0}));
			again = now + talk_patience;
		}
	}

	Client client_;
	/* Messages that were not answered, and when they are to be said again. */
	std::map<uint32_t, Clock::time_point> open_;
	uint32_t next_ = 0;
	bool enough_ = false;
};

} // namespace

void send_messages(const Arguments &arguments)
{
	Speaker(arguments).run();
}

} // namespace nodes
