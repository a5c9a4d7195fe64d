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

#include "timed.h"

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
		post(end_.qps[0], &receive_);
		end_.received->arm();
	}

	void serve()
	{
		bool signalled = ++sent_ % signal_every == 0;
		ibv_wc wc;

		request_.wr.send_flags = signalled ? IBV_SEND_SIGNALED : 0;
		post(end_.qps[0], &request_.wr);
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

	return times_of(count, 2, [&] {
		a.expect();
		b.expect();
		a.serve();
		b.take();
		b.serve();
		a.take();
	});
}

std::vector<uint64_t> one_sided(Pair &pair, const LatencySpec &spec, int count)
{
	Request request;

	prepare(request, pair.a, pair.b, spec.op, 0, spec.size);
	request.wr.send_flags = IBV_SEND_SIGNALED;
	return times_of(count, 1, [&] {
		pair.a.sent->arm();
		post(pair.a.qps[0], &request.wr);
		pair.a.sent->await();
	});
}

} // namespace

std::vector<uint64_t> Verbs::latency(const LatencySpec &spec)
{
	auto loop = spec.op == Op::send ? ping_pong : one_sided;

	return timed_latency(spec, pair_.a, pair_.b, [&](int count) {
		return loop(pair_, spec, count);
	});
}

} // namespace bench
