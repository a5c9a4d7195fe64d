// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One message at a time, each waited for.
 *
 * Owns: the two loops. Called by: main.cpp. A write cannot be waited for at
 * the target without polling its memory, which on one virtual CPU measures the
 * timer tick; so write and read are timed until their own completion, which
 * includes the acknowledgement.
 */
#include <stdexcept>

#include "../../common/pattern.h"
#include "marker.h"
#include "tests.h"

namespace bench {

namespace {

constexpr int signal_every = 16;

/* One end of the ping-pong: a message out, a place for one in. */
class Player {
public:
	Player(End &end, const End &peer, size_t size)
		: end_(end), place_(end, 0, size)
	{
		prepare(request_, end, peer, Op::send, 0, size);
		place_.set(receive_);
	}

	void expect()
	{
		post(end_, &receive_);
		end_.received->arm();
	}

	void serve()
	{
		bool signalled = ++sent_ % signal_every == 0;
		ibv_wc wc;

		request_.wr.send_flags = signalled ? IBV_SEND_SIGNALED : 0;
		post(end_, &request_.wr);
		if (signalled)
			end_.sent->wait(&wc, 1);
	}

	void take()
	{
		if (end_.received->await().byte_len != place_.bytes())
			throw std::runtime_error("a message of wrong length");
	}

private:
	End &end_;
	Request request_;
	Place place_;
	ibv_recv_wr receive_ = {};
	unsigned sent_ = 0;
};

std::vector<uint64_t> ping_pong(Pair &pair, const LatencySpec &spec, int count)
{
	Player a(pair.a, pair.b, spec.size), b(pair.b, pair.a, spec.size);
	std::vector<uint64_t> times(count);
	uint64_t start = now();

	for (uint64_t &time : times) {
		a.expect();
		b.expect();
		a.serve();
		b.take();
		b.serve();
		a.take();

		uint64_t end = now();

		time = (end - start) / 2;
		start = end;
	}
	return times;
}

std::vector<uint64_t> one_sided(Pair &pair, const LatencySpec &spec, int count)
{
	std::vector<uint64_t> times(count);
	Request request;
	uint64_t start = now();

	prepare(request, pair.a, pair.b, spec.op, 0, spec.size);
	request.wr.send_flags = IBV_SEND_SIGNALED;
	for (uint64_t &time : times) {
		pair.a.sent->arm();
		post(pair.a, &request.wr);
		pair.a.sent->await();

		uint64_t end = now();

		time = end - start;
		start = end;
	}
	return times;
}

} // namespace

std::vector<uint64_t> Verbs::latency(const LatencySpec &spec)
{
	constexpr int warm_up = signal_every;
	auto loop = spec.op == Op::send ? ping_pong : one_sided;
	size_t stride = stride_of(spec.size);

	pattern_fill(pair_.a.out, stride, spec.seed, 0);
	pattern_fill(pair_.b.out, stride, spec.seed ^ 0x5555, 0);
	loop(pair_, spec, warm_up);
	blank(pair_.a.in, stride);
	blank(pair_.b.in, stride);

	mark_begin();
	std::vector<uint64_t> times = loop(pair_, spec, spec.messages);
	mark_end();

	if (spec.op != Op::read)
		verify(pair_.b.in, pair_.a.out, 1, stride, spec.size);
	if (spec.op != Op::write)
		verify(pair_.a.in, pair_.b.out, 1, stride, spec.size);
	return times;
}

} // namespace bench
