/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two ends that have connected queue pairs, RC or UD, with their memory: what a test runs on.
 *
 * Owns: PDs, memory, completion channels and queues, queue pairs of both ends.
 * Used by: verbs.cpp, main.cpp.
 */
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "device.h"

struct rdma_cm_id;

namespace bench {

constexpr size_t line = 64; /* slots start on cache lines */
constexpr size_t area_bytes = 4 << 20; /* of each area: 4 slots at least */
constexpr int queue_depth = 1024;
constexpr uint32_t qkey = 0x11111111;

/* A thread that waits gives up. */
extern volatile sig_atomic_t out_of_time;

/* Sets it in so many seconds, until the next call; 0: never. */
void limit_time(unsigned seconds);

/*
 * Before measurements. The program's pages come from the host. Where instructions are counted and
 * the guest has nothing to do but wait for one, its time goes on to the next timer at once, however
 * far that is: a test that misses one page may run out of time. @maps: file for the memory map, now
 * that the providers are loaded; "" is none
 */
void keep_pages(const std::string &maps = "");

inline uint64_t now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

/* The thing that is measured: queue pairs, or windows (windows.cpp). */
enum class Service { rc, ud, windows };

/* How completions are waited for. */
enum class Wait { events, polling };

/* An object of verbs, ended by its function. */
template <auto end> struct Ender {
	void operator()(auto *object) const { end(object); }
};
template <class Object, auto end>
using Owned = std::unique_ptr<Object, Ender<end>>;

/* A completion queue that one thread waits on. */
class Completions {
public:
	Completions(Device &device, int depth, Wait wait);
	~Completions() { ibv_ack_cq_events(raw(), unacked_); }
	Completions(const Completions &) = delete;

	ibv_cq *raw() const { return cq_.get(); }

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
	Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
	Owned<ibv_cq, ibv_destroy_cq> cq_;
	unsigned unacked_ = 0;
};

/* The properties of both ends that a test asks for. */
struct PairSpec {
	Wait wait = Wait::events;
	Service service = Service::rc;
	int queue_pairs = 1;
};

/* Two areas; those that are no more are kept: in some guests a new page is dear. */
struct Areas {
	Areas();
	~Areas();
	Areas(const Areas &) = delete;

	uint8_t *out, *in;
};

/*
 * One end: `out` is what it sends or is read from, `in` what it receives. Its queue pairs
 * share the completion queues.
 */
struct End : Areas {
	End(Device &device, const PairSpec &spec);

	Device &device;
	Owned<ibv_pd, ibv_dealloc_pd> pd;
	Owned<ibv_mr, ibv_dereg_mr> mr; /* both areas */
	Completions sent, received;
	std::vector<Owned<ibv_qp, ibv_destroy_qp>> qps;
	Owned<ibv_ah, ibv_destroy_ah> to_peer; /* UD */
	uint8_t grh[40]; /* where those of datagrams go; no test looks */
	Owned<ibv_mr, ibv_dereg_mr> grh_mr; /* UD */
};

/* A connection of iWARP between two queue pairs, as long as it lives: that of rdma_cm. */
class Call {
public:
	Call(const Device &a, const ibv_qp *from, const Device &b,
	     const ibv_qp *to);
	~Call();
	Call(const Call &) = delete;

private:
	rdma_cm_id *listener_ = nullptr, *caller_ = nullptr, *callee_ = nullptr;
};

/* The n-th queue pair of one end is connected to the n-th of the other. */
struct Pair {
	Pair(Device &a, Device &b, const PairSpec &spec);

	End a, b;
	std::vector<std::unique_ptr<Call>> calls; /* iWARP */
};

/* Nanoseconds of each, one after the other. */
struct SetupTimes {
	std::vector<uint64_t> create, connect, destroy;
};

/*
 * Creates so many RC queue pairs of the first device, connects each to one of the second device, and
 * destroys all. @depth: of both queues. Rings and caches are warm: it has done so once before.
 */
SetupTimes time_setup(Device &a, Device &b, int count, int depth);

void post(ibv_qp *qp, ibv_send_wr *wr);
void post(ibv_qp *qp, ibv_recv_wr *wr);

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

/*
 * Marks of the measured part of a run for the two profilers: the instruction counter (../counter)
 * sees them, and the sampler of the host needs the time of the first one. A mark is
 * a no-operation with a number in it that no compiler emits: on a real machine,
 * and in an emulator without the counter, nothing happens.
 */
inline uint64_t began_ns; /* by the clock that host and guest share */

/* nopl disp32(%rax,%rax,1); the displacement is 'pav' and 1 or 2 */
inline void mark_begin()
{
	timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	began_ns = uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x70, 0x61, 0x76, 0x01" ::
			     : "memory");
}

inline void mark_end()
{
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x70, 0x61, 0x76, 0x02" ::
			     : "memory");
}

} // namespace bench
