// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * read_copy.c - copies of the data of read responses (read_copy.h).
 */
#include "responder/read_copy.h"
#include <linux/slab.h>
#include "accounting.h"
#include "responder_private.h"

#define PART_BYTES 4096u
#define PARTS (PAVO_READ_COPY_BYTES / PART_BYTES)

/*
 * struct pavo_read_copy - memory for the copy of a response. It stays with its resource, for the
 * next read.
 * @parts: of PART_BYTES each; NULL: not allocated yet
 */
struct pavo_read_copy {
	u8 *parts[PARTS];
};

static void *alloc_charged(struct pavo_qp *qp, size_t size)
{
	void *memory;

	if (pavo_charge_bytes(&qp->dev->softirq_bytes, qp->user, size))
		return NULL;
	memory = kzalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	if (!memory)
		pavo_uncharge_bytes(&qp->dev->softirq_bytes, qp->user, size);
	return memory;
}

static void free_charged(struct pavo_qp *qp, void *memory, size_t size)
{
	if (!memory)
		return;
	kfree(memory);
	pavo_uncharge_bytes(&qp->dev->softirq_bytes, qp->user, size);
}

void pavo_read_copy_begin(struct pavo_qp *qp, struct pavo_resource *res)
{
	struct pavo_responder *resp = &qp->resp;

	res->start = res->va;
	res->done = 0;
	res->copied = false;
	if (likely(!resp->copy_reads))
		return;
	if (!--resp->copy_reads) {
		pavo_read_copies_free(qp);
		return;
	}
	if (res->left > PAVO_READ_COPY_BYTES)
		return;
	if (!res->copy)
		res->copy = alloc_charged(qp, sizeof(*res->copy));
	res->copied = res->copy;
}

static u32 get_offset(const struct pavo_resource *res)
{
	return (u32)(res->va - res->start);
}

bool pavo_read_copy_has(const struct pavo_resource *res, u32 len)
{
	return unlikely(res->copied) && get_offset(res) + len <= res->done;
}

enum pavo_status pavo_read_copy_put(const struct pavo_resource *res,
				    struct pavo_xmit *x, u32 len)
{
	u32 at = get_offset(res), n;
	void *to;

	for (; len; at += n, len -= n) {
		n = min(len, PART_BYTES - at % PART_BYTES);
		to = pavo_xmit_put(x, n);
		if (unlikely(!to))
			return pavo_xmit_get_full_status();
		memcpy(to, res->copy->parts[at / PART_BYTES] + at % PART_BYTES,
		       n);
	}
	return PAVO_ST_OK;
}

int pavo_read_copy_fill(struct pavo_qp *qp, struct pavo_resource *res,
			const struct pavo_region *region, u32 len)
{
	u32 at = get_offset(res), end = at + len, n;
	u64 va = res->va;
	u8 **part;

	if (likely(!res->copied) || at != res->done)
		return -ENODATA;
	for (; at != end; at += n, va += n) {
		n = min(end - at, PART_BYTES - at % PART_BYTES);
		part = &res->copy->parts[at / PART_BYTES];
		if (!*part)
			*part = alloc_charged(qp, PART_BYTES);
		if (!*part) {
			res->copied = false;
			return -ENODATA;
		}
		pavo_region_read(region, va, *part + at % PART_BYTES, n);
	}
	return 0;
}

void pavo_read_copy_sent(struct pavo_resource *res, u32 len)
{
	res->done = max(res->done, get_offset(res) + len);
}

/* Index of the resource behind @at, in the order of reads. */
static u32 get_next_resource(const struct pavo_responder *resp, u32 at)
{
	return (at + 1) % resp->res_count;
}

/*
 * Reads behind @res have older data than that, if any was sent: end their copies. The others, also
 * those of no bytes, have data of this generation.
 */
static void renew_later_reads(struct pavo_responder *resp,
			      const struct pavo_resource *res)
{
	u32 at = res - resp->resources;
	struct pavo_resource *later;

	while ((at = get_next_resource(resp, at)) != resp->res_head) {
		later = &resp->resources[at];
		if (later->done)
			later->copied = false;
		else
			later->generation = resp->generation;
	}
}

void pavo_read_copy_renew(struct pavo_qp *qp, struct pavo_resource *res)
{
	struct pavo_responder *resp = &qp->resp;

	res->renewed = true;
	if (res->copied)
		return;
	if (get_offset(res) < res->done) {
		resp->generation++;
		renew_later_reads(resp, res);
	}
	res->generation = resp->generation;
}

/* Read what was sent of a response into its copy, with its remote-key slot busy. */
static int fill_copy(struct pavo_qp *qp, struct pavo_resource *res)
{
	struct pavo_resource whole = *res;
	struct pavo_region *region;

	whole.va = res->start;
	whole.done = 0;
	whole.copied = true;
	if (pavo_xlate_remote(&qp->key_state, res->rkey, res->start, res->done,
			      IB_ACCESS_REMOTE_READ, &region) ||
	    pavo_read_copy_fill(qp, &whole, region, res->done))
		return -EFAULT;
	return 0;
}

/* Copy what was sent of a response. There is no copy if its memory, or a page of it, is gone. */
static int copy_sent(struct pavo_qp *qp, struct pavo_resource *res)
{
	const unsigned int slot = pavo_read_get_slot(qp, res);
	struct pavo_key_state *key_state = &qp->key_state;
	bool ended = !res->left;
	int err = -EFAULT;

	if (pavo_read_find_srq(qp, res))
		return -ENOENT;
	if (ended ? pavo_use_begin(key_state, slot, res->rkey, res->start,
				   res->done, IB_ACCESS_REMOTE_READ) :
		    pavo_use_enter(key_state, slot))
		return -EACCES;
	err = fill_copy(qp, res);
	pavo_use_leave(key_state, slot);
	if (ended)
		pavo_use_end(key_state, slot);
	return err;
}

/* Copy the response of a read from now on. */
static void copy_resource(struct pavo_qp *qp, struct pavo_resource *res)
{
	u32 left = res->queued && !res->replay ? res->left : 0;

	if (res->kind != PAVO_KIND_READ ||
	    res->done + left > PAVO_READ_COPY_BYTES)
		return;
	if (!res->copy)
		res->copy = alloc_charged(qp, sizeof(*res->copy));
	if (!res->copy || (res->done && copy_sent(qp, res)))
		return;
	res->copied = true;
	res->generation = qp->resp.generation;
}

void pavo_read_copy_start(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;
	struct pavo_rq *rq = resp->rq;
	u32 n, at = resp->res_head;
	bool started = resp->copy_reads;

	resp->copy_reads = PAVO_READ_COPY_READS;
	if (started)
		return;
	resp->generation++;
	for (n = 0; n < resp->res_count; n++) {
		copy_resource(qp, &resp->resources[at]);
		at = get_next_resource(resp, at);
	}
	resp->rq = rq;
}

void pavo_read_copies_free(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;
	struct pavo_resource *res;
	u32 i;

	resp->copy_reads = 0;
	if (!resp->resources)
		return;
	for (res = resp->resources; res < resp->resources + resp->res_count;
	     res++) {
		res->copied = false;
		for (i = 0; res->copy && i < PARTS; i++)
			free_charged(qp, res->copy->parts[i], PART_BYTES);
		free_charged(qp, res->copy, sizeof(*res->copy));
		res->copy = NULL;
	}
}
