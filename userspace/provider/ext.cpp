// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ext.cpp - operations that verbs do not have; see the end of pavo_dv.h. Called by
 * applications between ibv_wr_start() and ibv_wr_complete(), and while they poll.
 */
#include <cerrno>

#include "ops.h"
#include "qp_ex.h"

using namespace pavo;

#define PAVO_PUBLIC [[gnu::visibility("default")]]

namespace {

Qp *to_qp_of(ibv_qp_ex *qp)
{
	return reinterpret_cast<Qp *>(qp);
}

/* Leaves a queue pair of another device alone: the call has no result to say so. */
template <class Segment>
void begin(ibv_qp_ex *qp, pavo_wqe_op op, const Segment &segment,
	   uint32_t rkey = 0, uint64_t remote = 0)
{
	if (!is_pavo(qp->qp_base.context) || !to_qp_of(qp)->builder)
		return;
	ibv_send_wr *wr = to_qp_of(qp)->builder->begin(own_request(op),
						       Extension(segment));

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = remote;
}

} // namespace

PAVO_PUBLIC void pavodv_wr_ext_fetch_add(ibv_qp_ex *qp, uint32_t rkey,
					 uint64_t remote, uint64_t add,
					 uint64_t tops)
{
	begin(qp, PAVO_WQE_EXT_FETCH_ADD,
	      pavo_ext_atomic_seg{.swap_add = add,
				  .swap_add_mask = tops,
				  .compare = 0,
				  .compare_mask = UINT64_MAX},
	      rkey, remote);
}

PAVO_PUBLIC void pavodv_wr_ext_swap(ibv_qp_ex *qp, uint32_t rkey,
				    uint64_t remote, uint64_t value)
{
	begin(qp, PAVO_WQE_EXT_SWAP,
	      pavo_ext_atomic_seg{.swap_add = value,
				  .swap_add_mask = UINT64_MAX,
				  .compare = 0,
				  .compare_mask = UINT64_MAX},
	      rkey, remote);
}

PAVO_PUBLIC void pavodv_wr_ext_cmp_swap(ibv_qp_ex *qp, uint32_t rkey,
					uint64_t remote, uint64_t compare,
					uint64_t compare_mask, uint64_t swap,
					uint64_t swap_mask)
{
	begin(qp, PAVO_WQE_EXT_CMP_SWAP,
	      pavo_ext_atomic_seg{.swap_add = swap,
				  .swap_add_mask = swap_mask,
				  .compare = compare,
				  .compare_mask = compare_mask},
	      rkey, remote);
}

PAVO_PUBLIC void pavodv_wr_imm64(ibv_qp_ex *qp, __be64 imm)
{
	begin(qp, PAVO_WQE_IMM64, pavo_imm64_seg{.imm = imm, .reserved = 0});
}

PAVO_PUBLIC void pavodv_wr_flush(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote,
				 size_t length, uint32_t flags)
{
	if (is_pavo(qp->qp_base.context) && to_qp_of(qp)->builder)
		to_qp_of(qp)->builder->begin_flush(rkey, remote, length, flags);
}

PAVO_PUBLIC bool pavodv_wc_read_imm64(ibv_cq_ex *ibcq, __be64 *imm)
{
	const auto *cq = reinterpret_cast<Cq *>(ibcq);

	if (!is_pavo(ibcq->context) || cq->wc.status != IBV_WC_SUCCESS ||
	    !(cq->current.flags & PAVO_CQE_IMM64))
		return false;
	*imm = cq->current.imm64;
	return true;
}

PAVO_PUBLIC uint32_t pavodv_query_ext(ibv_context *context)
{
	if (!is_pavo(context))
		return 0;
	return PAVODV_EXT_FETCH_ADD | PAVODV_EXT_SWAP | PAVODV_EXT_CMP_SWAP |
	       PAVODV_EXT_IMM64;
}

PAVO_PUBLIC int pavodv_query_peer(ibv_qp *qp, pavodv_peer *peer)
{
	if (!is_pavo(qp->context))
		return EOPNOTSUPP;
	*peer = to_qp(qp)->peer;
	return 0;
}
