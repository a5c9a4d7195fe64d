/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cqe.h - from a completion queue entry to a work completion.
 *
 * Called by cq.cpp with a private copy of an entry, by the unit tests with
 * entries of their own. Pure functions over that copy.
 */
#ifndef PAVO_PROVIDER_CQE_H
#define PAVO_PROVIDER_CQE_H

#include <infiniband/verbs.h>
#include <rdma/pavo-abi.h>

namespace pavo {

/** The owner bit that makes entry @index of a ring of @count valid. */
inline uint8_t owner_of_pass(uint32_t index, uint32_t count)
{
	return ((index / count) & 1) ^ 1;
}

/**
 * Fills @wc, except wr_id, from @cqe. An impossible entry (the application can
 * write to the memory of the ring) becomes a general error.
 */
void decode_cqe(const pavo_cqe &cqe, ibv_wc *wc);

/** Makes a general error of @wc: its entry does not belong to any request. */
void spoil_wc(ibv_wc *wc);

} // namespace pavo

#endif /* PAVO_PROVIDER_CQE_H */
