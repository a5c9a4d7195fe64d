/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The measurements: a stream of messages, and one message at a time.
 *
 * Owns: what is asked for and what is found. Used by: main.cpp.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pair.h"

namespace bench {

enum class Op { write, read, send };

/* A stream: bandwidth and message rate. */
struct StreamSpec {
	Op op;
	size_t size;
	int messages;
	int window; /* outstanding work requests at most */
	int chain; /* work requests per post */
	int signal; /* every so many is signalled */
	uint64_t seed;
};

/* Nanoseconds for all messages of the stream. */
uint64_t run_stream(Pair &pair, const StreamSpec &spec);

/* One at a time. Write and read: until its completion. Send: ping-pong. */
struct LatencySpec {
	Op op;
	size_t size;
	int messages;
	uint64_t seed;
};

/* Nanoseconds of each: a whole trip, for a send half of there and back. */
std::vector<uint64_t> run_latency(Pair &pair, const LatencySpec &spec);

/* A send work request between the same place of both ends. */
struct Request {
	ibv_sge sge;
	ibv_send_wr wr;
};
void prepare(Request &request, End &end, const End &peer, Op op, size_t at,
	     size_t size);

void post(End &end, ibv_send_wr *wr);
void post(End &end, ibv_recv_wr *wr);

uint64_t now();

} // namespace bench
