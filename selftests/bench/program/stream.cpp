// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A stream of messages with a window of outstanding work requests.
 *
 * Owns: the loop that posts, reaps and, for sends, gives receives back. Called
 * by: main.cpp. One thread plays both ends, so that no scheduler is measured.
 */
#include <algorithm>
#include <stdexcept>

#include "timed.h"

namespace bench {

namespace {

constexpr int batch = 16;

class Stream {
public:
	Stream(Pair &pair, const StreamSpec &spec);

	void run(int messages);

private:
	void give_receives(int count);
	void take_receives();
	void post_chain(int count);

	Pair &pair_;
	const StreamSpec &spec_;
	std::vector<Request> requests_;
	std::vector<Place> places_;
	std::vector<ibv_recv_wr> receives_;
	uint64_t posted_ = 0;
	uint64_t done_ = 0;
	uint64_t end_ = 0;
	uint64_t given_ = 0;
};

Stream::Stream(Pair &pair, const StreamSpec &spec)
	: pair_(pair), spec_(spec), requests_(spec.window),
	  receives_(spec.window)
{
	size_t stride = stride_of(spec.size);

	for (int i = 0; i < spec.window; i++) {
		prepare(requests_[i], pair.a, pair.b, spec.op, i * stride,
			spec.size);
		places_.emplace_back(pair.b, i * stride, spec.size);
	}
	if (spec.op == Op::send)
		give_receives(spec.window);
}

/* In order: the n-th message of a stream lands in the slot it came from. */
void Stream::give_receives(int count)
{
	for (int i = 0; i < count; i++) {
		ibv_recv_wr &wr = receives_[i];

		wr = {};
		places_[given_++ % spec_.window].set(wr);
		wr.next = i + 1 < count ? &receives_[i + 1] : nullptr;
	}
	post(pair_.b, receives_.data());
}

void Stream::take_receives()
{
	ibv_wc wc[batch];
	int count;

	while ((count = pair_.b.received->reap(wc, batch)))
		give_receives(count);
	/* a message is received before its sender is told so; a sender of datagrams is not told */
	while (given_ < done_ + spec_.window) {
		if (!pair_.a.to_peer)
			throw std::runtime_error(
				"a receive has not been completed");
		give_receives(pair_.b.received->wait(wc, batch));
	}
}

void Stream::post_chain(int count)
{
	Request *first = &requests_[posted_ % spec_.window];
	Request *request = nullptr;

	for (int i = 0; i < count; i++) {
		Request *next = &requests_[posted_ % spec_.window];
		bool last = posted_ + 1 == end_;

		if (request)
			request->wr.next = &next->wr;
		request = next;
		posted_++;
		request->wr.wr_id = posted_;
		request->wr.send_flags =
			posted_ % spec_.signal && !last ? 0 : IBV_SEND_SIGNALED;
	}
	request->wr.next = nullptr;
	post(pair_.a, &first->wr);
}

void Stream::run(int messages)
{
	bool sends = spec_.op == Op::send;
	ibv_wc wc[batch];

	end_ = posted_ + messages;
	while (done_ < end_) {
		while (posted_ < end_) {
			int count =
				std::min<uint64_t>(spec_.chain, end_ - posted_);

			if (posted_ + count > done_ + spec_.window)
				break;
			if (sends && posted_ + count > given_)
				take_receives();
			post_chain(count);
		}
		/* completions come in order; each stands for those before it */
		int count = pair_.a.sent->wait(wc, batch);

		done_ = wc[count - 1].wr_id;
	}
	if (sends)
		take_receives();
}

} // namespace

uint64_t Verbs::stream(const StreamSpec &spec)
{
	bool read = spec.op == Op::read;
	uint8_t *source = read ? pair_.b.out : pair_.a.out;
	uint8_t *target = read ? pair_.a.in : pair_.b.in;

	pattern_fill(source, stride_of(spec.size) * spec.window, spec.seed, 0);
	Stream stream(pair_, spec);
	return timed_stream(
		spec, source, target, [&](int count) { stream.run(count); },
		verify);
}

} // namespace bench
