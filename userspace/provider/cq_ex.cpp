// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cq_ex.cpp - extended completion queues: the same ring, polled entry by entry,
 * with what does not fit into a struct ibv_wc; and the clock of its time stamps.
 *
 * Called by libibverbs and by applications through the functions in struct
 * ibv_cq_ex. The CQ's lock is held from a successful start_poll to end_poll.
 */
#include <cerrno>
#include <ctime>

#include "provider.h"

namespace pavo {
namespace {

/* The fields of a completion; flow tags and tag matching are not among them. */
constexpr uint64_t known_wc_flags =
	IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
	IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
	IBV_WC_EX_WITH_DLID_PATH_BITS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
	IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

constexpr uint64_t ns_per_s = 1000000000;

uint64_t now_ns(clockid_t clock)
{
	timespec ts = {};

	clock_gettime(clock, &ts);
	return static_cast<uint64_t>(ts.tv_sec) * ns_per_s +
	       static_cast<uint64_t>(ts.tv_nsec);
}

Cq *to_cq(ibv_cq_ex *cq)
{
	return reinterpret_cast<Cq *>(cq);
}

/* 0, or ENOENT. */
int next_poll(ibv_cq_ex *ibcq)
{
	Cq *cq = to_cq(ibcq);

	if (!poll_one(to_context(ibcq->context), cq, cq->begun, &cq->current,
		      &cq->wc))
		return ENOENT;
	ibcq->wr_id = cq->wc.wr_id;
	ibcq->status = cq->wc.status;
	return 0;
}

void end_poll(ibv_cq_ex *ibcq)
{
	Cq *cq = to_cq(ibcq);

	if (taken(cq) != cq->begun)
		publish_cons(cq);
	cq->lock.unlock();
}

int start_poll(ibv_cq_ex *ibcq, ibv_poll_cq_attr *attr)
{
	Cq *cq = to_cq(ibcq);
	int err;

	if (attr->comp_mask)
		return EINVAL;
	cq->lock.lock();
	cq->begun = taken(cq);
	err = next_poll(ibcq);
	if (err)
		end_poll(ibcq);
	return err;
}

ibv_wc_opcode read_opcode(ibv_cq_ex *cq)
{
	return to_cq(cq)->wc.opcode;
}

uint32_t read_vendor_err(ibv_cq_ex *cq)
{
	return to_cq(cq)->wc.vendor_err;
}

uint32_t read_byte_len(ibv_cq_ex *cq)
{
	return to_cq(cq)->wc.byte_len;
}

/* Or the invalidated key: the same field. */
__be32 read_imm_data(ibv_cq_ex *cq)
{
	return to_cq(cq)->wc.imm_data;
}

uint32_t read_qp_num(ibv_cq_ex *cq)
{
	return to_cq(cq)->wc.qp_num;
}

uint32_t read_src_qp(ibv_cq_ex *cq)
{
	return to_cq(cq)->wc.src_qp;
}

unsigned int read_wc_flags(ibv_cq_ex *cq)
{
	return to_cq(cq)->wc.wc_flags;
}

/* Ethernet has no LIDs. */
uint32_t read_slid(ibv_cq_ex *)
{
	return 0;
}

uint8_t read_dlid_path_bits(ibv_cq_ex *)
{
	return 0;
}

uint8_t read_sl(ibv_cq_ex *cq)
{
	return to_cq(cq)->wc.sl;
}

uint64_t read_completion_ts(ibv_cq_ex *cq)
{
	return to_cq(cq)->current.timestamp;
}

uint64_t read_completion_wallclock_ns(ibv_cq_ex *cq)
{
	return to_cq(cq)->current.timestamp + now_ns(CLOCK_REALTIME) -
	       now_ns(CLOCK_MONOTONIC);
}

uint16_t read_cvlan(ibv_cq_ex *cq)
{
	return to_cq(cq)->current.vlan;
}

void set_functions(ibv_cq_ex *cq)
{
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	cq->read_slid = read_slid;
	cq->read_sl = read_sl;
	cq->read_dlid_path_bits = read_dlid_path_bits;
	cq->read_completion_ts = read_completion_ts;
	cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
	cq->read_cvlan = read_cvlan;
}

/*
 * An overrun is always an error here: writing over entries that were not
 * polled would make completions of another queue pair's requests disappear.
 */
int check_attr(const ibv_cq_init_attr_ex &attr)
{
	constexpr uint32_t masks = IBV_CQ_INIT_ATTR_MASK_FLAGS |
				   IBV_CQ_INIT_ATTR_MASK_PD;

	if (attr.wc_flags & ~known_wc_flags || attr.comp_mask & ~masks)
		return EOPNOTSUPP;
	if (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr.flags &
		    ~static_cast<uint32_t>(IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return EOPNOTSUPP;
	if (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr.parent_domain || !to_pd(attr.parent_domain)->parent_of))
		return EINVAL;
	return 0;
}

bool is_shared(const Context *context, const ibv_cq_init_attr_ex &attr)
{
	if (!context->state->shared)
		return false;
	if (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr.flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return false;
	return !(attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
		 to_pd(attr.parent_domain)->domain);
}

} // namespace

ibv_cq_ex *create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *attr)
{
	int err = check_attr(*attr);

	if (err) {
		errno = err;
		return nullptr;
	}
	auto cq = make_cq(context, static_cast<int>(attr->cqe), attr->channel,
			  static_cast<int>(attr->comp_vector),
			  is_shared(to_context(context), *attr));
	if (!cq)
		return nullptr;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent = to_pd(attr->parent_domain);
		cq->parent->users++;
	}
	set_functions(&cq->verbs.cq_ex);
	return &cq.release()->verbs.cq_ex;
}

/* The clock of completions, in its units: nanoseconds of CLOCK_MONOTONIC. */
int query_rt_values(ibv_context *, ibv_values_ex *values)
{
	uint32_t known = 0;

	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec =
			static_cast<long>(now_ns(CLOCK_MONOTONIC));
		known |= IBV_VALUES_MASK_RAW_CLOCK;
	}
	values->comp_mask = known;
	return 0;
}

} // namespace pavo
