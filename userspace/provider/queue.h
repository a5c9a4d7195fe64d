/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * queue.h - a work queue as its user sees it: slots and their contents.
 *
 * Owns: the user's indices of an SQ or RQ and the wr_id of every slot. Used by
 * post_send.cpp and post_recv.cpp (at the head, under the queue's lock) and by
 * cq.cpp (at the tail, under the CQ's lock); head and tail are the only words
 * both look at.
 */
#ifndef PAVO_PROVIDER_QUEUE_H
#define PAVO_PROVIDER_QUEUE_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "buffer.h"
#include "sync.h"
#include "wqe.h"

namespace pavo {

class WorkQueue {
public:
	explicit WorkQueue(bool shared) : lock(shared) {}

	/** Where the memory for wr_ids comes from; before init(). */
	void set_allocator(Allocator *from) { allocator_ = from; }

	/** @slots: where slot 0 is; false without memory for the wr_ids. */
	bool init(std::byte *slots, uint32_t count, const WqeLimits &of)
	{
		slots_ = slots;
		count_ = count;
		limits = of;
		return wr_ids_.allocate(allocator_, count * sizeof(uint64_t),
					PAVODV_RES_WR_IDS);
	}

	uint32_t count() const { return count_; }
	uint32_t head() const { return head_.load(std::memory_order_relaxed); }

	/** Is there a slot for WQE @index, counted from RESET? */
	bool has_room(uint32_t index) const
	{
		return index - tail_.load(std::memory_order_acquire) < count_;
	}

	uint64_t offset(uint32_t index) const
	{
		return uint64_t{index & (count_ - 1)} * limits.slot_size;
	}

	std::byte *slot(uint32_t index) const { return slots_ + offset(index); }

	void remember(uint32_t index, uint64_t wr_id)
	{
		wr_ids_.as<uint64_t>()[index & (count_ - 1)] = wr_id;
	}

	/** The WQEs before @head are posted, as far as the user goes. */
	void set_head(uint32_t head)
	{
		head_.store(head, std::memory_order_release);
	}

	/**
	 * WQE @index and all before it are complete. False if that WQE is not
	 * outstanding: the caller must not believe the entry.
	 */
	bool complete(uint32_t index, uint64_t *wr_id)
	{
		uint32_t tail = tail_.load(std::memory_order_relaxed);
		uint32_t head = head_.load(std::memory_order_acquire);

		if (index - tail >= head - tail)
			return false;
		*wr_id = wr_ids_.as<uint64_t>()[index & (count_ - 1)];
		tail_.store(index + 1, std::memory_order_release);
		return true;
	}

	/** SRQ: the module has taken the WQEs before @tail. */
	void retire(uint32_t tail)
	{
		if (head() - tail <= count_)
			tail_.store(tail, std::memory_order_release);
	}

	void reset()
	{
		head_.store(0, std::memory_order_relaxed);
		tail_.store(0, std::memory_order_release);
	}

	Lock lock;
	WqeLimits limits = {};

private:
	std::byte *slots_ = nullptr;
	uint32_t count_ = 0;
	Allocator *allocator_ = nullptr;
	Buffer wr_ids_;
	std::atomic<uint32_t> head_{0};
	std::atomic<uint32_t> tail_{0};
};

} // namespace pavo

#endif /* PAVO_PROVIDER_QUEUE_H */
