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
	uint8_t timeout = 14; /* 67 ms */
	uint8_t retry_count = 7;
	uint8_t rnr_retry = 7;
	uint8_t min_rnr_timer = 12; /* 0.64 ms */
	uint8_t rd_atomic = 0; /* 0: what both can, no more than 8 */
	uint8_t rd_atomic_b = 0; /* what B takes at once; 0: the same */
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

struct Side {
	Host *host = nullptr;
	HostInfo info = {};
	ibv_qp_type type = IBV_QPT_RC;
	Cq send_cq;
	Cq recv_cq;
	Qp qp;
	uint32_t psn = 0;
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
void to_state(Side &side, ibv_qp_state state);
ibv_qp_state state_of(Side &side);
/* Waits for a state that the other end or the wire brings about. */
void wait_state(Env &env, Side &side, ibv_qp_state state);

void must_post(Side &side, const std::vector<SendWr> &wrs);
void must_post(Side &side, const std::vector<RecvWr> &wrs);
void must_post(Side &side, const SendWr &wr);
void must_post(Side &side, const RecvWr &wr);

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

void check_wc(const Wc &wc, uint64_t id, ibv_wc_status status,
	      const char *what);
/* Wait for the next completion of a side, which has to be of this request. */
Wc expect_send(Env &env, Side &side, uint64_t id, const char *what,
	       ibv_wc_status status = IBV_WC_SUCCESS);
Wc expect_recv(Env &env, Side &side, uint64_t id, const char *what,
	       ibv_wc_status status = IBV_WC_SUCCESS);
/* Posts a request, and waits for the completion that it has to have. */
Wc must_send(Env &env, Side &side, const SendWr &wr, const char *what,
	     ibv_wc_status status = IBV_WC_SUCCESS);

enum class Op { send, send_imm, write, write_imm, read };
const char *name_of(Op op);
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
 * every byte, the bytes around the target, the source.
 */
void exchange(Env &env, Side &active, Side &passive, Op op, const Place &local,
	      const Place &remote, uint64_t length, unsigned flags = 0);

/* Fails with the position and the name when a byte is not the pattern's. */
void must_match(Host &host, const Mr &mr, int64_t offset, uint64_t length,
		uint64_t seed, uint64_t position, const char *what);

/* Both QPs still work: one write with immediate each way. */
void prove_alive(Env &env, Link &link);

} // namespace pv
