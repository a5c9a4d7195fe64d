/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cqe.h - layout of entries in the ring of a completion queue; for cq_ring.c, which
 * writes them, and verbs/resize.c, which moves them to another ring.
 */
#ifndef PAVO_RINGS_CQE_H
#define PAVO_RINGS_CQE_H

#include <linux/bug.h>
#include <linux/string.h>
#include <rdma/pavo-abi.h>

static inline size_t pavo_ring_get_size(u32 count)
{
	BUILD_BUG_ON(sizeof(struct pavo_cq_header) != PAVO_CQ_HEADER_SIZE);
	return PAVO_CQ_HEADER_SIZE + (size_t)count * sizeof(struct pavo_cqe);
}

/* The owner bit of entry @index once it is valid. */
static inline u8 pavo_cqe_get_owner(u32 count, u32 index)
{
	return index & count ? 0 : PAVO_CQE_OWNER;
}

/*
 * Write @from to entry @index of a ring of @count entries, and make it valid. The word
 * with the owner bit is written last, in one store.
 */
static inline void pavo_cqe_put(struct pavo_cqe *ring, u32 count, u32 index,
				const struct pavo_cqe *from)
{
	u64 word[sizeof(*from) / sizeof(u64)];
	struct pavo_cqe *cqe = (struct pavo_cqe *)word;
	const unsigned int last = ARRAY_SIZE(word) - 1;
	u64 *slot = (u64 *)&ring[index & (count - 1)];

	BUILD_BUG_ON(sizeof(*from) != 64 ||
		     offsetof(struct pavo_cqe, flags) != 63);
	*cqe = *from;
	cqe->flags &= ~PAVO_CQE_OWNER;
	cqe->flags |= pavo_cqe_get_owner(count, index);
	memcpy(slot, word, sizeof(u64) * last);
	/* A process that sees this word sees the whole entry. */
	smp_store_release(&slot[last], word[last]);
}

#endif /* PAVO_RINGS_CQE_H */
