// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The measurements over queue pairs: a stream of messages with a window of outstanding work
 * requests on each queue pair, and one message at a time, each waited for.
 *
 * Owns: the loops that post, reap and, for sends, give receives back. Called by: main.cpp. One
 * thread plays both ends, so that no scheduler is measured. A write cannot be waited for at
 * the target without polling its memory, which on one virtual CPU measures the
 * timer tick; so write and read are timed until their own completion, which
 * includes the acknowledgement.
 */
#include <utility>

#include "tests.h"

namespace bench {

namespace {

constexpr int batch = 16;
constexpr int signal_every = 16; /* of a ping-pong */
/* The identifier of a work request is that of its stream, and its number. */
constexpr int qp_shift = 48;

/* A send work request between the same place of both ends. */
struct Request {
	ibv_sge sge;
	ibv_send_wr wr;
};

void prepare(Request &request, End &end, const End &peer, Op op, size_t at,
	     size_t size)
{
	ibv_send_wr &wr = request.wr;

	request.sge = {uintptr_t(op == Op::read ? end.in : end.out) + at,
		       uint32_t(size), end.mr->lkey};
	wr = {};
	wr.sg_list = &request.sge;
	wr.num_sge = 1;
	wr.wr.rdma.rkey = peer.mr->rkey;
	switch (op) {
	case Op::write:
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = uintptr_t(peer.in) + at;
		break;
	case Op::read:
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = uintptr_t(peer.out) + at;
		break;
	case Op::send:
		wr.opcode = IBV_WR_SEND;
		if (end.to_peer)
			wr.wr.ud = {end.to_peer.get(), peer.qps[0]->qp_num,
				    qkey};
		break;
	}
}

/* The part of one queue pair in a stream: its slots, and how far it is. */
class QpStream {
public:
	QpStream(Pair &pair, const StreamSpec &spec, size_t number)
		: spec_(spec), out_(pair.a.qps[number].get()),
		  in_(pair.b.qps[number].get()),
		  mark_(uint64_t(number) << qp_shift), requests_(spec.window),
		  receives_(spec.window)
	{
		size_t first = number * spec.slots_each();

		for (int i = 0; i < spec.window; i++) {
			size_t at = (first + i % spec.slots_each()) *
				    stride_of(spec.size);

			prepare(requests_[i], pair.a, pair.b, spec.op, at,
				spec.size);
			places_.emplace_back(pair.b, at, spec.size);
		}
		if (spec.op == Op::send)
			give_receives(spec.window);
	}

	/* So many messages more. */
	void extend(int messages) { end_ += messages; }
	bool finished() const { return done_ == end_; }

	/* Messages of the next list; none if the window is full. */
	int next_list() const
	{
		int count = std::min<uint64_t>(spec_.chain, end_ - posted_);

		return posted_ + count > done_ + spec_.window ? 0 : count;
	}

	void post_list(int count)
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
			request->wr.send_flags = posted_ % spec_.signal &&
								 !last ?
							 0 :
							 IBV_SEND_SIGNALED;
		}
		request->wr.next = nullptr;
		post(out_, &first->wr);
	}

	void complete(uint64_t wr_id)
	{
		done_ = wr_id & ((uint64_t(1) << qp_shift) - 1);
	}

	/* An empty send behind the writes, and a receive for it. */
	void post_empty()
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

	/* In order: the n-th message of a stream lands in the slot it came from. */
	void give_receives(int count)
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

	bool has_receives(int count) const { return posted_ + count <= given_; }
	/* Are there receives whose messages are done, and which have not come back? */
	bool lacks_receives() const { return given_ < done_ + spec_.window; }

	/* Receives that have been completed and are to be given back. */
	int taken = 0;

private:
	const StreamSpec &spec_;
	ibv_qp *out_, *in_;
	uint64_t mark_;
	std::vector<Request> requests_;
	std::vector<Place> places_;
	std::vector<ibv_recv_wr> receives_;
	uint64_t posted_ = 0, done_ = 0, end_ = 0, given_ = 0;
};

class Stream {
public:
	Stream(Pair &pair, const StreamSpec &spec) : pair_(pair), spec_(spec)
	{
		streams_.reserve(pair.a.qps.size());
		for (size_t i = 0; i < pair.a.qps.size(); i++)
			streams_.emplace_back(pair, spec, i);
	}

	/* So many of all streams together. */
	void run(int messages)
	{
		ibv_wc wc[batch];

		for (QpStream &stream : streams_)
			stream.extend(messages / int(streams_.size()));
		for (;;) {
			for (QpStream &stream : streams_)
				fill(stream);
			if (std::ranges::all_of(streams_, &QpStream::finished))
				break;
			/* completions of a stream come in order; each stands for those before it */
			int count = pair_.a.sent.wait(wc, batch);

			for (int i = 0; i < count; i++)
				streams_[wc[i].wr_id >> qp_shift].complete(
					wc[i].wr_id);
		}
		if (spec_.op == Op::send)
			take_receives();
		if (spec_.op == Op::write && pair_.a.device.is_iwarp())
			await_writes();
	}

private:
	void fill(QpStream &stream)
	{
		while (int count = stream.next_list()) {
			if (spec_.op == Op::send && !stream.has_receives(count))
				take_receives();
			stream.post_list(count);
		}
	}

	void count_receives(const ibv_wc *wc, int count)
	{
		for (int i = 0; i < count; i++)
			streams_[wc[i].wr_id >> qp_shift].taken++;
		for (QpStream &stream : streams_)
			if (stream.taken)
				stream.give_receives(
					std::exchange(stream.taken, 0));
	}

	void take_receives()
	{
		ibv_wc wc[batch];

		while (int count = pair_.b.received.reap(wc, batch))
			count_receives(wc, count);
		/*
		 * A message is received before its sender is told so; a sender of datagrams is
		 * not told, and one of iWARP before.
		 */
		while (std::ranges::any_of(streams_,
					   &QpStream::lacks_receives)) {
			if (!pair_.a.to_peer && !pair_.a.device.is_iwarp())
				throw std::runtime_error(
					"a receive has not been completed");
			count_receives(wc, pair_.b.received.wait(wc, batch));
		}
	}

	/* With iWARP a write is complete when it has been sent. */
	void await_writes()
	{
		ibv_wc wc;

		for (QpStream &stream : streams_)
			stream.post_empty();
		for (size_t i = 0; i < streams_.size(); i++) {
			pair_.a.sent.wait(&wc, 1);
			pair_.b.received.wait(&wc, 1);
		}
	}

	Pair &pair_;
	const StreamSpec &spec_;
	std::vector<QpStream> streams_;
};

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
		post(end_.qps[0].get(), &receive_);
		end_.received.arm();
	}

	void serve()
	{
		bool signalled = ++sent_ % signal_every == 0;
		ibv_wc wc;

		request_.wr.send_flags = signalled ? IBV_SEND_SIGNALED : 0;
		post(end_.qps[0].get(), &request_.wr);
		if (signalled)
			end_.sent.wait(&wc, 1);
	}

	void take()
	{
		if (end_.received.await().byte_len != place_.bytes())
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
		pair.a.sent.arm();
		post(pair.a.qps[0].get(), &request.wr);
		pair.a.sent.await();
	});
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
		spec, source, {target}, [&](int count) { stream.run(count); },
		verify);
}

std::vector<uint64_t> Verbs::latency(const LatencySpec &spec)
{
	auto loop = spec.op == Op::send ? ping_pong : one_sided;

	return timed_latency(spec, pair_.a, pair_.b, [&](int count) {
		return loop(pair_, spec, count);
	});
}

} // namespace bench
