/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two ends that have connected queue pairs, RC or UD, with their memory: what a test runs on.
 *
 * Owns: PDs, memory, completion channels and queues, queue pairs of both ends.
 * Used by: stream.cpp, latency.cpp, main.cpp.
 */
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <infiniband/verbs.h>

#include "device.h"
#include "iwarp.h"

namespace bench {

constexpr size_t line = 64; /* slots start on cache lines */
constexpr size_t area_bytes = 4 << 20; /* of each area: 4 slots at least */
constexpr int queue_depth = 1024;
constexpr uint32_t qkey = 0x11111111;

/* Set by main.cpp's alarm: a thread that waits gives up. */
extern volatile sig_atomic_t out_of_time;

/* The thing that is measured: queue pairs, or windows (windows.cpp). */
enum class Service { rc, ud, windows };

/* How completions are waited for. */
enum class Wait { events, polling };

/* A completion queue that one thread waits on. */
class Completions {
public:
	Completions(Device &device, int depth, Wait wait);
	~Completions();
	Completions(const Completions &) = delete;
	Completions &operator=(const Completions &) = delete;

	ibv_cq *raw() const { return cq_; }

	/* Takes up to `room` completions that are there; all succeeded. */
	int reap(ibv_wc *wc, int room);
	/* The same, but not before there is one. */
	int wait(ibv_wc *wc, int room);
	/* For one message at a time: arm before posting, then await(). */
	void arm();
	ibv_wc await();

private:
	void next_event();

	Wait wait_;
	ibv_comp_channel *channel_ = nullptr;
	ibv_cq *cq_ = nullptr;
	unsigned unacked_ = 0;
};

/* The properties of both ends that a test asks for. */
struct PairSpec {
	Wait wait = Wait::events;
	Service service = Service::rc;
	int queue_pairs = 1;
};

/*
 * One end: `out` is what it sends or is read from, `in` what it receives. Its queue pairs
 * share the completion queues.
 */
struct End {
	End(Device &device, const PairSpec &spec);
	~End();
	End(const End &) = delete;
	End &operator=(const End &) = delete;

	Device &device;
	uint8_t *out = nullptr;
	uint8_t *in = nullptr;
	ibv_pd *pd = nullptr;
	ibv_mr *mr = nullptr; /* both areas */
	std::unique_ptr<Completions> sent;
	std::unique_ptr<Completions> received;
	std::vector<ibv_qp *> qps;
	ibv_ah *to_peer = nullptr; /* UD */
	uint8_t grh[40]; /* where those of datagrams go; no test looks */
	ibv_mr *grh_mr = nullptr; /* UD */
};

/* The n-th queue pair of one end is connected to the n-th of the other. */
struct Pair {
	Pair(Device &a, Device &b, const PairSpec &spec);

	End a;
	End b;
	std::vector<std::unique_ptr<Call>> calls; /* iWARP */
};

/* Where a message goes: memory of `in`; a datagram's GRH is put aside. */
class Place {
public:
	Place(End &end, size_t at, size_t size);

	/* The completion of a message that fits says so. */
	uint32_t bytes() const { return bytes_; }
	void set(ibv_recv_wr &wr);

private:
	ibv_sge parts_[2];
	int count_ = 0;
	uint32_t bytes_;
};

/* Fills a receiving area with the bytes that it holds before anything has arrived. */
void blank(uint8_t *memory, size_t length);

/*
 * Throws unless every slot of `got` holds the bytes of the same slot of `sent`
 * and every gap between slots is still blank.
 */
void verify(const uint8_t *got, const uint8_t *sent, size_t slots,
	    size_t stride, size_t size);

inline size_t stride_of(size_t size)
{
	return (size + line - 1) / line * line;
}

} // namespace bench
