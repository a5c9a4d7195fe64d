// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * qp_ex.cpp - the other way to post: requests put together by calls between
 * ibv_wr_start() and ibv_wr_complete() or ibv_wr_abort().
 *
 * Called by applications through the functions in struct ibv_qp_ex. The calls
 * fill a struct ibv_send_wr, so that the same code as for ibv_post_send() makes
 * the WQE and keeps its limits. The data of inline requests and the lists of
 * entries are copied at once: they are the application's only during the call.
 * The provider does not post a chain with an error in it at all;
 * ibv_wr_complete() returns the error.
 */
#include "qp_ex.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "layout.h"
#include "ops.h"

namespace pavo {

bool SendBuilder::init(Allocator *from, const ibv_qp_cap &cap)
{
	size_t entries;

	max_sges_ = cap.max_send_sge;
	max_inline_ = cap.max_inline_data;
	/* inline data is one entry, with any limit of entries */
	entries = std::max<size_t>(max_sges_, 1) * sizeof(ibv_sge);
	if (!memory_.allocate(from, entries + max_inline_, PAVODV_RES_REQUEST))
		return false;
	sges_ = memory_.as<ibv_sge>();
	inline_ = memory_.as<std::byte>() + entries;
	return true;
}

void SendBuilder::start(Qp *qp)
{
	qp_ex_ = &qp->verbs.qp_ex;
	chain_.emplace(qp);
	open_ = false;
	err_ = may_send(qp->verbs.qp.state) ? 0 : EINVAL;
}

/* ibv_wr_complete() returns the first error. */
void SendBuilder::fail(int err)
{
	if (!err_)
		err_ = err;
}

void SendBuilder::close()
{
	if (open_ && !err_)
		err_ = chain_->add(wr_, extension_ ? &*extension_ : nullptr);
	open_ = false;
}

ibv_send_wr *SendBuilder::begin(ibv_wr_opcode opcode)
{
	close();
	wr_ = {};
	wr_.wr_id = qp_ex_->wr_id;
	wr_.opcode = opcode;
	/* inline: the request whose data is set inline */
	wr_.send_flags = qp_ex_->wr_flags &
			 ~static_cast<unsigned int>(IBV_SEND_INLINE);
	wr_.sg_list = sges_;
	extension_.reset();
	open_ = true;
	return &wr_;
}

ibv_send_wr *SendBuilder::begin(ibv_wr_opcode opcode,
				const Extension &extension)
{
	ibv_send_wr *wr = begin(opcode);

	extension_ = extension;
	return wr;
}

void SendBuilder::begin_flush(uint32_t rkey, uint64_t remote, size_t length,
			      uint32_t flags)
{
	pavo_raddr_seg range = {
		.va = remote,
		.rkey = rkey,
		.length = static_cast<uint32_t>(length),
	};

	if (length > max_flush) {
		fail(EINVAL);
		return;
	}
	begin(wr_flush_opcode, Extension(range))->imm_data = flags;
}

void SendBuilder::set_sges(const ibv_sge *sges, size_t count)
{
	if (!open_ || count > max_sges_) {
		fail(EINVAL);
		return;
	}
	std::copy_n(sges, count, sges_);
	wr_.num_sge = static_cast<int>(count);
	wr_.send_flags &= ~static_cast<unsigned int>(IBV_SEND_INLINE);
}

void SendBuilder::set_inline(const ibv_data_buf *pieces, size_t count)
{
	size_t length = 0;

	if (!open_) {
		fail(EINVAL);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (pieces[i].length > max_inline_ - length) {
			fail(EINVAL);
			return;
		}
		if (pieces[i].length)
			memcpy(&inline_[length], pieces[i].addr,
			       pieces[i].length);
		length += pieces[i].length;
	}
	sges_[0] = {.addr = reinterpret_cast<uintptr_t>(inline_),
		    .length = static_cast<uint32_t>(length),
		    .lkey = 0};
	wr_.num_sge = length ? 1 : 0;
	wr_.send_flags |= IBV_SEND_INLINE;
}

int SendBuilder::finish()
{
	close();
	if (err_ || chain_->empty())
		return err_;
	return chain_->announce();
}

void SendBuilder::drop()
{
	open_ = false;
}

namespace {

Qp *to_qp(ibv_qp_ex *qp)
{
	return reinterpret_cast<Qp *>(qp);
}

SendBuilder &builder(ibv_qp_ex *qp)
{
	return *to_qp(qp)->builder;
}

void wr_start(ibv_qp_ex *qp)
{
	to_qp(qp)->sq.lock.lock();
	builder(qp).start(to_qp(qp));
}

int wr_complete(ibv_qp_ex *qp)
{
	int err = builder(qp).finish();

	to_qp(qp)->sq.lock.unlock();
	return err ? err : kick_if_needed(&qp->qp_base);
}

void wr_abort(ibv_qp_ex *qp)
{
	builder(qp).drop();
	to_qp(qp)->sq.lock.unlock();
}

void wr_send(ibv_qp_ex *qp)
{
	builder(qp).begin(IBV_WR_SEND);
}

void wr_send_imm(ibv_qp_ex *qp, __be32 imm)
{
	builder(qp).begin(IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

void wr_send_inv(ibv_qp_ex *qp, uint32_t rkey)
{
	builder(qp).begin(IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

void begin_rdma(ibv_qp_ex *qp, ibv_wr_opcode opcode, uint32_t rkey,
		uint64_t remote, __be32 imm = 0)
{
	ibv_send_wr *wr = builder(qp).begin(opcode);

	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = remote;
	wr->imm_data = imm;
}

void wr_rdma_write(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote)
{
	begin_rdma(qp, IBV_WR_RDMA_WRITE, rkey, remote);
}

void wr_rdma_write_imm(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote,
		       __be32 imm)
{
	begin_rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote, imm);
}

void wr_rdma_read(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote)
{
	begin_rdma(qp, IBV_WR_RDMA_READ, rkey, remote);
}

void begin_atomic(ibv_qp_ex *qp, ibv_wr_opcode opcode, uint32_t rkey,
		  uint64_t remote, uint64_t compare_add, uint64_t swap)
{
	ibv_send_wr *wr = builder(qp).begin(opcode);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = remote;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
}

void wr_atomic_cmp_swp(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote,
		       uint64_t compare, uint64_t swap)
{
	begin_atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote, compare,
		     swap);
}

void wr_atomic_fetch_add(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote,
			 uint64_t add)
{
	begin_atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote, add, 0);
}

#if PAVO_VERBS_ATOMIC_WRITE
void wr_atomic_write(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote,
		     const void *value)
{
	ibv_data_buf data = {const_cast<void *>(value), sizeof(uint64_t)};

	begin_rdma(qp, IBV_WR_ATOMIC_WRITE, rkey, remote);
	builder(qp).set_inline(&data, 1);
}
#endif

#if PAVO_VERBS_FLUSH
void wr_flush(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote, size_t length,
	      uint8_t type, uint8_t level)
{
	/* the two bits behind the four of the placement types; another level is no flag */
	uint32_t flags = type | level * PAVO_FLUSH_REGION;

	builder(qp).begin_flush(rkey, remote, length,
				type < PAVO_FLUSH_REGION ? flags : 0);
}
#endif

void wr_local_inv(ibv_qp_ex *qp, uint32_t rkey)
{
	builder(qp).begin(IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

void wr_bind_mw(ibv_qp_ex *qp, ibv_mw *mw, uint32_t rkey,
		const ibv_mw_bind_info *info)
{
	ibv_send_wr *wr = builder(qp).begin(IBV_WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

void wr_set_ud_addr(ibv_qp_ex *qp, ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	ibv_send_wr *wr = builder(qp).current();

	if (!wr || qp->qp_base.qp_type != IBV_QPT_UD) {
		builder(qp).fail(EINVAL);
		return;
	}
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = qkey;
}

void wr_set_xrc_srqn(ibv_qp_ex *qp, uint32_t srqn)
{
	ibv_send_wr *wr = builder(qp).current();

	if (!wr || qp->qp_base.qp_type != IBV_QPT_XRC_SEND) {
		builder(qp).fail(EINVAL);
		return;
	}
	wr->qp_type.xrc.remote_srqn = srqn;
}

void wr_set_sge_list(ibv_qp_ex *qp, size_t count, const ibv_sge *sges)
{
	builder(qp).set_sges(sges, count);
}

void wr_set_sge(ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	builder(qp).set_sges(&sge, 1);
}

void wr_set_inline_data_list(ibv_qp_ex *qp, size_t count,
			     const ibv_data_buf *pieces)
{
	builder(qp).set_inline(pieces, count);
}

void wr_set_inline_data(ibv_qp_ex *qp, void *addr, size_t length)
{
	ibv_data_buf piece = {addr, length};

	builder(qp).set_inline(&piece, 1);
}

} // namespace

void set_send_ops(Qp *qp)
{
	ibv_qp_ex *ex = &qp->verbs.qp_ex;

	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
#if PAVO_VERBS_ATOMIC_WRITE
	ex->wr_atomic_write = wr_atomic_write;
#endif
#if PAVO_VERBS_FLUSH
	ex->wr_flush = wr_flush;
#endif
	ex->wr_local_inv = wr_local_inv;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	announce_qp_ex(&qp->verbs);
}

} // namespace pavo
