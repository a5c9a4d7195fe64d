// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * post.c - ib_post_send of kernel consumers.
 *
 * Writes WQEs into the ring as the provider does in user space, and puts doorbells into
 * the FIFO of the QP without a doorbell page.
 */
#include "pavo_kernel.h"
#include "requester/ah.h"
#include "requester_private.h"

static u32 sum_length(const struct ib_send_wr *wr)
{
	u32 i, len = 0;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

static void *put_ud(void *pos, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);
	struct pavo_ud_seg *seg = pos;

	*seg = to_pavo_ah(ud->ah)->av;
	seg->dest_qpn = ud->remote_qpn & PAVO_QPN_MASK;
	seg->qkey = ud->remote_qkey;
	return seg + 1;
}

static void *put_ext_atomic(void *pos, const struct ib_atomic_wr *wr, u8 op)
{
	struct pavo_ext_atomic_seg *seg = pos;

	*seg = (struct pavo_ext_atomic_seg){ .compare_mask = ~0ull };
	switch (op) {
	case PAVO_WQE_EXT_CMP_SWAP:
		seg->swap_add = wr->swap;
		seg->swap_add_mask = wr->swap_mask;
		seg->compare = wr->compare_add;
		seg->compare_mask = wr->compare_add_mask;
		break;
	case PAVO_WQE_EXT_SWAP:
		seg->swap_add = wr->swap;
		seg->swap_add_mask = ~0ull;
		break;
	default:
		seg->swap_add = wr->compare_add;
		seg->swap_add_mask = wr->compare_add_mask;
	}
	return seg + 1;
}

static void *put_imm64(void *pos, const struct ib_send_wr *wr)
{
	struct pavo_imm64_seg *seg = pos;

	*seg = (struct pavo_imm64_seg){ .imm = pavo_get_imm64_wr(wr)->data };
	return seg + 1;
}

/* Write RaddrSeg and AtomicSeg or ExtAtomicSeg, if the operation has them. */
static void *put_remote(void *pos, const struct ib_send_wr *wr, u8 op)
{
	struct pavo_raddr_seg *raddr = pos;
	struct pavo_atomic_seg *atomic = (void *)(raddr + 1);
	u8 segments = pavo_op_find(op)->segments;

	if (!(segments & PAVO_SEG_RADDR))
		return pos;
	raddr->length = sum_length(wr);
	if (!(segments & (PAVO_SEG_ATOMIC | PAVO_SEG_EXT_ATOMIC))) {
		raddr->va = rdma_wr(wr)->remote_addr;
		raddr->rkey = rdma_wr(wr)->rkey;
		return raddr + 1;
	}
	raddr->va = atomic_wr(wr)->remote_addr;
	raddr->rkey = atomic_wr(wr)->rkey;
	if (segments & PAVO_SEG_EXT_ATOMIC)
		return put_ext_atomic(atomic, atomic_wr(wr), op);
	atomic->swap_add = op == PAVO_WQE_CMP_SWAP ? atomic_wr(wr)->swap :
						     atomic_wr(wr)->compare_add;
	atomic->compare = op == PAVO_WQE_CMP_SWAP ? atomic_wr(wr)->compare_add :
						    0;
	return atomic + 1;
}

/* Write the BindSeg of a fast registration, with address and length of the region. */
static void *put_reg(void *pos, const struct ib_send_wr *wr)
{
	const struct ib_reg_wr *reg = reg_wr(wr);
	struct pavo_bind_seg *seg = pos;

	*seg = (struct pavo_bind_seg){
		.va = reg->mr->iova,
		.length = reg->mr->length,
		.new_rkey = reg->key,
		.mr_lkey = reg->mr->lkey,
		.access = reg->access,
	};
	return seg + 1;
}

/*
 * Find the imm field of the NextSeg. A read with invalidation names the key there; consumers
 * written for iWARP give it only as lkey of their entry (0 is no key).
 */
static u32 get_next_seg_imm(const struct ib_send_wr *wr)
{
	if (wr->opcode == IB_WR_RDMA_READ_WITH_INV && !wr->ex.invalidate_rkey &&
	    wr->num_sge)
		return wr->sg_list[0].lkey;
	return (__force u32)wr->ex.imm_data;
}

/* Write the WQE of @wr to @slot. Return: its size in bytes; -EINVAL: too many entries. */
static int put_wqe(struct pavo_qp *qp, void *slot, const struct ib_send_wr *wr,
		   u8 op)
{
	struct pavo_next_seg *next = slot;
	struct pavo_data_seg *seg;
	void *pos = next + 1;
	int i;

	if (wr->num_sge > qp->cap.max_send_sge)
		return -EINVAL;
	/* IB_SEND_INLINE is ignored: it is only a hint, and kernel memory needs no copy. */
	next->next = 0;
	next->size = 0;
	next->flags = 0;
	if (wr->send_flags & IB_SEND_SIGNALED)
		next->flags |= PAVO_WQE_SIGNALED;
	if (wr->send_flags & IB_SEND_SOLICITED)
		next->flags |= PAVO_WQE_SOLICITED;
	if (wr->opcode == IB_WR_RDMA_READ_WITH_INV)
		next->flags |= PAVO_SWQE_READ_INV;
	next->imm = get_next_seg_imm(wr);
	if (pavo_is_datagram(qp))
		pos = put_ud(pos, wr);
	else if (op == PAVO_WQE_REG_MR)
		pos = put_reg(pos, wr);
	else if (op == PAVO_WQE_IMM64)
		pos = put_imm64(pos, wr);
	else
		pos = put_remote(pos, wr, op);
	/* Operations that move no data ignore the list. */
	if (!(pavo_op_find(op)->segments & PAVO_SEG_DATA))
		return pos - slot;
	for (i = 0, seg = pos; i < wr->num_sge; i++, seg++) {
		seg->byte_count = wr->sg_list[i].length;
		seg->lkey = wr->sg_list[i].lkey;
		seg->va = wr->sg_list[i].addr;
	}
	return (void *)seg - slot;
}

static int post_send_wr(struct pavo_qp *qp, const struct ib_send_wr *wr)
{
	struct pavo_requester *req = &qp->req;
	u32 index = req->posted & (req->count - 1);
	u32 slot = index * req->wqe_size;
	u8 op = pavo_op_of_wr(wr->opcode);
	u64 db;
	int size;

	if (op == PAVO_WQE_NOP)
		return -EOPNOTSUPP;
	/* Pairs with the release in complete_wqe(). */
	if (req->posted - smp_load_acquire(&req->tail) >= req->count)
		return -ENOMEM;
	size = put_wqe(qp, req->sq + slot, wr, op);
	if (size < 0)
		return size;
	req->wr_id[index] = wr->wr_id;
	db = (u64)(size / PAVO_WQE_UNIT) << PAVO_DB_SIZE_SHIFT |
	     (u64)(slot / PAVO_WQE_UNIT) << PAVO_DB_OFFSET_SHIFT | op;
	if (wr->send_flags & IB_SEND_FENCE)
		db |= PAVO_DB_FENCE;
	req->doorbells[req->db_head & (req->count - 1)] = db;
	/* Pairs with the acquire in take_next_link(). */
	smp_store_release(&req->db_head, req->db_head + 1);
	req->posted++;
	return 0;
}

int pavo_requester_post(struct pavo_qp *qp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad_wr)
{
	struct pavo_requester *req = &qp->req;
	unsigned long flags;
	int err = 0;

	if (pavo_qp_get_state(qp) < IB_QPS_RTS) {
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&req->post_lock, flags);
	for (; wr; wr = wr->next) {
		err = post_send_wr(qp, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&req->post_lock, flags);
	set_bit(PAVO_REQ_DOORBELL, &req->side.pending);
	/*
	 * Consumers may post with interrupts off or in a hard interrupt, where nothing
	 * can be sent: a work sends it then.
	 */
	if (!irqs_disabled() && !in_hardirq())
		pavo_requester_run(qp);
	else if (pavo_qp_get_state(qp) >= IB_QPS_SQE)
		pavo_qp_end(qp);
	else
		queue_work(qp->dev->wq, &qp->key_state.work);
	return err;
}
