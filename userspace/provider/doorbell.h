/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doorbell.h - the doorbell page of a context, from the side that rings.
 *
 * Owns: our side of struct pavo_doorbell_page. Called by post_send.cpp and
 * dv.cpp; several threads may ring, the lock in here keeps them apart.
 *
 * A child of fork() shares the page, and not the count and the lock. So the ring
 * is in memory that the kernel wipes when it makes a child: the child finds a
 * ring without a page, and gives its doorbells to the module by a call. The page
 * stays the parent's, and a child that is killed at any moment leaves it whole.
 */
#ifndef PAVO_PROVIDER_DOORBELL_H
#define PAVO_PROVIDER_DOORBELL_H

#include <memory>
#include <mutex>
#include <rdma/pavo-abi.h>
#include <type_traits>

#include "sync.h"

namespace pavo {

class DoorbellRing {
public:
	DoorbellRing(pavo_doorbell_page *page, bool shared)
		: page_(page), lock_(shared)
	{
	}

	/** False in a child of the process that made it. */
	bool is_ours() const { return page_; }

	/** Puts a doorbell into the ring; false if it is full, or there is none. */
	bool ring(uint64_t doorbell)
	{
		if (!page_)
			return false;

		std::lock_guard guard(lock_);
		uint32_t cons = std::atomic_ref(page_->cons)
					.load(std::memory_order_acquire);

		if (prod_ - cons >= PAVO_DB_RING_ENTRIES)
			return false;
		std::atomic_ref(page_->ring[prod_ % PAVO_DB_RING_ENTRIES])
			.store(doorbell, std::memory_order_relaxed);
		std::atomic_ref(page_->prod)
			.store(++prod_, std::memory_order_release);
		return true;
	}

	/**
	 * After ring(): does the module have to be called? The full barrier
	 * pairs with the module's between setting the flag and looking at the
	 * ring a last time.
	 */
	bool needs_kick() const
	{
		if (!page_)
			return false;
		std::atomic_thread_fence(std::memory_order_seq_cst);
		return std::atomic_ref(page_->flags)
			       .load(std::memory_order_relaxed) &
		       PAVO_DB_NEED_KICK;
	}

private:
	pavo_doorbell_page *page_;
	uint32_t prod_ = 0; /* the page's copy could be overwritten */
	Lock lock_;
};

static_assert(std::is_trivially_destructible_v<DoorbellRing>);

struct UnmapRing {
	void operator()(DoorbellRing *ring) const;
};

using OwnRing = std::unique_ptr<DoorbellRing, UnmapRing>;

/** A ring in memory that is wiped at fork(); null with errno set. */
OwnRing make_ring(pavo_doorbell_page *page, bool shared);

} // namespace pavo

#endif /* PAVO_PROVIDER_DOORBELL_H */
