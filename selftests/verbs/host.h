/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One end of a test: a device and everything made on it, behind an interface
 * that works the same when the end is another machine.
 *
 * Owns: the types that tests speak (work requests by region handle and offset,
 * completions, specs). Implemented by: LocalHost (libibverbs in this process)
 * and remote_host() (the same, behind a socket). Used by: every test.
 *
 * Everything that crosses the socket is trivially copyable or a vector of such;
 * both ends are the same program.
 */
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

namespace pv {

using Handle = uint32_t; /* 0: none, or the default object */

constexpr size_t page = 4096;
/* Of most regions whose edges are tried. */
constexpr uint64_t region_size = 16384;

constexpr unsigned all_access =
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
	IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct HostInfo {
	ibv_device_attr device;
	ibv_port_attr port;
	ibv_gid gid;
	uint32_t gid_index;
};

struct Pd {
	Handle id = 0;
	int error = 0;
};

struct Cq {
	Handle id = 0;
	int depth = 0;
	int error = 0;
};

struct MrSpec {
	uint64_t length = 0;
	uint32_t misalign = 0; /* offset of the first byte in its page */
	unsigned access = all_access;
	Handle pd = 0;
	bool registered = true; /* false: memory without a key */
	uint64_t at = 0; /* address of the first byte; 0: any */
};

struct Mr {
	Handle id = 0;
	uint64_t address = 0;
	uint64_t length = 0;
	uint32_t lkey = 0;
	uint32_t rkey = 0;
	int error = 0;
};

struct QpSpec {
	Handle send_cq = 0;
	Handle recv_cq = 0;
	Handle pd = 0;
	ibv_qp_cap cap = {};
	bool signal_all = false;
	ibv_qp_type type = IBV_QPT_RC;
	uint64_t send_ops = 0; /* IBV_QP_EX_WITH_*: for ibv_wr_* */
	Handle srq = 0;
	Handle xrcd = 0; /* for IBV_QPT_XRC_RECV */
};

struct Qp {
	Handle id = 0;
	uint32_t number = 0;
	ibv_qp_cap cap = {};
	int error = 0;
};

struct QpState {
	int error = 0;
	ibv_qp_attr attr = {};
	ibv_qp_cap cap = {};
	int signal_all = 0;
};

struct SrqSpec {
	uint32_t max_wr = 64;
	uint32_t max_sge = 4;
	uint32_t limit = 0;
	Handle pd = 0;
	Handle xrcd = 0; /* given: an SRQ for XRC, completing to `cq` */
	Handle cq = 0;
};

struct Srq {
	Handle id = 0;
	uint32_t number = 0; /* XRC */
	uint32_t max_wr = 0;
	uint32_t max_sge = 0;
	int error = 0;
};

struct SrqState {
	int error = 0;
	ibv_srq_attr attr = {};
};

/* An XRC domain or an address handle. */
struct Made {
	Handle id = 0;
	int error = 0;
};

/* Where data lies: an offset may be negative or too large, on purpose. */
struct Sge {
	Handle mr = 0;
	int64_t offset = 0;
	uint32_t length = 0;
	uint32_t key_xor = 0; /* flips bits of the lkey */
};

struct SendWr {
	uint64_t id = 0;
	ibv_wr_opcode opcode = IBV_WR_SEND;
	unsigned flags = IBV_SEND_SIGNALED;
	uint32_t imm = 0;
	uint64_t remote = 0;
	uint32_t rkey = 0;
	uint64_t compare_add = 0;
	uint64_t swap = 0;
	uint32_t srqn = 0; /* XRC */
	Handle ah = 0; /* UD, and the two below */
	uint32_t remote_qpn = 0;
	uint32_t qkey = 0;
	std::vector<Sge> sges = {};
};

struct RecvWr {
	uint64_t id = 0;
	std::vector<Sge> sges = {};
};

struct PostResult {
	int error = 0;
	int bad_index = -1; /* which request bad_wr pointed at */
};

struct Wc {
	uint64_t id;
	ibv_wc_status status;
	ibv_wc_opcode opcode;
	uint32_t byte_len;
	uint32_t imm;
	uint32_t qp_number;
	unsigned flags;
	uint32_t vendor;
	uint32_t src_qp;
};

/* A receive that completed, as an extended CQ shows it. */
struct Arrival {
	uint64_t id;
	ibv_wc_status status;
	ibv_wc_opcode opcode;
	uint32_t byte_len;
	unsigned flags;
	std::optional<uint64_t> imm64; /* immediate data of eight bytes */
};

struct AsyncEvent {
	int type = -1; /* ibv_event_type, -1: none in time */
	Handle object = 0; /* the QP, CQ or SRQ it is about */
};

enum class Kind : uint32_t { pd, cq, mr, qp, srq, xrcd, ah };

class Host {
public:
	virtual ~Host() = default;

	virtual HostInfo info() = 0;

	virtual Pd alloc_pd() = 0;
	virtual Cq create_cq(int depth, bool events) = 0;
	virtual Mr reg_mr(MrSpec spec) = 0;
	virtual Qp create_qp(QpSpec spec) = 0;
	virtual int destroy(Kind kind, Handle id) = 0;
	/* Destroys all objects; the text tells what went wrong, if anything. */
	virtual std::string clean(bool ignore_events) = 0;

	virtual Srq create_srq(SrqSpec spec) = 0;
	virtual int modify_srq(Handle srq, ibv_srq_attr attr, int mask) = 0;
	virtual SrqState query_srq(Handle srq) = 0;
	virtual PostResult post_srq(Handle srq, std::vector<RecvWr> wrs) = 0;
	virtual Made open_xrcd() = 0;
	/* A target QP that another process made in this domain. */
	virtual Qp open_qp(Handle xrcd, uint32_t number) = 0;
	virtual Made create_ah(ibv_gid gid) = 0;
	virtual int attach(Handle qp, ibv_gid gid) = 0;
	virtual int detach(Handle qp, ibv_gid gid) = 0;

	virtual int modify(Handle qp, ibv_qp_attr attr, int mask) = 0;
	virtual QpState query(Handle qp, int mask) = 0;
	virtual PostResult post_send(Handle qp, std::vector<SendWr> wrs) = 0;
	virtual PostResult post_recv(Handle qp, std::vector<RecvWr> wrs) = 0;

	/* Waits for `count` completions, no longer than `ms`; may return fewer. */
	virtual std::vector<Wc> poll(Handle cq, uint32_t count,
				     uint32_t ms) = 0;
	virtual int arm(Handle cq, bool solicited_only) = 0;
	virtual bool wait_event(Handle cq, uint32_t ms) = 0;
	virtual AsyncEvent async_event(uint32_t ms) = 0;

	virtual void fill(Handle mr, int64_t offset, uint64_t length,
			  uint64_t seed, uint64_t position) = 0;
	/* Offset (from `offset`) of the first wrong byte, or -1. */
	virtual int64_t verify(Handle mr, int64_t offset, uint64_t length,
			       uint64_t seed, uint64_t position) = 0;
	virtual uint64_t load(Handle mr, int64_t offset) = 0;
	virtual void store(Handle mr, int64_t offset, uint64_t value) = 0;

	/* A counter of the device, as it is at this call or later. */
	virtual uint64_t counter(std::string name) = 0;

	/* Has the device pavo's extended operations? These calls are of such ends (ext_host.h). */
	virtual bool knows_ext() { return false; }
	virtual Cq create_ext_cq([[maybe_unused]] bool events)
	{
		return {0, 0, EOPNOTSUPP};
	}
	/* The next ones that are there, no more than @most. */
	virtual std::vector<Arrival>
	poll_arrivals([[maybe_unused]] Handle cq,
		      [[maybe_unused]] uint32_t most)
	{
		return {};
	}
};

} // namespace pv
