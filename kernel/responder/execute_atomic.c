// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * execute_atomic.c - execute operations on eight bytes: atomics, and the atomic write.
 */
#include "memory/atomic.h"
#include "responder_private.h"

/* Make the remote-key slot of writes busy. It is free, since no write is in progress. */
static enum pavo_status begin_word(struct pavo_qp *qp,
				   const struct pavo_pkt *pkt, int access)
{
	if (likely(qp->resp.side.stage == PAVO_STAGE_BEGIN))
		return pavo_use_begin(&qp->key_state, PAVO_KEY_SLOT_WRITE,
				      pkt->rkey, pkt->va, sizeof(u64), access);
	return pavo_use_enter(&qp->key_state, PAVO_KEY_SLOT_WRITE);
}

/* Find the region of the eight bytes. On an error the slot is not busy any more. */
static enum pavo_status find_word(struct pavo_qp *qp,
				  const struct pavo_pkt *pkt, int access,
				  struct pavo_region **region)
{
	struct pavo_side *side = &qp->resp.side;
	enum pavo_status status = begin_word(qp, pkt, access);

	if (unlikely(status))
		return status;
	status = pavo_xlate_remote(&qp->key_state, pkt->rkey, pkt->va,
				   sizeof(u64), access, region);
	if (unlikely(status == PAVO_ST_FAULT))
		status = pavo_fault_request(&qp->key_state, &side->missing,
					    *region, pkt->va, sizeof(u64),
					    true);
	if (unlikely(status == PAVO_ST_WAIT)) {
		pavo_use_leave(&qp->key_state, PAVO_KEY_SLOT_WRITE);
		return pavo_side_defer_current(side, PAVO_STAGE_DATA);
	}
	if (unlikely(status))
		pavo_use_end(&qp->key_state, PAVO_KEY_SLOT_WRITE);
	return status;
}

/* An operation on eight bytes: @atomic or @store by @access, which it needs of the key. */
struct word_op {
	int access;
	struct pavo_atomic atomic;
	u64 store;
};

/* The status for an error of pavo_region_atomic() or pavo_region_store(), but -EAGAIN. */
static enum pavo_status get_word_status(struct pavo_qp *qp, int err)
{
	if (err != -EOPNOTSUPP)
		return PAVO_ST_INVALID;
	pavo_count(qp->dev, device_atomics);
	return PAVO_ST_ACCESS;
}

/*
 * Execute @op, and keep the result as a resource: the response of one packet. If other CPUs change
 * the word all the time the packet is deferred.
 */
static enum pavo_status execute_word(struct pavo_qp *qp,
				     const struct pavo_pkt *pkt,
				     const struct word_op *op)
{
	struct pavo_resource *res;
	struct pavo_region *region;
	enum pavo_status status;
	u64 orig = 0;
	int err;

	status = find_word(qp, pkt, op->access, &region);
	if (status)
		return status;
	if (!pavo_resource_is_free(qp))
		err = -EINVAL;
	else if (op->access == IB_ACCESS_REMOTE_ATOMIC)
		err = pavo_region_atomic(region, pkt->va, &op->atomic, &orig);
	else
		err = pavo_region_store(region, pkt->va, op->store);
	if (unlikely(err == -EAGAIN)) {
		pavo_use_leave(&qp->key_state, PAVO_KEY_SLOT_WRITE);
		return pavo_side_defer_current(&qp->resp.side, PAVO_STAGE_DATA);
	}
	pavo_use_end(&qp->key_state, PAVO_KEY_SLOT_WRITE);
	if (err)
		return get_word_status(qp, err);
	res = pavo_resource_new(qp, pkt);
	res->orig = orig;
	pavo_request_answer(qp, pkt, res, 1);
	return PAVO_ST_OK;
}

/* Set @op to the atomic that the packet requests. Return: 0; -EINVAL: an unknown AOpCode. */
static int parse_atomic(const struct pavo_pkt *pkt, struct pavo_atomic *op)
{
	bool ext = pkt->info->flags & PAVO_OPF_EXTATOMICETH;

	*op = (struct pavo_atomic){
		.aop = PAVO_AOP_FETCH_ADD,
		.swap_add = pkt->swap_add,
		.compare = pkt->compare,
	};
	if (ext) {
		op->aop = pkt->aop;
		op->swap_add_mask = pkt->swap_add_mask;
		op->compare_mask = pkt->compare_mask;
	} else if ((pkt->opcode & ~PAVO_SVC_MASK) == PAVO_OP_CMP_SWAP) {
		op->aop = PAVO_AOP_CMP_SWAP;
		op->swap_add_mask = ~0ull;
		op->compare_mask = ~0ull;
	}
	return op->aop <= PAVO_AOP_CMP_SWAP ? 0 : -EINVAL;
}

/*
 * pavo_execute_atomic - execute an atomic.
 *
 * The memory of an atomic must be aligned. For IBA's own operations the address must be aligned,
 * too (IBA 9.7.4.1.6); for extended ones it need not be, since it may be an offset from the
 * beginning of the region (sources.md#ext-errors).
 */
enum pavo_status pavo_execute_atomic(struct pavo_qp *qp, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	bool ext = pkt->info->flags & PAVO_OPF_EXTATOMICETH;
	struct word_op op = { .access = IB_ACCESS_REMOTE_ATOMIC };

	if (!(READ_ONCE(qp->attr.access) & IB_ACCESS_REMOTE_ATOMIC) ||
	    !qp->attr.max_dest_rd_atomic || (!ext && pkt->va & 7) ||
	    parse_atomic(pkt, &op.atomic))
		return PAVO_ST_INVALID;
	return execute_word(qp, pkt, &op);
}

/* pavo_execute_atomic_write - write eight bytes in one store, after all earlier writes. */
enum pavo_status pavo_execute_atomic_write(struct pavo_qp *qp,
					   struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct word_op op = { .access = IB_ACCESS_REMOTE_WRITE };

	if (!(READ_ONCE(qp->attr.access) & IB_ACCESS_REMOTE_WRITE) ||
	    !qp->attr.max_dest_rd_atomic || pkt->va & 7 ||
	    pkt->dma_len != sizeof(op.store) ||
	    pkt->payload != sizeof(op.store) ||
	    skb_copy_bits(rx->skb, rx->payload, &op.store, sizeof(op.store)))
		return PAVO_ST_INVALID;
	return execute_word(qp, pkt, &op);
}
