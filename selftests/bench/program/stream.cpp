// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A stream of messages with a window of outstanding work requests on each queue pair.
 *
 * Owns: the loop that posts, reaps and, for sends, gives receives back. Called
 * by: main.cpp. One thread plays both ends, so that no scheduler is measured.
 */
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "timed.h"

namespace bench {

namespace {

constexpr int batch = 16;
/* The identifier of a work request is that of its lane, and its number. */
constexpr int lane_shift = 48;

/* The part of one queue pair in a stream: its slots, and how far it is. */
class Lane {
public:
	Lane(Pair &pair, const StreamSpec &spec, size_t number);

	/* So many messages more. */
	void extend(int messages) { end_ += messages; }
	bool finished() const { return done_ == end_; }
	/* Messages of the next list; none if the window is full. */
	int next_list() const;
	void post_list(int count);
	void complete(uint64_t wr_id)
	{
		done_ = wr_id & ((uint64_t(1) << lane_shift) - 1);
	}

	/* An empty send behind the writes, and a receive for it. */
	void post_empty();
	void give_receives(int count);
	bool has_receives(int count) const { return posted_ + count <= given_; }
	/* Are there receives whose messages are done, and which have not come back? */
	bool lacks_receives() const { return given_ < done_ + spec_.window; }

	/* Receives that have been completed and are to be given back. */
	int taken = 0;

private:
	const StreamSpec &spec_;
	ibv_qp *out_;
	ibv_qp *in_;
	uint64_t mark_;
	std::vector<Request> requests_;
	std::vector<Place> places_;
	std::vector<ibv_recv_wr> receives_;
	uint64_t posted_ = 0;
	uint64_t done_ = 0;
	uint64_t end_ = 0;
	uint64_t given_ = 0;
};

Lane::Lane(Pair &pair, const StreamSpec &spec, size_t number)
	: spec_(spec), out_(pair.a.qps[number]), in_(pair.b.qps[number]),
	  mark_(uint64_t(number) << lane_shift), requests_(spec.window),
	  receives_(spec.window)
{
	size_t stride = stride_of(spec.size);
	size_t first = number * spec.slots_each();

	for (int i = 0; i < spec.window; i++) {
		size_t at = (first + i % spec.slots_each()) * stride;

		prepare(requests_[i], pair.a, pair.b, spec.op, at, spec.size);
		places_.emplace_back(pair.b, at, spec.size);
	}
	if (spec.op == Op::send)
		give_receives(spec.window);
}

/* In order: the n-th message of a lane lands in the slot it came from. */
void Lane::give_receives(int count)
{
	for (int i = 0; i < count; i++) {
		ibv_recv_wr &wr = receives_[i];

		wr = {};
		wr.wr_id = mark_;
		places_[given_++ % spec_.window].set(wr);
		wr.next = i + 1 < count ? &receives_[i + 1] : nullptr;
	}
	post(in_, receives_.data());
}

int Lane::next_list() const
{
	int count = std::min<uint64_t>(spec_.chain, end_ - posted_);

	return posted_ + count > done_ + spec_.window ? 0 : count;
}

void Lane::post_list(int count)
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
		request->wr.wr_id = mark_ | posted_;
		request->wr.send_flags =
			posted_ % spec_.signal && !last ? 0 : IBV_SEND_SIGNALED;
	}
	request->wr.next = nullptr;
	post(out_, &first->wr);
}

void Lane::post_empty()
{
	ibv_recv_wr receive = {.wr_id = mark_};
	ibv_send_wr send = {.wr_id = mark_ | posted_,
			    .opcode = IBV_WR_SEND,
			    .send_flags = IBV_SEND_SIGNALED};

	/* siw refuses a receive without a place */
	places_[0].set(receive);
	post(in_, &receive);
	post(out_, &send);
}

class Stream {
public:
	Stream(Pair &pair, const StreamSpec &spec);

	/* So many of all lanes together. */
	void run(int messages);

private:
	void fill(Lane &lane);
	void take_receives();
	void await_writes();
	void count_receives(const ibv_wc *wc, int count);

	Pair &pair_;
	const StreamSpec &spec_;
	std::vector<Lane> lanes_;
};

Stream::Stream(Pair &pair, const StreamSpec &spec) : pair_(pair), spec_(spec)
{
	lanes_.reserve(pair.a.qps.size());
	for (size_t i = 0; i < pair.a.qps.size(); i++)
		lanes_.emplace_back(pair, spec, i);
}

void Stream::count_receives(const ibv_wc *wc, int count)
{
	for (int i = 0; i < count; i++)
		lanes_[wc[i].wr_id >> lane_shift].taken++;
	for (Lane &lane : lanes_)
		if (lane.taken)
			lane.give_receives(std::exchange(lane.taken, 0));
}

void Stream::take_receives()
{
	auto lacks = [](const Lane &lane) { return lane.lacks_receives(); };
	ibv_wc wc[batch];
	int count;

	while ((count = pair_.b.received->reap(wc, batch)))
		count_receives(wc, count);
	/*
	 * A message is received before its sender is told so; a sender of datagrams is not
	 * told, and one of iWARP before.
	 */
	while (std::any_of(lanes_.begin(), lanes_.end(), lacks)) {
		if (!pair_.a.to_peer && !pair_.a.device.is_iwarp())
			throw std::runtime_error(
				"a receive has not been completed");
		count_receives(wc, pair_.b.received->wait(wc, batch));
	}
}

/* With iWARP a write is complete when it has been sent. */
void Stream::await_writes()
{
	ibv_wc wc;

	for (Lane &lane : lanes_)
		lane.post_empty();
	for (size_t i = 0; i < lanes_.size(); i++) {
		pair_.a.sent->wait(&wc, 1);
		pair_.b.received->wait(&wc, 1);
	}
}

void Stream::fill(Lane &lane)
{
	while (int count = lane.next_list()) {
		if (spec_.op == Op::send && !lane.has_receives(count))
			take_receives();
		lane.post_list(count);
	}
}

void Stream::run(int messages)
{
	auto finished = [](const Lane &lane) { return lane.finished(); };
	ibv_wc wc[batch];

	for (Lane &lane : lanes_)
		lane.extend(messages / int(lanes_.size()));
	for (;;) {
		for (Lane &lane : lanes_)
			fill(lane);
		if (std::all_of(lanes_.begin(), lanes_.end(), finished))
			break;
		/* completions of a lane come in order; each stands for those before it */
		int count = pair_.a.sent->wait(wc, batch);

		for (int i = 0; i < count; i++)
			lanes_[wc[i].wr_id >> lane_shift].complete(wc[i].wr_id);
	}
	if (spec_.op == Op::send)
		take_receives();
	if (spec_.op == Op::write && pair_.a.device.is_iwarp())
		await_writes();
}

} // namespace

uint64_t Verbs::stream(const StreamSpec &spec)
{
	bool read = spec.op == Op::read;
	uint8_t *source = read ? pair_.b.out : pair_.a.out;
	uint8_t *target = read ? pair_.a.in : pair_.b.in;

	pattern_fill(source, stride_of(spec.size) * spec.slots(), spec.seed, 0);
	Stream stream(pair_, spec);
	return timed_stream(
		spec, source, target, [&](int count) { stream.run(count); },
		verify);
}

} // namespace bench
