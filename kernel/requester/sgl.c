// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sgl.c - DataPack (sources.md#engine-2-4-5): one gap-free stream of bytes from
 * or to the entries of a WQE.
 *
 * Keys are translated anew for every packet, under RCU, so no packet touches a region
 * after its end.
 */
#include "direct/direct.h"
#include "requester_private.h"

/*
 * Find the next piece of at most @len bytes that lies in one entry: its region,
 * address and length. The caller moves @pos behind it.
 */
static enum pavo_status next_sge_piece(struct pavo_qp *qp,
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

static bool is_direct(const struct pavo_region *region)
{
	return region && region->access & PAVO_ACCESS_DIRECT;
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
 * PAVO_SWQE_DIRECT if one names a direct window.
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
		if (unlikely(is_direct(region)))
			wqe->flags |= PAVO_SWQE_DIRECT;
	}
	return PAVO_ST_OK;
}

/* Find the direct window that an entry names; valid in this RCU section. NULL: none. */
static const struct pavo_region *find_direct(struct pavo_qp *qp,
					     const struct pavo_data_seg *sge)
{
	struct pavo_region *region;

	if (pavo_check(qp->dev, qp->key_state.pd, sge->lkey, sge->va,
		       sge->byte_count, 0, &region))
		return NULL;
	return is_direct(region) ? region : NULL;
}

/* The user of a direct window's range for entry @entry of a WQE. */
static struct pavo_direct_user user_of(struct pavo_qp *qp,
				       const struct pavo_swqe *wqe, u32 entry)
{
	return (struct pavo_direct_user){
		.key_state = &qp->key_state,
		.wqe = wqe->number,
		.claimed = entry < wqe->claimed,
	};
}

/*
 * pavo_sgl_claim - claim the ranges of direct windows that a WQE names.
 *
 * Return: as pavo_direct_claim(); also PAVO_ST_ACCESS: the result of an atomic cannot be written
 * to a direct window.
 */
enum pavo_status pavo_sgl_claim(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	bool read = wqe->op == PAVO_WQE_READ;
	struct pavo_direct_user user;
	const struct pavo_region *region;
	enum pavo_status status;
	u32 i;

	if (pavo_op_brings(wqe->op) && !read)
		return PAVO_ST_ACCESS;
	for (i = 0; i < wqe->num_sge; i++) {
		const struct pavo_data_seg *sge = &wqe->sge[i];

		region = find_direct(qp, sge);
		if (!region)
			continue;
		user = user_of(qp, wqe, i);
		status = pavo_direct_claim(&user, region, sge->va,
					   sge->byte_count, read);
		if (status == PAVO_ST_OK || status == PAVO_ST_WAIT)
			wqe->claimed = max(wqe->claimed, i + 1);
		if (status)
			return status;
	}
	return PAVO_ST_OK;
}

/* pavo_sgl_release - give back the ranges of direct windows of a completed WQE. */
void pavo_sgl_release(struct pavo_qp *qp, const struct pavo_swqe *wqe)
{
	const struct pavo_region *region;
	struct pavo_direct_user user;
	u32 i;

	for (i = 0; i < wqe->num_sge; i++) {
		region = find_direct(qp, &wqe->sge[i]);
		if (!region)
			continue;
		user = user_of(qp, wqe, i);
		pavo_direct_release(&user, region, wqe->sge[i].va);
	}
}

/* Attach the next @len bytes of the entries; the packet gets its ICRC at once. */
static enum pavo_status attach_entries(struct pavo_qp *qp,
				       const struct pavo_swqe *wqe,
				       struct pavo_sgl_pos *pos, u32 len,
				       struct sk_buff *skb)
{
	struct pavo_region *region;
	enum pavo_status status;
	u32 n;
	u64 va;

	for (; len; len -= n) {
		n = len;
		status = next_sge_piece(qp, wqe, pos, &n, 0, &va, &region);
		if (status)
			return status;
		if (!pavo_payload_attach(region, va, skb, n))
			return PAVO_ST_FRAGMENTS;
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
		status = next_sge_piece(qp, wqe, pos, &n, 0, &va, &region);
		if (status)
			return status;
		if (unlikely(is_direct(region)))
			pavo_stats_add(&qp->stats, direct_copied, n);
		pavo_region_read(region, va, to, n);
		pos->off += n;
	}
	return PAVO_ST_OK;
}

/*
 * pavo_sgl_gather - put the next @len bytes of a WQE into a packet.
 * @attach: as page fragments; else copied behind the headers, or to pages of the packet's own
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: for pages; PAVO_ST_FRAGMENTS: the packet takes no more
 * fragments, or there is no memory; or why memory may not be read.
 */
enum pavo_status pavo_sgl_gather(struct pavo_qp *qp,
				 const struct pavo_swqe *wqe,
				 struct pavo_sgl_pos *pos, u32 len,
				 struct sk_buff *skb, bool attach)
{
	enum pavo_status status;
	u8 *to;
	u32 n;

	if (attach)
		return attach_entries(qp, wqe, pos, len, skb);
	for (; len; len -= n) {
		n = min_t(u32, len, PAGE_SIZE);
		to = pavo_tx_put(skb, n);
		if (unlikely(!to))
			return PAVO_ST_FRAGMENTS;
		status = copy_sges(qp, wqe, pos, n, to);
		if (status)
			return status;
	}
	return PAVO_ST_OK;
}

/*
 * pavo_sgl_attach - attach the next @len bytes of a WQE to a packet with a deferred ICRC, and
 * name them in its metadata.
 *
 * Return: as pavo_sgl_gather(); also PAVO_ST_FRAGMENTS if the bytes are not all of one key:
 * metadata names one. Consumers in the kernel have an entry for each page, all by the local DMA
 * key.
 */
enum pavo_status pavo_sgl_attach(struct pavo_qp *qp,
				 const struct pavo_swqe *wqe,
				 struct pavo_sgl_pos *pos, u32 len,
				 struct sk_buff *skb, struct pavo_meta *meta)
{
	struct pavo_region *region;
	enum pavo_status status;
	u32 left, lkey, n;
	u64 va;

	if (!meta->port)
		return PAVO_ST_FRAGMENTS;
	for (left = len; left; left -= n) {
		n = left;
		status = next_sge_piece(qp, wqe, pos, &n, 0, &va, &region);
		if (status)
			return status;
		lkey = wqe->sge[pos->sge].lkey;
		if (left == len) {
			meta->lkey = lkey;
			meta->token = region->token;
			/* The buffer of a direct window waits for packets. */
			if (likely(!is_direct(region)))
				meta->flags |= PAVO_META_ATTACHED;
		}
		if (lkey != meta->lkey || region->token != meta->token ||
		    !pavo_payload_attach(region, va, skb, n))
			return PAVO_ST_FRAGMENTS;
		pos->off += n;
	}
	return PAVO_ST_OK;
}

/* Write bytes of a response, of one packet at most, to a direct window. */
static enum pavo_status load_direct(struct pavo_qp *qp,
				    const struct pavo_direct_user *user,
				    const struct pavo_region *region, u64 va,
				    struct sk_buff *skb, u32 from, u32 len)
{
	enum pavo_status status;
	u64 to;
	int err;

	status = pavo_direct_load_begin(user, region, va, &qp->req.side.missing,
					&to);
	if (status)
		return status;
	err = pavo_payload_take(region, to, skb, from, len);
	pavo_direct_load_end(region, va, err ? 0 : len);
	return err ? PAVO_ST_BAD_RESPONSE : PAVO_ST_OK;
}

/*
 * Check that the process has taken all bytes out of the direct window at @pos, if there is one.
 * A window that was closed meanwhile has lost them.
 *
 * Return: as pavo_direct_drained(); PAVO_ST_OK if @pos is in no direct window.
 */
static enum pavo_status check_drained(struct pavo_qp *qp,
				      const struct pavo_swqe *wqe,
				      const struct pavo_sgl_pos *pos)
{
	const struct pavo_data_seg *sge = &wqe->sge[pos->sge];
	const struct pavo_direct_user user = user_of(qp, wqe, pos->sge);
	struct pavo_region *region;
	enum pavo_status status;

	status = pavo_check(qp->dev, qp->key_state.pd, sge->lkey, sge->va,
			    sge->byte_count, 0, &region);
	if (status || !is_direct(region))
		return status;
	return pavo_direct_drained(&user, region, sge->va,
				   &qp->req.side.missing);
}

/*
 * pavo_sgl_scatter - write a packet's payload to the next bytes of a WQE. For a deferred packet,
 * continue behind the bytes that have been written.
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: for pages or a direct window; PAVO_ST_BAD_RESPONSE: the
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
		status = next_sge_piece(qp, wqe, pos, &n, IB_ACCESS_LOCAL_WRITE,
					&va, &region);
		if (!status && unlikely(is_direct(region))) {
			const struct pavo_direct_user user =
				user_of(qp, wqe, pos->sge);

			n = min(n, qp->attr.mtu - done % qp->attr.mtu);
			status = load_direct(qp, &user, region, va, skb,
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
	if (likely(!(wqe->flags & PAVO_SWQE_DIRECT)))
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
		status = next_sge_piece(qp, wqe, &pos, &n,
					IB_ACCESS_LOCAL_WRITE, &va, &region);
		if (status)
			return status;
		pavo_region_write(region, va, data, n);
		pos.off += n;
	}
	return PAVO_ST_OK;
}
