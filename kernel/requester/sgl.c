// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sgl.c - DataPack (sources.md#engine-2-4-5): one gap-free stream of bytes from
 * or to the entries of a WQE.
 *
 * Keys are translated anew for every packet, under RCU, so no packet touches a region
 * after its end.
 */
#include "memory/claim.h"
#include "requester_private.h"

/*
 * Find the next piece of at most @len bytes that lies in one entry: its region,
 * address and length. The caller moves @pos behind it.
 */
static enum pavo_status find_sge_piece(struct pavo_qp *qp,
				       const struct pavo_swqe *wqe,
				       struct pavo_sgl_pos *pos, u32 *len,
				       int access, u64 *va,
				       struct pavo_region **region)
{
	const struct pavo_data_seg *sge;
	enum pavo_status status;

	while (pos->sge < wqe->num_sge &&
	       pos->off == wqe->sge[pos->sge].byte_count) {
		pos->sge++;
		pos->off = 0;
	}
	if (pos->sge >= wqe->num_sge)
		return PAVO_ST_WQE_LENGTH;
	sge = &wqe->sge[pos->sge];
	*len = min(*len, sge->byte_count - pos->off);
	*va = sge->va + pos->off;
	status = pavo_xlate(qp->dev, qp->key_state.pd, sge->lkey, *va, *len,
			    access, region);
	if (unlikely(status == PAVO_ST_FAULT))
		return pavo_fault_request(&qp->key_state, &qp->req.side.missing,
					  *region, *va, *len, access);
	return status;
}

static bool is_claimed(const struct pavo_region *region)
{
	return region && region->access & PAVO_ACCESS_CLAIMED;
}

/* pavo_sgl_advance - move @pos on by @len bytes; the SGL has as many. */
void pavo_sgl_advance(const struct pavo_swqe *wqe, struct pavo_sgl_pos *pos,
		      u32 len)
{
	if (wqe->flags & PAVO_SWQE_INLINE) {
		pos->off += len;
		return;
	}
	while (len && pos->sge < wqe->num_sge) {
		u32 n = min(len, wqe->sge[pos->sge].byte_count - pos->off);

		pos->off += n;
		len -= n;
		if (len) {
			pos->sge++;
			pos->off = 0;
		}
	}
}

/*
 * pavo_sgl_check - check local access of all entries, before the first use, and set
 * PAVO_SWQE_CLAIMS if one names a claimed region.
 *
 * Return: PAVO_ST_OK, or why an entry may not be used.
 */
enum pavo_status pavo_sgl_check(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	int access = pavo_op_brings(wqe->op) ? IB_ACCESS_LOCAL_WRITE : 0;
	struct pavo_region *region;
	enum pavo_status status;
	u32 i;

	for (i = 0; i < wqe->num_sge; i++) {
		const struct pavo_data_seg *sge = &wqe->sge[i];

		status = pavo_check(qp->dev, qp->key_state.pd, sge->lkey,
				    sge->va, sge->byte_count, access, &region);
		if (status)
			return status;
		if (unlikely(is_claimed(region)))
			wqe->flags |= PAVO_SWQE_CLAIMS;
	}
	return PAVO_ST_OK;
}

/* Find the claimed region that an entry names; valid in this RCU section. NULL: none. */
static const struct pavo_region *find_claimed(struct pavo_qp *qp,
					      const struct pavo_data_seg *sge)
{
	struct pavo_region *region;

	if (pavo_check(qp->dev, qp->key_state.pd, sge->lkey, sge->va,
		       sge->byte_count, 0, &region))
		return NULL;
	return is_claimed(region) ? region : NULL;
}

/* The claim of entry @entry of a WQE. */
static struct pavo_claim get_claim(struct pavo_qp *qp,
				   const struct pavo_swqe *wqe, u32 entry)
{
	return (struct pavo_claim){
		.key_state = &qp->key_state,
		.wqe = wqe->number,
		.claimed = entry < wqe->claimed,
	};
}

/*
 * pavo_sgl_claim - claim the bytes of claimed regions that a WQE names.
 *
 * Return: as the owner's claim(); also PAVO_ST_ACCESS: the result of an atomic cannot be written
 * to a claimed region.
 */
enum pavo_status pavo_sgl_claim(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	bool read = wqe->op == PAVO_WQE_READ;
	struct pavo_claim claim;
	const struct pavo_region *region;
	enum pavo_status status;
	u32 i;

	if (pavo_op_brings(wqe->op) && !read)
		return PAVO_ST_ACCESS;
	for (i = 0; i < wqe->num_sge; i++) {
		const struct pavo_data_seg *sge = &wqe->sge[i];

		region = find_claimed(qp, sge);
		if (!region)
			continue;
		claim = get_claim(qp, wqe, i);
		status = region->claims->claim(&claim, region, sge->va,
					       sge->byte_count, read);
		if (status == PAVO_ST_OK || status == PAVO_ST_WAIT)
			wqe->claimed = max(wqe->claimed, i + 1);
		if (status)
			return status;
	}
	return PAVO_ST_OK;
}

/* pavo_sgl_release - release the claims of a completed WQE. */
void pavo_sgl_release(struct pavo_qp *qp, const struct pavo_swqe *wqe)
{
	const struct pavo_region *region;
	struct pavo_claim claim;
	u32 i;

	for (i = 0; i < wqe->num_sge; i++) {
		region = find_claimed(qp, &wqe->sge[i]);
		if (!region)
			continue;
		claim = get_claim(qp, wqe, i);
		region->claims->release(&claim, region, wqe->sge[i].va);
	}
}

/* Attach the next @len bytes of the entries. Return: as pavo_sgl_gather(). */
static enum pavo_status attach_entries(struct pavo_qp *qp,
				       const struct pavo_swqe *wqe,
				       struct pavo_sgl_pos *pos, u32 len,
				       struct pavo_xmit *x)
{
	struct pavo_region *region;
	enum pavo_status status;
	u32 n;
	u64 va;

	for (; len; len -= n) {
		n = len;
		status = find_sge_piece(qp, wqe, pos, &n, 0, &va, &region);
		if (status)
			return status;
		status = pavo_payload_attach(x, region, wqe->sge[pos->sge].lkey,
					     va, n);
		if (unlikely(status))
			return status;
		pos->off += n;
	}
	return PAVO_ST_OK;
}

/* Copy the next @len bytes of the WQE, inline data or entries, to @to. */
static enum pavo_status copy_sges(struct pavo_qp *qp,
				  const struct pavo_swqe *wqe,
				  struct pavo_sgl_pos *pos, u32 len, u8 *to)
{
	struct pavo_region *region;
	enum pavo_status status;
	u32 n;
	u64 va;

	if (wqe->flags & PAVO_SWQE_INLINE) {
		memcpy(to, wqe->data + pos->off, len);
		pos->off += len;
		return PAVO_ST_OK;
	}
	for (; len; len -= n, to += n) {
		n = len;
		status = find_sge_piece(qp, wqe, pos, &n, 0, &va, &region);
		if (status)
			return status;
		if (unlikely(is_claimed(region)))
			region->claims->copied(&qp->dev->stats, n);
		pavo_region_read(region, va, to, n);
		pos->off += n;
	}
	return PAVO_ST_OK;
}

/*
 * pavo_sgl_gather - put the next @len bytes of a WQE into a packet.
 * @pos: where they begin; moved behind them
 *
 * Return: as pavo_xmit_gather; PAVO_ST_WAIT: for pages. @pos is anywhere then.
 */
enum pavo_status pavo_sgl_gather(struct pavo_qp *qp,
				 const struct pavo_swqe *wqe,
				 struct pavo_sgl_pos *pos, u32 len,
				 struct pavo_xmit *x)
{
	enum pavo_status status;
	u8 *to;
	u32 n;

	if (x->attach)
		return attach_entries(qp, wqe, pos, len, x);
	for (; len; len -= n) {
		n = min_t(u32, len, PAGE_SIZE);
		to = pavo_xmit_put(x, n);
		if (unlikely(!to))
			return pavo_xmit_get_full_status();
		status = copy_sges(qp, wqe, pos, n, to);
		if (status)
			return status;
	}
	return PAVO_ST_OK;
}

/* Write bytes of a response, of one packet at most, to a claimed region. */
static enum pavo_status load_claimed(struct pavo_qp *qp,
				     const struct pavo_claim *claim,
				     const struct pavo_region *region, u64 va,
				     struct sk_buff *skb, u32 from, u32 len)
{
	enum pavo_status status;
	u64 to;
	int err;

	status = region->claims->load_begin(claim, region, va,
					    &qp->req.side.missing, &to);
	if (status)
		return status;
	err = pavo_payload_take(region, to, skb, from, len);
	region->claims->load_end(region, va, err ? 0 : len);
	return err ? PAVO_ST_BAD_RESPONSE : PAVO_ST_OK;
}

/*
 * Check that the owner of the claimed region at @pos, if there is one, has taken all bytes. A
 * region that has ended meanwhile has lost them.
 *
 * Return: as the owner's drained(); PAVO_ST_OK if @pos is in no claimed region.
 */
static enum pavo_status check_drained(struct pavo_qp *qp,
				      const struct pavo_swqe *wqe,
				      const struct pavo_sgl_pos *pos)
{
	const struct pavo_data_seg *sge = &wqe->sge[pos->sge];
	const struct pavo_claim claim = get_claim(qp, wqe, pos->sge);
	struct pavo_region *region;
	enum pavo_status status;

	status = pavo_check(qp->dev, qp->key_state.pd, sge->lkey, sge->va,
			    sge->byte_count, 0, &region);
	if (status || !is_claimed(region))
		return status;
	return region->claims->drained(&claim, region, sge->va,
				       &qp->req.side.missing);
}

/*
 * pavo_sgl_scatter - write a packet's payload to the next bytes of a WQE. For a deferred packet,
 * continue behind the bytes that have been written.
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: for pages or an owner; PAVO_ST_BAD_RESPONSE: the
 * packet is too short; or why memory may not be written.
 */
enum pavo_status pavo_sgl_scatter(struct pavo_qp *qp,
				  const struct pavo_swqe *wqe,
				  struct pavo_sgl_pos *pos, struct sk_buff *skb,
				  u32 from, u32 len)
{
	struct pavo_region *region;
	enum pavo_status status;
	u32 done = qp->req.side.done, n;
	u64 va;

	for (; done < len; done += n) {
		n = len - done;
		status = find_sge_piece(qp, wqe, pos, &n, IB_ACCESS_LOCAL_WRITE,
					&va, &region);
		if (!status && unlikely(is_claimed(region))) {
			const struct pavo_claim claim =
				get_claim(qp, wqe, pos->sge);

			n = min(n, qp->attr.mtu - done % qp->attr.mtu);
			status = load_claimed(qp, &claim, region, va, skb,
					      from + done, n);
		} else if (!status &&
			   pavo_payload_take(region, va, skb, from + done, n)) {
			status = PAVO_ST_BAD_RESPONSE;
		}
		if (status == PAVO_ST_WAIT)
			qp->req.side.done = done;
		if (status)
			return status;
		pos->off += n;
	}
	if (likely(!(wqe->flags & PAVO_SWQE_CLAIMS)))
		return PAVO_ST_OK;
	status = check_drained(qp, wqe, pos);
	if (status == PAVO_ST_WAIT)
		qp->req.side.done = done;
	return status;
}

/* pavo_sgl_store - write @data to the first @len bytes of a WQE's entries. */
enum pavo_status pavo_sgl_store(struct pavo_qp *qp, const struct pavo_swqe *wqe,
				const void *data, u32 len)
{
	struct pavo_sgl_pos pos = {};
	struct pavo_region *region;
	enum pavo_status status;
	u32 n;
	u64 va;

	for (; len; len -= n, data += n) {
		n = len;
		status = find_sge_piece(qp, wqe, &pos, &n,
					IB_ACCESS_LOCAL_WRITE, &va, &region);
		if (status)
			return status;
		pavo_region_write(region, va, data, n);
		pos.off += n;
	}
	return PAVO_ST_OK;
}
