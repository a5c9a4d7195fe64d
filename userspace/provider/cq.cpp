// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cq.cpp - completion queues: life, size and polling.
 *
 * Owns: our side of the mapped ring. The module writes entries, and the
 * provider reads each one once into a private copy, because every thread of the
 * process can write to the mapping. A bad entry may confuse the application's
 * view of its own requests, but never leads the provider outside of its tables.
 */
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cqe.h"
#include "ops.h"
#include "provider.h"

namespace pavo {
namespace {

/* A QPN that no queue pair has: marks entries that belong to no QP any more. */
constexpr uint32_t qpn_none = UINT32_MAX;

bool is_valid(Cq *cq, uint32_t index)
{
	pavo_cqe &entry = cq->entries[index & (cq->count - 1)];
	uint8_t flags =
		std::atomic_ref(entry.flags).load(std::memory_order_acquire);

	return (flags & PAVO_CQE_OWNER) == owner_of_pass(index, cq->count);
}

/* Takes the next entry if the module has written it. */
bool next_cqe(Cq *cq, uint32_t &number, pavo_cqe *copy)
{
	if (!is_valid(cq, number))
		return false;
	memcpy(copy, &cq->entries[number & (cq->count - 1)], sizeof(*copy));
	/* The compiler must not read a value of the ring twice. */
	asm volatile("" ::: "memory");
	number++;
	return true;
}

/*
 * Records whether the peer supports extended operations: it does if it has acknowledged one. A
 * peer that never acknowledged any may support none, or may be unreachable.
 */
void note_peer(Qp *qp, const ibv_wc &wc, uint8_t op)
{
	if (!has_property(op, PAVO_WQE_EXTENDED))
		return;
	if (wc.status == IBV_WC_SUCCESS)
		qp->peer = PAVODV_PEER_KNOWS;
	else if (wc.status == IBV_WC_RETRY_EXC_ERR &&
		 qp->peer == PAVODV_PEER_UNKNOWN)
		qp->peer = PAVODV_PEER_SILENT;
}

/* False if the application must not see the entry: its QP was destroyed or reset. */
bool translate(Context *context, const pavo_cqe &cqe, ibv_wc *wc)
{
	Qp *qp = context->state->qps.find(cqe.qpn);
	bool srq = cqe.flags & PAVO_CQE_SRQ;

	/* An XRC target is in no table of ours, it may be another process'. */
	if (!qp && !(srq && cqe.qpn != qpn_none && context->state->xrc_srqs))
		return false;
	if (srq) {
		decode_cqe(cqe, wc);
		wc->wr_id = cqe.wr_id;
		if (qp && !qp->verbs.qp.srq)
			spoil_wc(wc);
		return true;
	}

	WorkQueue &queue = cqe.flags & PAVO_CQE_RECV ? qp->rq : qp->sq;
	uint64_t wr_id;

	decode_cqe(cqe, wc);
	if (queue.complete(cqe.wqe, &wr_id))
		wc->wr_id = wr_id;
	else
		spoil_wc(wc);
	if (!(cqe.flags & PAVO_CQE_RECV))
		note_peer(qp, *wc, cqe.opcode);
	return true;
}

/* The ring a new or resized CQ has from now on. */
bool map_ring(Cq *cq, int fd, const pavo_create_cq_resp &resp)
{
	Mapping ring;
	uint64_t needed =
		PAVO_CQ_HEADER_SIZE + uint64_t{resp.cqe_cnt} * sizeof(pavo_cqe);

	if (!std::has_single_bit(resp.cqe_cnt)) {
		errno = EPROTO;
		return false;
	}
	if (!ring.map(fd, resp.ring, needed))
		return false;

	auto *header = static_cast<pavo_cq_header *>(ring.data());

	if (cq->header)
		header->own = taken(cq);
	cq->ring.swap(ring);
	cq->header = header;
	cq->entries = reinterpret_cast<pavo_cqe *>(
		static_cast<std::byte *>(cq->ring.data()) +
		PAVO_CQ_HEADER_SIZE);
	cq->count = resp.cqe_cnt;
	return true;
}

} // namespace

std::unique_ptr<Cq> make_cq(ibv_context *ibcontext, int cqe,
			    ibv_comp_channel *channel, int comp_vector,
			    bool shared)
{
	verbs_response<ib_uverbs_create_cq_resp, pavo_create_cq_resp> resp = {};
	verbs_cmd_create_cq cmd = {};
	auto cq = make_object<Cq>(shared);
	int err;

	if (!cq)
		return nullptr;
	err = ibv_cmd_create_cq(ibcontext, cqe, channel, comp_vector,
				&cq->verbs.cq, &cmd, sizeof(cmd), resp.core(),
				resp.size());
	if (err) {
		errno = err;
		return nullptr;
	}
	if (!map_ring(cq.get(), ibcontext->cmd_fd, resp.driver)) {
		err = errno;
		ibv_cmd_destroy_cq(&cq->verbs.cq);
		errno = err;
		return nullptr;
	}
	return cq;
}

ibv_cq *create_cq(ibv_context *context, int cqe, ibv_comp_channel *channel,
		  int comp_vector)
{
	auto cq = make_cq(context, cqe, channel, comp_vector,
			  to_context(context)->state->shared);

	return cq ? &cq.release()->verbs.cq : nullptr;
}

int destroy_cq(ibv_cq *ibcq)
{
	Cq *cq = to_cq(ibcq);
	int err = ibv_cmd_destroy_cq(ibcq);

	if (err)
		return err;
	if (cq->parent)
		cq->parent->users--;
	adopt_object(cq).reset();
	return 0;
}

/*
 * The module moves entries that were not consumed to a new ring, where they keep their indices.
 * No thread polls meanwhile: the old ring is dead when the call returns.
 */
int resize_cq(ibv_cq *ibcq, int cqe)
{
	verbs_response<ib_uverbs_resize_cq_resp, pavo_create_cq_resp> resp = {};
	verbs_cmd_resize_cq cmd = {};
	Cq *cq = to_cq(ibcq);
	std::lock_guard guard(cq->lock);
	int err;

	publish_cons(cq);
	err = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), resp.core(),
				resp.size());
	if (err)
		return err;
	if (!map_ring(cq, ibcq->context->cmd_fd, resp.driver))
		return errno;
	return 0;
}

int modify_cq(ibv_cq *cq, ibv_modify_cq_attr *attr)
{
	verbs_cmd_modify_cq cmd = {};

	return ibv_cmd_modify_cq(cq, attr, &cmd, sizeof(cmd));
}

bool poll_one(Context *context, Cq *cq, uint32_t begun, pavo_cqe *cqe,
	      ibv_wc *wc)
{
	uint32_t &number = taken(cq);

	/* At most one pass of the ring: the module may refill it all the time. */
	while (number - begun < cq->count && next_cqe(cq, number, cqe))
		if (translate(context, *cqe, wc))
			return true;
	return false;
}

void publish_cons(Cq *cq)
{
	std::atomic_ref(cq->header->cons)
		.store(taken(cq), std::memory_order_release);
}

int poll_cq(ibv_cq *ibcq, int num_entries, ibv_wc *wc)
{
	Context *context = to_context(ibcq->context);
	Cq *cq = to_cq(ibcq);
	std::lock_guard guard(cq->lock);
	uint32_t begun = taken(cq);
	int found = 0;
	pavo_cqe cqe;

	while (found < num_entries &&
	       poll_one(context, cq, begun, &cqe, wc + found))
		found++;
	if (taken(cq) != begun)
		publish_cons(cq);
	return found;
}

void forget_qp(Cq *cq, uint32_t qpn)
{
	for (uint32_t i = 0; i < cq->count && is_valid(cq, taken(cq) + i);
	     i++) {
		uint32_t slot = (taken(cq) + i) & (cq->count - 1);
		std::atomic_ref entry_qpn(cq->entries[slot].qpn);

		if (entry_qpn.load(std::memory_order_relaxed) == qpn)
			entry_qpn.store(qpn_none, std::memory_order_relaxed);
	}
}

} // namespace pavo
