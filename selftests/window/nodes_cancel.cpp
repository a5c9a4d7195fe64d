// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_cancel.cpp - RDMA between machines that is cancelled when some of its bytes are
 * there: the memory is used for something else at once, and nothing more is written to it,
 * though packets still come. The server cancels a put, the client cancels a get, and in
 * every other round the other end cancels, too.
 */
#include <algorithm>
#include <cstdio>

#include "nodes_attempts.h"

namespace nodes {

namespace {

/* Hundreds of packets. */
constexpr size_t cancel_length = 1 << 20;
constexpr uint32_t cancel_rounds = 16;

constexpr bool is_put(uint32_t round)
{
	return round % 2 == 0;
}

constexpr bool at_both(uint32_t round)
{
	return round % 4 >= 2;
}

/* Where the bytes of operations go. */
class Sink {
public:
	explicit Sink(std::span<std::byte> memory) : memory_(memory) {}

	void clear() { std::ranges::fill(memory_, std::byte(0)); }

	/* A look at some bytes: of each packet at least one. */
	bool begun() const
	{
		for (size_t i = 0; i < cancel_length; i += 256)
			if (memory_[i] != std::byte(0))
				return true;
		return false;
	}

	/* Right behind the cancel. */
	void use_again(uint32_t client, uint32_t round)
	{
		cut_ += first_wrong(memory_, client, round) < cancel_length;
		fill(memory_, used_again + client, round);
	}

	void must_be_as_it_was(uint32_t client, uint32_t round) const
	{
		must_hold(memory_, used_again + client, round);
	}

	/* Of how many operations bytes were missing at the cancel. */
	uint32_t cut() const { return cut_; }

private:
	std::span<std::byte> memory_;
	uint32_t cut_ = 0;
};

/* ------------------------------------------------------------------- server */

/* With one client after the other. */
class CancelServer {
public:
	explicit CancelServer(const Arguments &arguments)
		: asked_(arguments, cancel_length)
	{
		for (size_t i = 0; i < asked_.clients(); i++)
			sinks_.emplace_back(asked_.part(i));
	}

	void round(uint32_t number)
	{
		for (size_t i = 0; i < sinks_.size(); i++)
			if (is_put(number))
				be_put(i, number);
			else
				be_got(i, number);
		/* Other clients may have done anything in between. */
		asked_.together();
		if (is_put(number))
			for (size_t i = 0; i < sinks_.size(); i++)
				sinks_[i].must_be_as_it_was(client(i), number);
	}

	void finish()
	{
		for (const Sink &sink : sinks_)
			must(sink.cut() > 0, "no cancel came in the middle");
		asked_.together();
	}

private:
	static uint32_t client(size_t i) { return uint32_t(i + 1); }

	void cancel(size_t i)
	{
		must(asked_.node.window.cancel({&asked_.rcxts[i], 1}),
		     "cancel");
	}

	void be_put(size_t i, uint32_t number)
	{
		nodes::Meeting &meeting = asked_.meetings[i];
		Sink &sink = sinks_[i];

		sink.clear();
		meeting.exchange('p');
		until("bytes of a put", [&] { return sink.begun(); });
		cancel(i);
		sink.use_again(client(i), number);
		/* All of it was sent; and it was cancelled there, too. */
		meeting.exchange('c');
		sink.must_be_as_it_was(client(i), number);
	}

	void be_got(size_t i, uint32_t number)
	{
		nodes::Meeting &meeting = asked_.meetings[i];

		fill(asked_.part(i), client(i), number);
		meeting.exchange('g');
		/* It was cancelled where the bytes go. */
		meeting.exchange('c');
		if (at_both(number))
			cancel(i);
		/* While its data is still sent, the context takes none. */
		until("the end of a get",
		      [&] { return !asked_.node.window.lmt().value().rcxts; });
		must_hold(asked_.part(i), client(i), number);
	}

	Asked asked_;
	std::vector<Sink> sinks_;
};

/* ------------------------------------------------------------------- client */

class CancelClient {
public:
	explicit CancelClient(const Arguments &arguments)
		: asker_(arguments, cancel_length), sink_(asker_.memory)
	{
	}

	void round(uint32_t number)
	{
		asker_.request.tag = number;
		if (is_put(number))
			put(number);
		else
			get(number);
		together(asker_.meeting);
		if (!is_put(number))
			sink_.must_be_as_it_was(asker_.self(), number);
	}

	void finish()
	{
		must(sink_.cut() > 0, "no cancel came in the middle");
		must(!asker_.asking().lmt().value().recv_count,
		     "notified of what was cancelled, and not to be notified");
		together(asker_.meeting);
		printf("%u of %u gets were cut\n", sink_.cut(),
		       cancel_rounds / 2);
	}

private:
	void cancel()
	{
		must(asker_.asking().cancel({&asker_.request.local_rcxt, 1}),
		     "cancel");
	}

	void put(uint32_t number)
	{
		fill(asker_.memory, asker_.self(), number);
		asker_.meeting.exchange('p');
		asker_.attempt(true);
		if (at_both(number))
			cancel();
		asker_.meeting.exchange('c');
	}

	void get(uint32_t number)
	{
		sink_.clear();
		asker_.meeting.exchange('g');
		until("bytes of a get", [&] { return begin_to_get(); });
		cancel();
		sink_.use_again(asker_.self(), number);
		asker_.meeting.exchange('c');
	}

	/*
	 * The request may be lost. Another attempt would begin anew behind a cancel of
	 * this one, if this is only late: its context is not to be this one's.
	 */
	bool begin_to_get()
	{
		asker_.attempt(false);
		if (common::eventually([&] { return sink_.begun(); },
				       std::chrono::milliseconds(500)))
			return true;
		must(asker_.asking().return_rcxts(
			     {&asker_.request.local_rcxt, 1}),
		     "return");
		sink_.clear();
		asker_.request.local_rcxt = contexts(asker_.asking(), 1)[0];
		return false;
	}

	Asker asker_;
	Sink sink_;
};

} // namespace

void serve_cancelled(const Arguments &arguments)
{
	CancelServer server(arguments);

	for (uint32_t number = 0; number < cancel_rounds; number++)
		server.round(number);
	server.finish();
}

void cancel_in_the_middle(const Arguments &arguments)
{
	CancelClient client(arguments);

	for (uint32_t number = 0; number < cancel_rounds; number++)
		client.round(number);
	client.finish();
}

} // namespace nodes
