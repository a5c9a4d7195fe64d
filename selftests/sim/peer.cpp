// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * peer.cpp - see peer.hpp.
 */
#include "peer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <endian.h>
#include <fcntl.h>

#include <pavo_dv.h>

#include "../common/connect.h"
#include "../common/errors.h"
#include "../engine/engine.h"

namespace sim {

namespace {

using common::must_make;
using common::must_return_0;

constexpr int cq_size = 1024;
constexpr uint32_t inline_most = 64, pieces_most = 3;
constexpr uint64_t operations =
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE;

/* Receives that a peer's shared queues need. */
unsigned receives_of(const Plan &plan, unsigned target, bool xrc)
{
	unsigned count = 0;

	for (const Connection &c : plan.connections) {
		if (xrc ? c.service != Service::xrc : !c.shared_receives)
			continue;
		for (const Message &m : c.flows[1 - target].messages)
			count += receives(m.op);
	}
	return count;
}

Owned<ibv_mr> register_memory(ibv_pd *pd, const Memory &memory, int access)
{
	return Owned<ibv_mr>(
		must_make(ibv_reg_mr(pd, memory.at(), memory.size(), access),
			  "ibv_reg_mr"));
}

Owned<ibv_cq> make_cq(ibv_context *context)
{
	ibv_cq_init_attr_ex attr = {};

	attr.cqe = cq_size;
	attr.wc_flags = IBV_WC_STANDARD_FLAGS;
	return Owned<ibv_cq>(ibv_cq_ex_to_cq(must_make(
		ibv_create_cq_ex(context, &attr), "ibv_create_cq_ex")));
}

} // namespace

/* ---------------------------------------------------------------- objects */

Objects::Objects(const Plan &plan)
{
	open();
	for (unsigned i = 0; i < peers.size(); i++)
		make_peer(peers[i], plan, i);
	lines.resize(plan.connections.size());
	qps.resize(plan.connections.size());
	for (size_t i = 0; i < plan.connections.size(); i++) {
		const Connection &c = plan.connections[i];

		for (unsigned from = 0; from < 2; from++)
			make_line(c, lines[i][from], from, c.flows[from]);
		make_qps(plan, i);
		connect(c, i);
	}
}

Objects::~Objects() = default;

/* To look for devices takes longer than many a run, so a process does that once. */
void Objects::open()
{
	static ibv_device **const list =
		must_make(ibv_get_device_list(nullptr), "ibv_get_device_list");

	context.reset(must_make(ibv_open_device(must_make(*list, "a device")),
				"ibv_open_device"));
}

void Objects::make_pool(Peer &peer, Pool &pool, unsigned slots, bool xrc)
{
	ibv_srq_init_attr_ex attr = {};

	pool.slot_size = area_bytes;
	pool.slots = std::make_unique<Memory>(
		std::max(1u, slots) * pool.slot_size, 19);
	pool.mr = register_memory(peer.pd.get(), *pool.slots,
				  IBV_ACCESS_LOCAL_WRITE);
	attr.attr = {std::max(1u, slots), 1, 0};
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	attr.srq_type = IBV_SRQT_BASIC;
	attr.pd = peer.pd.get();
	if (xrc) {
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attr.srq_type = IBV_SRQT_XRC;
		attr.xrcd = peer.xrcd.get();
		attr.cq = peer.recv_cq.get();
	}
	pool.srq.reset(must_make(ibv_create_srq_ex(context.get(), &attr),
				 "ibv_create_srq_ex"));
	if (xrc)
		must_return_0(ibv_get_srq_num(pool.srq.get(), &pool.number),
			      "ibv_get_srq_num");
}

void Objects::make_peer(Peer &peer, const Plan &plan, unsigned self)
{
	ibv_xrcd_init_attr domain = {};

	peer.pd.reset(must_make(ibv_alloc_pd(context.get()), "ibv_alloc_pd"));
	peer.send_cq = make_cq(context.get());
	peer.recv_cq = make_cq(context.get());
	if (const unsigned slots = receives_of(plan, self, false))
		make_pool(peer, peer.shared, slots, false);
	domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	domain.fd = -1;
	domain.oflags = O_CREAT;
	for (const Connection &c : plan.connections)
		if (c.service == Service::xrc && self == 1 && !peer.xrcd) {
			peer.xrcd.reset(
				must_make(ibv_open_xrcd(context.get(), &domain),
					  "ibv_open_xrcd"));
			make_pool(peer, peer.xrc, receives_of(plan, self, true),
				  true);
		}
}

void Objects::make_line(const Connection &c, Line &line, unsigned sender,
			const Flow &flow)
{
	const int local = IBV_ACCESS_LOCAL_WRITE |
			  (c.on_demand ? int(IBV_ACCESS_ON_DEMAND) : 0);
	const int remote = local | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	Peer &source = peers[sender], &target = peers[1 - sender];

	line.slot_size = c.receive_size;
	line.memory = std::make_unique<FlowMemory>(c, flow);
	line.oracle = std::make_unique<FlowOracle>(c, flow, *line.memory);
	line.mrs[0] =
		register_memory(target.pd.get(), line.memory->area, remote);
	line.mrs[1] =
		register_memory(target.pd.get(), line.memory->slots, local);
	line.mrs[2] = register_memory(source.pd.get(), line.memory->out, local);
	line.mrs[3] = register_memory(source.pd.get(), line.memory->in, local);
	if (c.service == Service::xrc)
		line.pool = &target.xrc;
	else if (c.shared_receives)
		line.pool = &target.shared;
}

void Objects::make_qps(const Plan &plan, size_t index)
{
	const Connection &c = plan.connections[index];

	for (unsigned self = 0; self < 2; self++) {
		engine_set_parameter("sack", plan.sacks[self]);
		Peer &peer = peers[self];
		ibv_qp_init_attr_ex init = {};

		init.qp_type = IBV_QPT_RC;
		init.send_cq = peer.send_cq.get();
		init.recv_cq = peer.recv_cq.get();
		init.cap = {c.depth,
			    std::max<uint32_t>(
				    1, uint32_t(lines[index][1 - self]
							.oracle->receives())),
			    pieces_most, 1, inline_most};
		init.pd = peer.pd.get();
		init.comp_mask = IBV_QP_INIT_ATTR_PD |
				 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = operations;
		if (c.shared_receives)
			init.srq = peer.shared.srq.get();
		if (c.service == Service::xrc && self == 0) {
			init.qp_type = IBV_QPT_XRC_SEND;
			init.recv_cq = nullptr;
			init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
		} else if (c.service == Service::xrc) {
			init = {};
			init.qp_type = IBV_QPT_XRC_RECV;
			init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
			init.xrcd = peer.xrcd.get();
		}
		qps[index][self].reset(
			must_make(ibv_create_qp_ex(context.get(), &init),
				  "ibv_create_qp_ex"));
		lines[index][self].sender = qps[index][self].get();
		lines[index][1 - self].receiver = qps[index][self].get();
	}
}

void Objects::connect(const Connection &c, size_t index)
{
	for (uint8_t self = 0; self < 2; self++) {
		const uint8_t other = uint8_t(1 - self);
		common::Connection to;

		to.gid_index = uint8_t(2 * self + c.ip6);
		memcpy(to.gid.raw, engine_address[2 * other + c.ip6],
		       sizeof(to.gid.raw));
		to.qpn = qps[index][other]->qp_num;
		to.rq_psn = c.psn[other];
		to.sq_psn = c.psn[self];
		to.mtu = common::mtu_code(c.mtu);
		to.reads = to.dest_reads = c.reads;
		to.min_rnr_timer = c.rnr_timer;
		to.timeout = c.timeout;
		to.retry_count = c.retries;
		to.rnr_retry = c.rnr_retries;
		to.sl = c.level;
		to.traffic_class = c.marked ? 2 : 0;
		common::connect(qps[index][self].get(), to);
	}
}

/* ---------------------------------------------------------------- posting */

namespace {

/* Local bytes of a message, in its pieces. */
std::vector<ibv_sge> pieces_of(const Line &line, size_t i)
{
	const Message &m = line.oracle->message(i);
	const bool reads = m.op == Op::read || returns_value(m.op);
	const Memory &memory = reads ? line.memory->in : line.memory->out;
	const size_t at = reads ? line.oracle->in_at(i) :
				  line.oracle->out_at(i);
	const uint32_t lkey = line.mrs[reads ? 3 : 2]->lkey;
	std::vector<ibv_sge> pieces;
	uint32_t done = 0;

	if (m.op == Op::imm64)
		return pieces;
	for (unsigned left = m.pieces; left && done < m.length; left--) {
		const uint32_t rest = m.length - done;
		const uint32_t size = left == 1 ? rest :
						  (rest + left - 1) / left;

		pieces.push_back(
			{reinterpret_cast<uint64_t>(memory.at(at + done)), size,
			 lkey});
		done += size;
	}
	return pieces;
}

unsigned flags_of(const Message &m)
{
	return (m.signaled ? unsigned(IBV_SEND_SIGNALED) : 0) |
	       (m.fence ? unsigned(IBV_SEND_FENCE) : 0) |
	       (m.solicited ? unsigned(IBV_SEND_SOLICITED) : 0) |
	       (m.inlined ? unsigned(IBV_SEND_INLINE) : 0);
}

struct Remote {
	uint32_t key;
	uint64_t at;
};

Remote remote_of(const Line &line, const Message &m)
{
	const uint32_t key = line.mrs[0]->rkey;

	return {m.wrong == Wrong::key ? key ^ 0x55 : key,
		reinterpret_cast<uint64_t>(line.memory->area.at()) + m.offset};
}

void begin_message(ibv_qp_ex *qp, const Message &m, const Remote &to)
{
	const __be32 imm = htobe32(uint32_t(m.operand));

	switch (m.op) {
	case Op::send:
		return ibv_wr_send(qp);
	case Op::send_imm:
		return ibv_wr_send_imm(qp, imm);
	case Op::write:
		return ibv_wr_rdma_write(qp, to.key, to.at);
	case Op::write_imm:
		return ibv_wr_rdma_write_imm(qp, to.key, to.at, imm);
	case Op::read:
		return ibv_wr_rdma_read(qp, to.key, to.at);
	case Op::cmp_swap:
		return ibv_wr_atomic_cmp_swp(qp, to.key, to.at, m.compare,
					     m.operand);
	case Op::fetch_add:
		return ibv_wr_atomic_fetch_add(qp, to.key, to.at, m.operand);
	case Op::atomic_write:
		return ibv_wr_atomic_write(qp, to.key, to.at, &m.operand);
	case Op::ext_fetch_add:
		return pavodv_wr_ext_fetch_add(qp, to.key, to.at, m.operand,
					       m.mask);
	case Op::ext_swap:
		return pavodv_wr_ext_swap(qp, to.key, to.at, m.operand);
	case Op::ext_cmp_swap:
		return pavodv_wr_ext_cmp_swap(qp, to.key, to.at, m.compare,
					      m.compare_mask, m.operand,
					      m.mask);
	case Op::imm64:
		return pavodv_wr_imm64(qp, htobe64(m.operand));
	}
}

/* By ibv_wr_*(3) and pavo_dv.h. */
void post_extended(Line &line, size_t first, size_t count)
{
	ibv_qp_ex *qp = ibv_qp_to_qp_ex(line.sender);

	ibv_wr_start(qp);
	for (size_t i = first; i < first + count; i++) {
		const Message &m = line.oracle->message(i);
		const auto pieces = pieces_of(line, i);
		std::vector<ibv_data_buf> buffers;

		qp->wr_id = i;
		qp->wr_flags = flags_of(m) & ~unsigned(IBV_SEND_INLINE);
		begin_message(qp, m, remote_of(line, m));
		if (line.pool && line.pool->number)
			ibv_wr_set_xrc_srqn(qp, line.pool->number);
		for (const ibv_sge &p : pieces)
			buffers.push_back(
				{reinterpret_cast<void *>(p.addr), p.length});
		if (m.op == Op::atomic_write || m.op == Op::imm64)
			continue;
		if (m.inlined)
			ibv_wr_set_inline_data_list(qp, buffers.size(),
						    buffers.data());
		else
			ibv_wr_set_sge_list(qp, pieces.size(), pieces.data());
	}
	must_return_0(ibv_wr_complete(qp), "ibv_wr_complete");
}

ibv_wr_opcode opcode_of(Op op)
{
	switch (op) {
	case Op::send_imm:
		return IBV_WR_SEND_WITH_IMM;
	case Op::write:
		return IBV_WR_RDMA_WRITE;
	case Op::write_imm:
		return IBV_WR_RDMA_WRITE_WITH_IMM;
	case Op::read:
		return IBV_WR_RDMA_READ;
	case Op::cmp_swap:
		return IBV_WR_ATOMIC_CMP_AND_SWP;
	case Op::fetch_add:
		return IBV_WR_ATOMIC_FETCH_AND_ADD;
	default:
		return IBV_WR_SEND;
	}
}

/* By ibv_post_send(3). */
void post_plain(Line &line, size_t first, size_t count)
{
	std::vector<std::vector<ibv_sge>> pieces(count);
	std::vector<ibv_send_wr> requests(count);
	ibv_send_wr *bad = nullptr;

	for (size_t n = 0; n < count; n++) {
		const Message &m = line.oracle->message(first + n);
		const Remote to = remote_of(line, m);
		ibv_send_wr &wr = requests[n];

		pieces[n] = pieces_of(line, first + n);
		wr.wr_id = first + n;
		wr.next = n + 1 < count ? &requests[n + 1] : nullptr;
		wr.sg_list = pieces[n].data();
		wr.num_sge = int(pieces[n].size());
		wr.opcode = opcode_of(m.op);
		wr.send_flags = flags_of(m);
		wr.imm_data = htobe32(uint32_t(m.operand));
		if (is_atomic(m.op))
			wr.wr.atomic = {to.at,
					m.op == Op::cmp_swap ? m.compare :
							       m.operand,
					m.operand, to.key};
		else
			wr.wr.rdma = {to.at, to.key};
		if (line.pool && line.pool->number)
			wr.qp_type.xrc.remote_srqn = line.pool->number;
	}
	must_return_0(ibv_post_send(line.sender, requests.data(), &bad),
		      "ibv_post_send");
}

} // namespace

void post_messages(Line &line, size_t first, size_t count)
{
	bool extended = line.oracle->message(first).number % 2;

	for (size_t i = first; i < first + count; i++) {
		const Op op = line.oracle->message(i).op;

		extended |= is_extended(op) || op == Op::atomic_write;
		line.oracle->post();
	}
	if (extended)
		post_extended(line, first, count);
	else
		post_plain(line, first, count);
}

void post_receive(Line &line)
{
	const bool shared = line.pool;
	const unsigned slot = shared ? line.pool->posted++ :
				       line.receives_posted;
	const uint32_t size = shared ? line.pool->slot_size : line.slot_size;
	const Memory &memory = shared ? *line.pool->slots : line.memory->slots;
	ibv_sge sge = {reinterpret_cast<uint64_t>(memory.at(slot * size)), size,
		       (shared ? line.pool->mr : line.mrs[1])->lkey};
	ibv_recv_wr wr = {}, *bad = nullptr;

	line.receives_posted++;
	wr.wr_id = slot;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	must_return_0(shared ? ibv_post_srq_recv(line.pool->srq.get(), &wr,
						 &bad) :
			       ibv_post_recv(line.receiver, &wr, &bad),
		      "ibv_post_recv");
}

std::vector<Completion> poll(ibv_cq *queue)
{
	ibv_cq_ex *cq = reinterpret_cast<ibv_cq_ex *>(queue);
	std::vector<Completion> all;
	ibv_poll_cq_attr attr = {};
	int error = ibv_start_poll(cq, &attr);

	if (error == ENOENT)
		return all;
	for (; !error; error = ibv_next_poll(cq)) {
		Completion c;
		__be64 imm;

		c.status = cq->status;
		c.id = cq->wr_id;
		c.qpn = ibv_wc_read_qp_num(cq);
		if (!c.status) {
			c.opcode = ibv_wc_read_opcode(cq);
			c.flags = ibv_wc_read_wc_flags(cq);
			c.length = ibv_wc_read_byte_len(cq);
			if (c.flags & IBV_WC_WITH_IMM)
				c.imm = be32toh(ibv_wc_read_imm_data(cq));
			if (pavodv_wc_read_imm64(cq, &imm))
				c.imm64 = be64toh(imm);
		}
		all.push_back(c);
	}
	ibv_end_poll(cq);
	if (error != ENOENT)
		common::throw_errno(error, "ibv_next_poll");
	return all;
}

void end(ibv_qp *qp)
{
	ibv_qp_attr attr = {};

	attr.qp_state = IBV_QPS_ERR;
	must_return_0(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "QP to ERR");
}

} // namespace sim
