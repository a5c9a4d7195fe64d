/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The measurements: a stream of messages, and one message at a time, over queue pairs or
 * windows.
 *
 * Owns: what is asked for and what is found. Used by: main.cpp.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pair.h"

namespace bench {

enum class Op { write, read, send };

/* A stream: bandwidth and message rate. */
struct StreamSpec {
	Op op;
	size_t size;
	int messages; /* of all queue pairs */
	int queue_pairs = 1;
	int window; /* outstanding work requests at most, of each queue pair */
	/* for messages of each queue pair, which take turns; 0: one for each of the window */
	int places = 0;
	int chain; /* work requests per post */
	int signal; /* every so many is signalled */
	uint64_t seed;

	int slots_each() const { return places ? places : window; }
	/* Places for messages at each end. */
	int slots() const { return slots_each() * queue_pairs; }
};

/* One at a time. Write and read: until its completion. Send: ping-pong. */
struct LatencySpec {
	Op op;
	size_t size;
	int messages;
	uint64_t seed;
};

/* Two ends, made for one test. */
class Transport {
public:
	virtual ~Transport() = default;

	/* Whether there is such a message. */
	virtual bool takes(Op op, size_t size) const = 0;
	/* Nanoseconds for all messages of the stream. */
	virtual uint64_t stream(const StreamSpec &spec) = 0;
	/* Nanoseconds of each: a whole trip, for a send half of there and back. */
	virtual std::vector<uint64_t> latency(const LatencySpec &spec) = 0;
};

/* Queue pairs; stream.cpp, latency.cpp. */
class Verbs : public Transport {
public:
	Verbs(Device &a, Device &b, const PairSpec &spec) : pair_(a, b, spec) {}

	bool takes(Op op, size_t size) const override
	{
		return !pair_.a.to_peer ||
		       (op == Op::send &&
			size <= size_t(128) << pair_.a.device.mtu());
	}
	uint64_t stream(const StreamSpec &spec) override;
	std::vector<uint64_t> latency(const LatencySpec &spec) override;

private:
	Pair pair_;
};

/* Windows between devices of pavo; windows.cpp. */
std::unique_ptr<Transport> make_windows(const Device &a, const Device &b,
					Wait wait);

/* A send work request between the same place of both ends. */
struct Request {
	ibv_sge sge;
	ibv_send_wr wr;
};
void prepare(Request &request, End &end, const End &peer, Op op, size_t at,
	     size_t size);

void post(ibv_qp *qp, ibv_send_wr *wr);
void post(ibv_qp *qp, ibv_recv_wr *wr);

uint64_t now();

} // namespace bench
