/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The device under test, seen through libibverbs: one QP, its memory regions and
 * completion queues, connected to a remote end that exists only in a script.
 *
 * Owns: every verbs object. Used by: the machine. Touches: the device; knows nothing of
 * packets.
 */
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "bench.h"

namespace pw {

struct QpConfig {
	ibv_qp_type type = IBV_QPT_RC;
	unsigned mtu = 1024;
	uint32_t remote_qpn = 0, sq_psn = 0, rq_psn = 0;
	uint8_t timeout = 0; /* 0: no loss timer at all */
	uint8_t retry = 7, rnr_retry = 7, min_rnr = 12;
	uint8_t rd = 4, dest_rd = 4; /* max_rd_atomic, max_dest_rd_atomic */
	int access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	uint32_t depth = 64, sges = 4, inline_data = 64;
	uint32_t qkey = 0x11111111;
	bool signal_all = false;
	bool extended = false; /* for ibv_wr_*(3) and ibv_start_poll(3) */
	ibv_qp_state target = IBV_QPS_RTS;
};

/*
 * A registered buffer. Its memory starts off a page boundary, and lies between
 * guards; `shadow` is what it must contain at the end of the script. Users of its keys
 * call its first byte `iova`.
 */
struct Region {
	std::string name;
	uint8_t *at = nullptr;
	uint64_t iova = 0;
	size_t size = 0;
	ibv_mr *mr = nullptr; /* nullptr: deregistered, keys stale */
	uint32_t lkey = 0, rkey = 0;
	Bytes shadow;
	Bytes mapping; /* guards and region; of an empty one nothing */
	std::vector<void *> hidden; /* pages that the process may not touch */
};

struct Span {
	const Region *region;
	uint64_t offset;
	uint32_t length;
};

/* A shared receive queue that messages of XRC may name. */
struct SrqConfig {
	std::string name;
	bool other_domain = false, other_pd = false;
};

/* There always is one of that name. */
constexpr std::string_view first_srq = "s";

/*
 * An operation that pavo has and verbs have not, or not in all releases (pavo_dv.h). A flush has
 * its length in `operand` and PAVO_FLUSH_* in `mask`.
 */
struct Extended {
	enum Kind { fetch_add, swap, cmp_swap, imm64, flush } kind;
	uint64_t operand, mask, compare, compare_mask;
};

/* With `extended` the address and the key are those of an atomic in `wr`. */
struct SendRequest {
	ibv_send_wr wr{};
	std::vector<ibv_sge> sges;
	std::optional<Extended> extended;
};

struct Completion : ibv_wc {
	std::optional<uint64_t> imm64;
};

/* How a region differs from one that is aligned and named by its address. */
struct Placement {
	bool other_pd = false;
	uint64_t from = 0; /* bytes that it begins beyond an address of eight */
	bool zero_based = false;
};

class Dut {
public:
	/* Waits until `device` has a RoCE v2 address of the peer's family. */
	Dut(Bench &bench, const std::string &device, const Address &peer,
	    int64_t deadline);
	~Dut();
	Dut(const Dut &) = delete;
	Dut &operator=(const Dut &) = delete;

	/* Once, before processes are forked that make a Dut: it takes its time. */
	static void load_providers();

	/* Does it let regions be flushed for global visibility? */
	static bool can_flush(const std::string &device);

	const Address &address() const { return address_; }
	const Mac &mac() const { return mac_; }

	Region &add_region(const std::string &name, size_t size, int access,
			   const Placement &placement = {});
	/* Addresses without memory, which read as zeros. */
	Region &add_empty_region(const std::string &name, size_t size,
				 int access);
	Region *region(std::string_view name);
	void deregister(Region &region);
	/* No side may touch the page with that byte until check_regions(). */
	void hide(Region &region, uint64_t offset);
	/* "" or what bytes of which region changed though no statement said so. */
	std::string check_regions();

	/* Made with the QP, for an XRC target. */
	void add_srq(const SrqConfig &config)
	{
		srq_configs_.push_back(config);
	}
	std::optional<uint32_t> srqn(std::string_view name);

	void create_qp(const QpConfig &config);
	bool has_qp() const { return qp_ != nullptr; }
	const QpConfig &config() const { return config_; }
	uint32_t qpn() const { return qp_->qp_num; }
	void set_state(ibv_qp_state state, ibv_qp_attr attr = {}, int mask = 0);
	ibv_qp_state state();

	void post_send(std::vector<SendRequest> &requests);
	/* To the other end, for datagrams. */
	ibv_ah *peer();
	void post_recv(uint64_t id, std::vector<ibv_sge> sges);
	void post_srq_recv(const std::string &srq, uint64_t id,
			   std::vector<ibv_sge> sges);

	enum Queue { send_queue, recv_queue };
	std::optional<Completion> poll(Queue queue);
	void arm(Queue queue, bool solicited);
	/* A completion event of `queue` is there; takes it. */
	bool take_event(Queue queue);
	std::optional<ibv_event_type> take_async();

	/* nullopt: the device has no such counter. */
	std::optional<uint64_t> counter(const std::string &name);

private:
	std::optional<uint64_t> port_counter(const std::string &name);
	bool find_address(const Address &peer);
	void make_queue(Queue queue, uint32_t depth);
	ibv_pd *other_pd();
	Region &register_region(std::unique_ptr<Region> region, ibv_pd *pd,
				int access);
	std::optional<Completion> poll_extended(ibv_cq_ex *cq);
	void post_extended(const std::vector<SendRequest> &requests);
	void make_connected(const QpConfig &config);
	ibv_ah_attr peer_attr() const;
	ibv_xrcd *open_domain();
	void make_srq(const SrqConfig &config);
	void make_target();
	void to_init();
	void to_rtr();
	void to_rts();

	ibv_context *context_ = nullptr;
	ibv_pd *pd_ = nullptr, *other_pd_ = nullptr;
	ibv_comp_channel *channel_[2] = {};
	ibv_cq *cq_[2] = {};
	ibv_cq_ex *extended_cq_[2] = {}; /* the same, polled in another way */
	ibv_qp *qp_ = nullptr;
	ibv_ah *peer_handle_ = nullptr;
	ibv_xrcd *xrcd_ = nullptr, *other_xrcd_ = nullptr;
	std::vector<SrqConfig> srq_configs_;
	std::map<std::string, ibv_srq *, std::less<>> srqs_;
	std::map<std::string, std::unique_ptr<Region>, std::less<>> regions_;
	Bench &bench_;
	std::string device_;
	Address address_{}, peer_{};
	Mac mac_{};
	uint8_t gid_index_ = 0;
	QpConfig config_;
};

} // namespace pw
