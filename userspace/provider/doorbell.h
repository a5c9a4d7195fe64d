/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doorbell.h - the doorbell page of a context, from the side that rings.
 *
 * Owns: our side of struct pavo_doorbell_page. Called by post_send.cpp and
 * dv.cpp; several threads may ring, the lock in here keeps them apart.
 */
#ifndef PAVO_PROVIDER_DOORBELL_H
#define PAVO_PROVIDER_DOORBELL_H

#include <mutex>
#include <rdma/pavo-abi.h>

#include "sync.h"

namespace pavo {

class DoorbellRing {
public:
	DoorbellRing(pavo_doorbell_page *page, bool shared)
		: page_(page), lock_(shared)
	{
	}

	/** Puts a doorbell into the ring; false if there is no room. */
	bool ring(uint64_t doorbell)
	{
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
		std::atomic_thread_fence(std::memory_order_seq_cst);
		return std::atomic_ref(page_->flags)
			       .load(std::memory_order_relaxed) &
		       PAVO_DB_NEED_KICK;
	}

	pavo_doorbell_page *page() const { return page_; }

private:
	pavo_doorbell_page *page_;
	uint32_t prod_ = 0; /* the page's copy could be overwritten */
	Lock lock_;
};

} // namespace pavo

#endif /* PAVO_PROVIDER_DOORBELL_H */
