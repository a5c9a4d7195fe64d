/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A connected pair of queue pairs, and one checked message across it.
 *
 * Owns: the attributes of each step to RTS, the rules of what a completion
 * must look like. Used by: every test that moves data.
 */
#pragma once

#include <optional>
#include <vector>

#include "../common/connect.h"
#include "env.h"
#include "host.h"

namespace pv {

struct LinkSpec {
	ibv_qp_type type = IBV_QPT_RC;
	int mtu = 0; /* bytes; 0: the largest both have */
	uint32_t psn_a = 0x00a5a5;
	uint32_t psn_b = 0x5a5a00;
	std::optional<uint8_t> timeout; /* none: that of the run (EnvOptions) */
	uint8_t retry_count = 7;
	uint8_t rnr_retry = 7;
	uint8_t min_rnr_timer = 12; /* 0.64 ms */
	uint8_t rd_atomic = 0; /* 0: what both can, no more than 8 */
	uint8_t rd_atomic_b = 0; /* what B takes at once; 0: the same */
	uint8_t sl = 0; /* 0: that of the run (Selector) */
	uint8_t traffic_class = 0; /* likewise */
	unsigned access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC;
	ibv_qp_cap cap = {64, 64, 4, 4, 0};
	bool signal_all = false;
	uint64_t send_ops = 0; /* of both QPs, for ibv_wr_* */
	bool events = false;
	int cq_depth = 256;
	Cq cq_a = {}; /* one CQ for all, if given */
	Cq cq_b = {};
	Handle pd_a = 0;
	Handle pd_b = 0;
	Handle srq_a = 0;
	Handle srq_b = 0;
};

/* The usual capacities, with room for inline data. */
constexpr ibv_qp_cap inline_cap(uint32_t bytes)
{
	ibv_qp_cap cap = LinkSpec().cap;

	cap.max_inline_data = bytes;
	return cap;
}

struct Side {
	Host *host = nullptr;
	HostInfo info = {};
	ibv_qp_type type = IBV_QPT_RC;
	Cq send_cq;
	Cq recv_cq;
	Qp qp;
	uint32_t psn = 0;
	Handle srq = 0; /* XRC: where a target's receives are posted */
	uint32_t srqn = 0; /* XRC: the queue that an initiator names */
};

struct Link {
	Side a;
	Side b;
	LinkSpec spec;
	int mtu = 0; /* bytes */
	uint8_t rd_atomic = 0;
};

using common::mtu_bytes;
using common::mtu_code;
/* The largest path MTU both ends have, in bytes. */
int common_mtu(const Env &env);

/* Creates CQs and QPs; the QPs are in RESET. */
Link make_link(Env &env, const LinkSpec &spec = {});
/* Moves both QPs from RESET to RTS. */
void bring_up(Link &link);
/* Moves both QPs to RESET, and from there to RTS. */
void reconnect(Link &link);
/* Makes and brings up. */
Link connect(Env &env, const LinkSpec &spec = {});

/* The attributes of the three steps, and the masks that belong to them. */
using common::init_mask;
using common::mask_for;
using common::rtr_mask;
using common::rts_mask;
ibv_qp_attr init_attr(const LinkSpec &spec);
ibv_qp_attr rtr_attr(const Link &link, const Side &self, const Side &peer);
ibv_qp_attr rts_attr(const Link &link, const Side &self);

void must_modify(Side &side, const ibv_qp_attr &attr, int mask,
		 const char *what);
/* One step of a side of that link. */
void to_init(Link &link, Side &side);
void to_rtr(Link &link, Side &side);
void to_rts(Link &link, Side &side);
void to_state(Side &side, ibv_qp_state state);
/* To SQD; an event tells when its sends are over. */
void to_sqd(Side &side);
ibv_qp_state state_of(Side &side);
/* Waits for a state that the other end or the wire brings about. */
void wait_state(Env &env, Side &side, ibv_qp_state state);

void must_post(Side &side, const std::vector<SendWr> &wrs);
void must_post(Side &side, const std::vector<RecvWr> &wrs);
void must_post(Side &side, const SendWr &wr);
void must_post(Side &side, const RecvWr &wr);

/* Number `bad` of those is refused with that error, and all behind it. */
void must_not_post(Side &side, const std::vector<SendWr> &wrs, int error,
		   int bad, const std::string &what);
void must_not_post(Side &side, const std::vector<RecvWr> &wrs, int error,
		   int bad, const std::string &what);

/* Requests whose memory is not the host's own. */
void post_raw_recv(Side &side, ibv_sge sge, uint64_t id = 0);
void post_raw_send(Side &side, ibv_send_wr wr, ibv_sge sge);

/* Throws Skip where the device has no such queues. */
Srq must_srq(Host &host, const SrqSpec &spec = {});
void must_post_srq(Host &host, const Srq &srq, const std::vector<RecvWr> &wrs);

/* @seed: of the pattern that fills all of it. */
Mr must_reg(Host &host, const MrSpec &spec, std::optional<uint64_t> seed = {});

/*
 * Waits for exactly `count` completions and fails if they do not come.
 * `bytes` under way give it more time: 1 MiB a second is slow enough.
 */
std::vector<Wc> wait_completions(Env &env, Side &side, Cq cq, uint32_t count,
				 const char *what, uint64_t bytes = 0);
Wc wait_send(Env &env, Side &side, const char *what, uint64_t bytes = 0);
Wc wait_recv(Env &env, Side &side, const char *what, uint64_t bytes = 0);
/* Fails if anything else is in the CQs of this side. */
void no_more(Side &side, const char *what);
/* Fails if a send of this side completes within @ms. */
void none_sent(Side &side, uint32_t ms, const char *what);

void check_wc(const Wc &wc, uint64_t id, ibv_wc_status status,
	      const char *what);
/* Wait for the next completion of a side, which has to be of this request. */
Wc expect_send(Env &env, Side &side, uint64_t id, const char *what,
	       ibv_wc_status status = IBV_WC_SUCCESS);
Wc expect_recv(Env &env, Side &side, uint64_t id, const char *what,
	       ibv_wc_status status = IBV_WC_SUCCESS);
/* The same of as many, in this order. */
void expect_all(Env &env, Side &side, Cq cq, const std::vector<uint64_t> &ids,
		const char *what, ibv_wc_status status = IBV_WC_SUCCESS);
std::vector<uint64_t> numbers(uint64_t first, uint64_t count);
std::vector<uint64_t> ids_of(const std::vector<SendWr> &wrs);
/* Receives without memory, with these numbers. */
std::vector<RecvWr> numbered_receives(uint64_t first, uint64_t count);
/* Posts a request, and waits for the completion that it has to have. */
Wc must_send(Env &env, Side &side, const SendWr &wr, const char *what,
	     ibv_wc_status status = IBV_WC_SUCCESS);

/* The CQ tells of a completion. */
void must_wake(Env &env, Host &host, Cq cq, const char *what = "no event");
/* The next asynchronous event, beside COMM_EST, is this one. */
void must_event(Env &env, Host &host, ibv_event_type type, Handle object);

enum class Op { send, send_imm, write, write_imm, read };
const char *name_of(Op op);
/* The same as a word of a test's name. */
std::string word_of(Op op);
bool takes_recv(Op op);
ibv_wr_opcode wr_opcode(Op op);
ibv_wc_opcode wc_opcode(Op op);

struct Place {
	Mr mr;
	int64_t offset = 0;
};

SendWr make_wr(Op op, const Place &local, uint64_t length,
	       const Place &remote = {});

/*
 * One message of `length` bytes between `local` at the active side and
 * `remote` at the passive one, everything checked: completions of both sides,
 * every byte, the bytes around the target, the source. Of any service with connections.
 */
void exchange(Env &env, Side &active, Side &passive, Op op, const Place &local,
	      const Place &remote, uint64_t length, unsigned flags = 0);

/* Fails with the position and the name when a byte is not the pattern's. */
void must_match(Host &host, const Mr &mr, int64_t offset, uint64_t length,
		uint64_t seed, uint64_t position, const char *what);

/* Both QPs still work: one write with immediate each way. */
void prove_alive(Env &env, Link &link);

} // namespace pv
