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

bool pavo_read_copy_repeats(const struct pavo_resource *res, u32 len)
{
	return get_offset(res) < res->done && !pavo_read_copy_has(res, len);
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

void pavo_read_copy_end_later(struct pavo_qp *qp,
			      const struct pavo_resource *res)
{
	struct pavo_responder *resp = &qp->resp;
	u32 at = res - resp->resources;

	while ((at = (at + 1) % resp->res_count) != resp->res_head) {
		if (resp->resources[at].done)
			resp->resources[at].copied = false;
	}
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
