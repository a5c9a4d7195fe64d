/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wqe.h - from a work request to the bytes of a WQE.
 *
 * Called by post_send.cpp and post_recv.cpp with a slot of the mapped queue,
 * by the unit tests with plain memory. Pure functions: they write into the slot of the caller
 * and access no other memory.
 */
#ifndef PAVO_PROVIDER_WQE_H
#define PAVO_PROVIDER_WQE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <infiniband/verbs.h>
#include <rdma/pavo-abi.h>

namespace pavo {

/** The limits of a queue's WQEs; the service decides which operations are allowed. */
struct WqeLimits {
	ibv_qp_type service;
	uint32_t slot_size; /* bytes */
	uint32_t max_sge;
	uint32_t max_inline; /* bytes */
	bool shared = false; /* SRQ: WQEs carry their wr_id */
};

/** A WQE as a doorbell or the NextSeg before it names it. */
struct WqeName {
	uint32_t word; /* opcode and fence; link_wqe() adds the offset */
	uint32_t units; /* size in PAVO_WQE_UNIT */
};

/**
 * The segment, between RaddrSeg and DataSegs, of a request that verbs have no opcode for; the
 * RaddrSeg of a flush.
 */
class Extension {
public:
	template <class Segment>
	explicit Extension(const Segment &segment) : size_(sizeof(Segment))
	{
		static_assert(sizeof(Segment) <= sizeof(bytes_));
		static_assert(sizeof(Segment) % PAVO_WQE_UNIT == 0);
		memcpy(bytes_, &segment, sizeof(Segment));
	}

	const std::byte *bytes() const { return bytes_; }
	uint32_t size() const { return size_; }

private:
	std::byte bytes_[2 * PAVO_WQE_UNIT];
	uint32_t size_;
};

/**
 * Writes the send WQE of @wr into @slot, not linked to any other.
 * @av: address vector of a datagram, without the fields the request brings;
 *      null if the service has none
 * @extension: segment of a request that verbs have no opcode for, or of a flush; else null
 * @flags: PAVO_WQE_SIGNALED if every request of the queue is signalled
 * Returns 0 or a positive errno; then the slot's content does not matter.
 */
int build_send_wqe(std::byte *slot, const ibv_send_wr &wr,
		   const WqeLimits &limits, const pavo_ud_seg *av,
		   const Extension *extension, uint32_t flags, WqeName *name);

/**
 * The key that a memory window has after the bind @wr: the index is the memory
 * window's own, the request chooses the low eight bits.
 */
uint32_t bound_key(const ibv_send_wr &wr);

/** Writes the receive WQE of @wr into @slot; 0 or a positive errno. */
int build_recv_wqe(std::byte *slot, const ibv_recv_wr &wr,
		   const WqeLimits &limits);

/** Lets the WQE in @slot be followed by the one at @offset (bytes). */
void link_wqe(std::byte *slot, const WqeName &next, uint64_t offset);

/** The doorbell of the chain that begins with @first at @offset (bytes). */
uint64_t make_doorbell(uint32_t qpn, const WqeName &first, uint64_t offset);

} // namespace pavo

#endif /* PAVO_PROVIDER_WQE_H */
