// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * parser.c - the WQE parser: segments in, struct pavo_swqe or an error out.
 *
 * Called by scheduler.c with a private copy of the WQE. Touches that copy
 * only; see parser.h.
 */
#include <linux/string.h>
#include "parser.h"

/* Rest of a WQE's copy that is not parsed yet. */
struct seg_reader {
	const u8 *pos;
	u32 left;
};

static const void *take_segment(struct seg_reader *r, u32 size)
{
	const u8 *seg = r->pos;

	if (r->left < size)
		return NULL;
	r->pos += size;
	r->left -= size;
	return seg;
}

static enum pavo_status parse_inline(struct pavo_swqe *wqe,
				     struct seg_reader *r)
{
	const struct pavo_inline_seg *seg = (const void *)r->pos;
	u32 len = seg->byte_count & ~PAVO_INLINE_SEG;

	if (!(pavo_op_find(wqe->op)->segments & PAVO_SEG_INLINE))
		return PAVO_ST_WQE_SEGMENT;
	/* Compare before rounding, so that nothing can wrap. */
	if (len > r->left - sizeof(*seg))
		return PAVO_ST_WQE_LENGTH;
	if (r->left - (len + sizeof(*seg)) >= PAVO_WQE_UNIT)
		return PAVO_ST_WQE_SEGMENT;
	wqe->flags |= PAVO_SWQE_INLINE;
	wqe->data = r->pos + sizeof(*seg);
	wqe->length = len;
	return PAVO_ST_OK;
}

static enum pavo_status parse_sgl(struct pavo_swqe *wqe, struct seg_reader *r,
				  u32 max_sge)
{
	u32 count = r->left / sizeof(struct pavo_data_seg);
	u32 i;

	wqe->sge = (const void *)r->pos;
	if (count > max_sge)
		return PAVO_ST_WQE_SEGMENT;
	for (i = 0; i < count; i++) {
		u32 len = wqe->sge[i].byte_count;

		if (len & PAVO_INLINE_SEG)
			return PAVO_ST_WQE_SEGMENT;
		if (len > PAVO_MAX_MSG - wqe->length)
			return PAVO_ST_WQE_LENGTH;
		wqe->length += len;
	}
	wqe->num_sge = count;
	return PAVO_ST_OK;
}

static enum pavo_status parse_payload(struct pavo_swqe *wqe,
				      struct seg_reader *r, u32 max_sge)
{
	const struct pavo_inline_seg *seg = (const void *)r->pos;

	if (r->left && seg->byte_count & PAVO_INLINE_SEG)
		return parse_inline(wqe, r);
	return parse_sgl(wqe, r, max_sge);
}

/* Parse a UDSeg. A QPN beyond 24 bits would be truncated, and name another queue pair. */
static enum pavo_status parse_ud(struct pavo_swqe *wqe, struct seg_reader *r)
{
	const struct pavo_ud_seg *seg = take_segment(r, sizeof(*seg));
	u8 reserved = 0;
	u32 i;

	if (!seg)
		return PAVO_ST_WQE_SEGMENT;
	for (i = 0; i < sizeof(seg->reserved); i++)
		reserved |= seg->reserved[i];
	if (reserved)
		return PAVO_ST_WQE_FLAGS;
	if (seg->dest_qpn >> 24 || seg->port_num != PAVO_PORT ||
	    seg->sl > PAVO_SL_MAX)
		return PAVO_ST_AV;
	wqe->av = seg;
	return PAVO_ST_OK;
}

static enum pavo_status parse_xrc(struct pavo_swqe *wqe, struct seg_reader *r)
{
	const struct pavo_xrc_seg *seg = take_segment(r, sizeof(*seg));

	if (!seg || seg->srqn >> 24 || seg->reserved[0] || seg->reserved[1] ||
	    seg->reserved[2])
		return PAVO_ST_WQE_SEGMENT;
	wqe->srqn = seg->srqn;
	return PAVO_ST_OK;
}

/* Parse an ExtAtomicSeg. Masks that the operation does not use must be all ones. */
static enum pavo_status parse_ext_atomic(struct pavo_swqe *wqe,
					 struct seg_reader *r)
{
	const struct pavo_ext_atomic_seg *seg = take_segment(r, sizeof(*seg));

	if (!seg)
		return PAVO_ST_WQE_SEGMENT;
	wqe->swap_add = seg->swap_add;
	wqe->swap_add_mask = seg->swap_add_mask;
	wqe->compare = seg->compare;
	wqe->compare_mask = seg->compare_mask;
	if (wqe->op == PAVO_WQE_EXT_CMP_SWAP)
		return PAVO_ST_OK;
	if (wqe->compare || ~wqe->compare_mask)
		return PAVO_ST_WQE_SEGMENT;
	if (wqe->op == PAVO_WQE_EXT_SWAP && ~wqe->swap_add_mask)
		return PAVO_ST_WQE_SEGMENT;
	return PAVO_ST_OK;
}

static enum pavo_status parse_imm64(struct pavo_swqe *wqe, struct seg_reader *r)
{
	const struct pavo_imm64_seg *seg = take_segment(r, sizeof(*seg));

	if (!seg || seg->reserved || r->left)
		return PAVO_ST_WQE_SEGMENT;
	wqe->flags |= PAVO_SWQE_INLINE;
	wqe->data = (const u8 *)&seg->imm;
	wqe->length = sizeof(seg->imm);
	return PAVO_ST_OK;
}

/* Parse RaddrSeg, and the atomic segment behind it. @raddr: set if the operation has one. */
static enum pavo_status parse_remote(struct pavo_swqe *wqe,
				     struct seg_reader *r,
				     const struct pavo_raddr_seg **raddr)
{
	u8 segments = pavo_op_find(wqe->op)->segments;
	const struct pavo_atomic_seg *atomic;

	if (!(segments & PAVO_SEG_RADDR))
		return PAVO_ST_OK;
	*raddr = take_segment(r, sizeof(**raddr));
	if (!*raddr)
		return PAVO_ST_WQE_SEGMENT;
	wqe->raddr = (*raddr)->va;
	wqe->rkey = (*raddr)->rkey;
	wqe->dma_len = (*raddr)->length;
	if (segments & PAVO_SEG_EXT_ATOMIC)
		return parse_ext_atomic(wqe, r);
	if (!(segments & PAVO_SEG_ATOMIC))
		return PAVO_ST_OK;
	atomic = take_segment(r, sizeof(*atomic));
	if (!atomic)
		return PAVO_ST_WQE_SEGMENT;
	wqe->swap_add = atomic->swap_add;
	wqe->compare = atomic->compare;
	if (wqe->op == PAVO_WQE_FETCH_ADD && wqe->compare)
		return PAVO_ST_WQE_SEGMENT;
	return PAVO_ST_OK;
}

/* Check a flush, whose range is no payload and which has no further segment. */
static enum pavo_status parse_flush(const struct pavo_swqe *wqe,
				    const struct seg_reader *r,
				    const struct pavo_parser_limits *lim)
{
	const u32 types = PAVO_FLUSH_GLOBAL | PAVO_FLUSH_PERSISTENT;

	if (r->left)
		return PAVO_ST_WQE_SEGMENT;
	if (!(wqe->imm & types) || wqe->imm & ~(types | PAVO_FLUSH_REGION))
		return PAVO_ST_WQE_FLAGS;
	return wqe->dma_len > lim->max_len ? PAVO_ST_WQE_LENGTH : PAVO_ST_OK;
}

/* Parse a WQE that sends nothing: NextSeg, and perhaps a BindSeg. */
static enum pavo_status parse_local(struct pavo_swqe *wqe, struct seg_reader *r)
{
	if (pavo_op_find(wqe->op)->segments & PAVO_SEG_BIND) {
		wqe->bind = take_segment(r, sizeof(*wqe->bind));
		if (!wqe->bind)
			return PAVO_ST_WQE_SEGMENT;
	}
	return r->left ? PAVO_ST_WQE_SEGMENT : PAVO_ST_OK;
}

static enum pavo_status parse_segments(struct pavo_swqe *wqe,
				       struct seg_reader *r,
				       const struct pavo_parser_limits *lim)
{
	const struct pavo_op *op = pavo_op_find(wqe->op);
	const struct pavo_raddr_seg *raddr = NULL;
	enum pavo_status err = PAVO_ST_OK;

	if (!(op->services & lim->service) || (op->kernel && !lim->kernel))
		return PAVO_ST_WQE_OPCODE;
	if (pavo_op_is_local(wqe->op))
		return parse_local(wqe, r);
	if (lim->service == PAVO_FOR_UD)
		err = parse_ud(wqe, r);
	else if (lim->service == PAVO_FOR_XRC)
		err = parse_xrc(wqe, r);
	if (!err)
		err = parse_remote(wqe, r, &raddr);
	if (!err && wqe->op == PAVO_WQE_FLUSH)
		return parse_flush(wqe, r, lim);
	if (!err)
		err = op->segments & PAVO_SEG_IMM64 ?
			      parse_imm64(wqe, r) :
			      parse_payload(wqe, r, lim->max_sge);
	if (err)
		return err;
	if (wqe->length > lim->max_len)
		return PAVO_ST_WQE_LENGTH;
	if (raddr && raddr->length != wqe->length)
		return PAVO_ST_WQE_LENGTH;
	if (op->length && wqe->length != op->length)
		return PAVO_ST_WQE_LENGTH;
	return PAVO_ST_OK;
}

enum pavo_status pavo_parse_wqe(struct pavo_swqe *wqe, u64 db, u32 size,
				const struct pavo_parser_limits *limits)
{
	const struct pavo_next_seg *next = (const void *)wqe->raw;
	struct seg_reader r = {
		.pos = wqe->raw + sizeof(*next),
		.left = size - sizeof(*next),
	};
	u32 known = PAVO_WQE_SIGNALED | PAVO_WQE_SOLICITED |
		    (limits->kernel ? PAVO_SWQE_READ_INV : 0);

	wqe->op = db & PAVO_DB_OP_MASK;
	wqe->flags = next->flags & known;
	if (db & PAVO_DB_FENCE)
		wqe->flags |= PAVO_SWQE_FENCE;
	wqe->num_sge = 0;
	wqe->claimed = 0;
	wqe->length = 0;
	wqe->imm = next->imm;
	wqe->raddr = 0;
	wqe->rkey = 0;
	wqe->dma_len = 0;
	wqe->srqn = 0;
	wqe->npkts = 0;
	wqe->swap_add = 0;
	wqe->compare = 0;
	wqe->swap_add_mask = 0;
	wqe->compare_mask = 0;
	/* The chain ends at a size that is not possible. */
	wqe->next = next->size > 0xff ?
			    0 :
			    (u64)next->size << PAVO_DB_SIZE_SHIFT | next->next;
	wqe->av = NULL;
	wqe->bind = NULL;
	wqe->sge = NULL;
	wqe->data = NULL;

	if (next->size > 0xff || next->flags & ~known)
		wqe->status = PAVO_ST_WQE_FLAGS;
	else
		wqe->status = parse_segments(wqe, &r, limits);
	return wqe->status;
}
