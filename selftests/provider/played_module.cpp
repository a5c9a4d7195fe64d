// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * played_module.cpp - see played_module.h.
 */
#include "played_module.h"
#include "../common/comp_cntr_methods.h"

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

fake::Kernel *kernel;
ibv_context *context;
Engine engine;

/* Follows a doorbell's chain as the module would, checking its form. */
void Engine::take(uint64_t db)
{
	auto qpn = static_cast<uint32_t>(db >> PAVO_DB_QPN_SHIFT);
	QpSide &qp = qps.at(qpn);

	doorbells.push_back(db);
	while (db >> PAVO_DB_SIZE_SHIFT & 0xff) {
		uint64_t offset =
			(db >> PAVO_DB_OFFSET_SHIFT & PAVO_DB_OFFSET_MAX) *
			PAVO_WQE_UNIT;
		pavo_next_seg next;

		if (offset != uint64_t{qp.taken % qp.sq_count} * qp.sq_stride)
			abort();
		memcpy(&next, qp.sq.memory + offset, sizeof(next));
		if (completes && next.flags & PAVO_WQE_SIGNALED) {
			pavo_cqe cqe = {.qpn = qpn,
					.wqe = qp.taken,
					.opcode =
						uint8_t(db & PAVO_DB_OP_MASK)};

			qp.send_cq->push(cqe);
		}
		qp.taken++;
		db = uint64_t{next.size} << PAVO_DB_SIZE_SHIFT | next.next;
	}
}

namespace {

int create_cq(fake::Call &call)
{
	uint32_t handle = engine.next_handle++;
	CqSide &cq = engine.cqs[handle];

	cq.count =
		std::bit_ceil(call.input<uint32_t>(UVERBS_ATTR_CREATE_CQ_CQE));
	cq.region = kernel->make_region(PAVO_CQ_HEADER_SIZE +
					cq.count * sizeof(pavo_cqe));
	pavo_create_cq_resp resp = {
		.ring = cq.region.info,
		.cqe_cnt = engine.cqe_cnt_lie ? engine.cqe_cnt_lie : cq.count};
	if (engine.short_region)
		resp.ring.size = 4096;
	call.output(UVERBS_ATTR_CREATE_CQ_RESP_CQE, cq.count);
	call.set_word(UVERBS_ATTR_CREATE_CQ_HANDLE, handle);
	call.output(UVERBS_ATTR_UHW_OUT, resp);
	return 0;
}

/* Entries that are not consumed move to a new ring, at their old numbers. */
int resize_cq(fake::Call &call)
{
	auto core = call.input<ib_uverbs_resize_cq>(UVERBS_ATTR_CORE_IN);
	CqSide &cq = engine.cqs.at(core.cq_handle);
	CqSide old = cq;

	cq.count = std::bit_ceil(core.cqe);
	cq.region = kernel->make_region(PAVO_CQ_HEADER_SIZE +
					cq.count * sizeof(pavo_cqe));
	cq.prod = old.header()->cons;
	/* the pass before: none of them is valid yet */
	for (uint32_t i = 0; i < cq.count; i++)
		cq.entry(cq.prod + i)->flags =
			((cq.prod + i) / cq.count) & 1 ? PAVO_CQE_OWNER : 0;
	while (cq.prod != old.prod) {
		pavo_cqe cqe = *old.entry(cq.prod);

		cqe.flags &= static_cast<uint8_t>(~PAVO_CQE_OWNER);
		cq.push(cqe);
	}
	pavo_create_cq_resp resp = {
		.ring = cq.region.info,
		.cqe_cnt = engine.cqe_cnt_lie ? engine.cqe_cnt_lie : cq.count};
	call.output(UVERBS_ATTR_CORE_OUT, cq.count);
	call.output(UVERBS_ATTR_UHW_OUT, resp);
	return 0;
}

int create_qp(fake::Call &call)
{
	auto cap = call.input<ibv_qp_cap>(UVERBS_ATTR_CREATE_QP_CAP);
	uint32_t qpn = engine.next_qpn++;
	QpSide &qp = engine.qps[qpn];

	qp.sq_stride = 256;
	qp.sq_count = std::bit_ceil(cap.max_send_wr);
	qp.rq_stride = 128;
	qp.rq_count = std::bit_ceil(cap.max_recv_wr);
	qp.sq = kernel->make_region(qp.sq_stride * qp.sq_count +
				    PAVO_QUEUE_OWN_SIZE(qp.sq_count));
	/* Too short for the process' own, as of an older module. */
	qp.rq = kernel->make_region(PAVO_RQ_HEADER_SIZE +
				    qp.rq_stride * qp.rq_count);
	qp.send_cq = &engine.cqs.at(static_cast<uint32_t>(
		call.word[UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE]));
	qp.recv_cq = &engine.cqs.at(static_cast<uint32_t>(
		call.word[UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE]));
	cap.max_inline_data = 64;
	pavo_create_qp_resp resp = {.sq = qp.sq.info,
				    .rq = qp.rq.info,
				    .sq_wqe_size = qp.sq_stride,
				    .sq_wqe_cnt = engine.sq_cnt_lie ?
							  engine.sq_cnt_lie :
							  qp.sq_count,
				    .rq_wqe_size = qp.rq_stride,
				    .rq_wqe_cnt = qp.rq_count};
	call.output(UVERBS_ATTR_CREATE_QP_RESP_CAP, cap);
	call.output(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn);
	call.set_word(UVERBS_ATTR_CREATE_QP_HANDLE, qpn);
	call.output(UVERBS_ATTR_UHW_OUT, resp);
	return 0;
}

int create_srq(fake::Call &call)
{
	uint32_t handle = engine.next_handle++;
	SrqSide &srq = engine.srqs[handle];
	uint32_t sges = call.input<uint32_t>(UVERBS_ATTR_CREATE_SRQ_MAX_SGE);

	srq.stride = 16 * (2 + sges);
	srq.count = std::bit_ceil(
		call.input<uint32_t>(UVERBS_ATTR_CREATE_SRQ_MAX_WR));
	srq.rq = kernel->make_region(PAVO_RQ_HEADER_SIZE +
				     srq.stride * srq.count);
	pavo_create_srq_resp resp = {
		.rq = srq.rq.info,
		.wqe_size = srq.stride,
		.wqe_cnt = engine.srq_cnt_lie ? engine.srq_cnt_lie : srq.count};
	call.output(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, srq.count);
	call.output(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, sges);
	call.set_word(UVERBS_ATTR_CREATE_SRQ_HANDLE, handle);
	call.output(UVERBS_ATTR_UHW_OUT, resp);
	return 0;
}

void kicked(uint32_t command)
{
	if (command == IB_USER_VERBS_CMD_POST_RECV) {
		engine.recv_kicks++;
		return;
	}
	engine.send_kicks++;
	if (engine.drains)
		engine.drain();
}

bool lacks_memory()
{
	return engine.lacks_memory && engine.lacks_memory--;
}

int serve_method(fake::Call &call)
{
	switch (call.object << 16 | call.method) {
	case UVERBS_OBJECT_DEVICE << 16 | UVERBS_METHOD_GET_CONTEXT: {
		pavo_alloc_ucontext_resp resp = {.abi_version =
							 engine.abi_version,
						 .doorbell = engine.page.info};

		call.output(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
			    uint32_t{1});
		call.output(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, uint64_t{0});
		call.output(UVERBS_ATTR_UHW_OUT, resp);
		return 0;
	}
	case UVERBS_OBJECT_DEVICE << 16 | UVERBS_METHOD_QUERY_PORT: {
		ib_uverbs_query_port_resp_ex port = {};

		port.legacy_resp.active_width = 2; /* 4X */
		port.legacy_resp.active_speed = 32; /* EDR */
		call.output(UVERBS_ATTR_QUERY_PORT_RESP, port);
		return 0;
	}
	case UVERBS_OBJECT_ASYNC_EVENT << 16 | UVERBS_METHOD_ASYNC_EVENT_ALLOC:
		call.set_word(
			UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
			static_cast<uint64_t>(::open("/dev/null", O_RDONLY)));
		return 0;
	case UVERBS_OBJECT_CQ << 16 | UVERBS_METHOD_CQ_CREATE:
		return create_cq(call);
	case UVERBS_OBJECT_CQ << 16 | UVERBS_METHOD_CQ_DESTROY:
		call.output(UVERBS_ATTR_DESTROY_CQ_RESP, uint64_t{0});
		return 0;
	case UVERBS_OBJECT_QP << 16 | UVERBS_METHOD_QP_CREATE:
		return create_qp(call);
	case UVERBS_OBJECT_QP << 16 | UVERBS_METHOD_QP_DESTROY:
		call.output(UVERBS_ATTR_DESTROY_QP_RESP, uint32_t{0});
		return 0;
	case cntr::object << 16 | cntr::create:
		if (lacks_memory())
			return engine.lack;
		call.set_word(0, 77);
		return 0;
	case cntr::object << 16 | cntr::read:
		call.output(2, uint64_t{1000} + call.word.at(1));
		return 0;
	case UVERBS_OBJECT_DEVICE << 16 | cntr::caps_method:
		call.output(0, uint32_t{5});
		call.output(1, UINT64_MAX);
		call.output(2, uint32_t{cntr::all_ops});
		return 0;
	case UVERBS_OBJECT_SRQ << 16 | UVERBS_METHOD_SRQ_CREATE:
		return create_srq(call);
	case UVERBS_OBJECT_SRQ << 16 | UVERBS_METHOD_SRQ_DESTROY:
		call.output(UVERBS_ATTR_DESTROY_SRQ_RESP, uint32_t{0});
		return 0;
	case PAVO_OBJECT_DOORBELLS << 16 | PAVO_METHOD_DOORBELLS_KICK:
		if (engine.is_old)
			return EPROTONOSUPPORT;
		if (lacks_memory())
			return engine.lack;
		kicked(IB_USER_VERBS_CMD_POST_SEND);
		return 0;
	case PAVO_OBJECT_DOORBELLS << 16 | PAVO_METHOD_DOORBELLS_RING:
		if (engine.is_old)
			return EPROTONOSUPPORT;
		if (lacks_memory())
			return engine.lack;
		engine.rung++;
		engine.take(call.word[PAVO_ATTR_DOORBELLS_BELL]);
		return 0;
	default:
		return 0;
	}
}

int serve_write(fake::Call &call)
{
	switch (call.command) {
	case IB_USER_VERBS_CMD_POST_SEND:
	case IB_USER_VERBS_CMD_POST_RECV:
		if (lacks_memory())
			return engine.lack;
		kicked(call.command);
		return 0;
	case IB_USER_VERBS_CMD_ALLOC_PD:
		call.output(UVERBS_ATTR_CORE_OUT, engine.next_handle++);
		return 0;
	case IB_USER_VERBS_CMD_RESIZE_CQ:
		return resize_cq(call);
	case IB_USER_VERBS_CMD_MODIFY_QP: {
		auto core =
			call.input<ib_uverbs_modify_qp>(UVERBS_ATTR_CORE_IN);

		if (core.qp_state == IBV_QPS_RESET)
			engine.qps.at(core.qp_handle).taken = 0;
		return 0;
	}
	default:
		return 0;
	}
}

} // namespace

int serve(fake::Call &call)
{
	std::lock_guard guard(engine.lock);

	return call.is_method ? serve_method(call) : serve_write(call);
}

int on_write(uint32_t command, uint32_t)
{
	std::lock_guard guard(engine.lock);

	if (engine.refuses_writes) {
		engine.refused++;
		return EACCES;
	}
	if (lacks_memory())
		return engine.lack;
	kicked(command);
	return 0;
}

void calm_engine()
{
	engine.drains = true;
	engine.completes = false;
	engine.refuses_writes = false;
	engine.is_old = false;
	engine.lacks_memory = 0;
	engine.send_kicks = engine.recv_kicks = engine.refused = 0;
	engine.rung = 0;
	engine.doorbells.clear();
	engine.doorbell_page()->flags = PAVO_DB_NEED_KICK;
}
