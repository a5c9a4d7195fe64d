/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ends.h - devices, connected QPs and honest traffic for the hostile tests.
 *
 * Owns: RAII objects around stock libibverbs. Used by every *_faults.cpp and by
 * fuzz.cpp. Nothing in here is hostile.
 */
#ifndef PAVO_FAULTS_ENDS_H
#define PAVO_FAULTS_ENDS_H

#include <infiniband/verbs.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pavo_dv.h"

namespace faults {

/** How long to wait for what must come, in seconds; more on slow kernels. */
extern unsigned patience;

/** An open device and a PD. */
class Device {
public:
	explicit Device(const std::string &name);
	~Device();
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	ibv_context *context() const { return context_; }
	ibv_pd *pd() const { return pd_; }
	const ibv_gid &gid() const { return gid_; }
	uint8_t gid_index() const { return gid_index_; }
	const std::string &name() const { return name_; }
	/** As it is at this call or later: common/adapter.h. */
	uint64_t counter(const std::string &name) const;
	/** The next asynchronous event of the context, or -1 in time. */
	int event();

private:
	std::string name_;
	ibv_context *context_ = nullptr;
	ibv_pd *pd_ = nullptr;
	ibv_gid gid_ = {};
	uint8_t gid_index_ = 0;
};

/** Registered memory. */
class Memory {
public:
	Memory(ibv_pd *pd, size_t size,
	       int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	~Memory();
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;

	uint64_t address() const
	{
		return reinterpret_cast<uint64_t>(bytes_.data());
	}
	/** @length bytes from @at on, as an entry of a request. */
	ibv_sge part(size_t at, uint32_t length) const
	{
		return {address() + at, length, lkey()};
	}
	uint8_t *bytes() { return bytes_.data(); }
	size_t size() const { return bytes_.size(); }
	uint32_t lkey() const { return mr_->lkey; }
	uint32_t rkey() const { return mr_->rkey; }
	/** Bytes that depend on @seed and on where they are. */
	void fill(uint32_t seed);
	bool holds(uint32_t seed, size_t size) const;

private:
	std::vector<uint8_t> bytes_;
	ibv_mr *mr_;
};

struct QpSize {
	uint32_t wrs = 16;
	uint32_t sges = 4;
	uint32_t inline_data = 64;
	int cqes = 64;
	ibv_qp_type type = IBV_QPT_RC;
	ibv_srq *srq = nullptr; /* in a Pair: of the second end */
	ibv_xrcd *xrcd = nullptr; /* of an XRC target */
};

/** One QP with a CQ of its own for each queue. */
class End {
public:
	explicit End(Device &device, QpSize size = {});
	~End();
	End(const End &) = delete;
	End &operator=(const End &) = delete;

	Device &device() { return device_; }
	ibv_qp *qp() { return qp_; }
	ibv_cq *send_cq() { return send_cq_; }
	ibv_cq *recv_cq() { return recv_cq_; }
	/** To INIT, RTR, RTS towards @peer; @psn is what both start with. */
	void connect(const End &peer, uint32_t psn);
	/** RTS without a peer. */
	void ready_datagram(uint32_t qkey);
	ibv_qp_state state();
	/** Next completion of @cq; fails the test if none comes in time. */
	ibv_wc completion(ibv_cq *cq);
	ibv_wc sent() { return completion(send_cq_); }
	ibv_wc received() { return completion(recv_cq_); }
	/** Takes a message into the first bytes of @memory. */
	void receive(uint64_t wr_id, const Memory &memory, uint32_t length);

private:
	void create(const QpSize &size);

	Device &device_;
	ibv_cq *send_cq_ = nullptr;
	ibv_cq *recv_cq_ = nullptr;
	ibv_qp *qp_ = nullptr;
};

/** The same, by a queue that ends share. */
void receive(ibv_srq *srq, uint64_t wr_id, const Memory &memory,
	     uint32_t length);

/** Two connected ends with memory: @a is the one that misbehaves. */
struct Pair {
	Pair(Device &device_a, Device &device_b, QpSize size = {});

	End a, b;
	Memory source, sink;
};

/**
 * The innocent: connected QPs of their own, in contexts of their own, whose
 * traffic has to stay right whatever happens beside it.
 */
class Witness {
public:
	Witness(const std::string &name_a, const std::string &name_b);

	/** A write and a send both ways, compared byte by byte. */
	void testify();

private:
	void move(End &from, Memory &source, End &to, Memory &sink);

	Device device_a_, device_b_;
	Pair pair_;
	uint32_t round_ = 0;
};

/** The world that every test gets. */
struct World {
	std::string name_a, name_b;
	Witness *witness;
	uint32_t seed;
	unsigned fuzz_seconds;
};

} // namespace faults

#endif /* PAVO_FAULTS_ENDS_H */
