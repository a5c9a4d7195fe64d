/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * queue.h - a work queue as its user sees it: slots and their contents.
 *
 * Owns: the user's indices of an SQ or RQ and the wr_id of every slot. Used by
 * post_send.cpp and post_recv.cpp (at the head, under the queue's lock) and by
 * cq.cpp (at the tail, under the CQ's lock); head and tail are the only words that both read.
 *
 * They are in the mapped memory after the slots. So a process and its child share them after
 * fork(), if they use the queue one after the other: each process has its own locks.
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

	/**
	 * @slots: where slot 0 is. @own: PAVO_QUEUE_OWN_SIZE(@count) zeroed bytes,
	 * null if the module is older than these. False without memory.
	 */
	bool init(std::byte *slots, std::byte *own, uint32_t count,
		  const WqeLimits &of)
	{
		slots_ = slots;
		count_ = count;
		limits = of;
		if (!own || (allocator_ && allocator_->alloc)) {
			if (!memory_.allocate(allocator_,
					      PAVO_QUEUE_OWN_SIZE(count),
					      PAVODV_RES_WR_IDS))
				return false;
			own = memory_.as<std::byte>();
		}
		own_ = reinterpret_cast<Own *>(own);
		return true;
	}

	uint32_t count() const { return count_; }
	uint32_t head() const
	{
		return own_->head.load(std::memory_order_relaxed);
	}

	/** Is there a slot for WQE @index, counted from RESET? */
	bool has_space(uint32_t index) const
	{
		return index - own_->tail.load(std::memory_order_acquire) <
		       count_;
	}

	uint64_t offset(uint32_t index) const
	{
		return uint64_t{index & (count_ - 1)} * limits.slot_size;
	}

	std::byte *slot(uint32_t index) const { return slots_ + offset(index); }

	void remember(uint32_t index, uint64_t wr_id)
	{
		own_->wr_ids()[index & (count_ - 1)] = wr_id;
	}

	/** Sets the user's producer index: the WQEs before @head are posted. */
	void set_head(uint32_t head)
	{
		own_->head.store(head, std::memory_order_release);
	}

	/**
	 * Completes WQE @index and all before it. False if that WQE is not outstanding: the entry
	 * is invalid.
	 */
	bool complete(uint32_t index, uint64_t *wr_id)
	{
		uint32_t tail = own_->tail.load(std::memory_order_relaxed);
		uint32_t head = own_->head.load(std::memory_order_acquire);

		if (index - tail >= head - tail)
			return false;
		*wr_id = own_->wr_ids()[index & (count_ - 1)];
		own_->tail.store(index + 1, std::memory_order_release);
		return true;
	}

	/** SRQ: the module has taken the WQEs before @tail. */
	void retire(uint32_t tail)
	{
		if (head() - tail <= count_)
			own_->tail.store(tail, std::memory_order_release);
	}

	void reset()
	{
		own_->head.store(0, std::memory_order_relaxed);
		own_->tail.store(0, std::memory_order_release);
	}

	Lock lock;
	WqeLimits limits = {};

private:
	/* The first of PAVO_QUEUE_OWN_SIZE() bytes. */
	struct Own {
		std::atomic<uint32_t> head{0};
		std::atomic<uint32_t> tail{0};

		uint64_t *wr_ids()
		{
			return reinterpret_cast<uint64_t *>(this + 1);
		}
	};
	static_assert(sizeof(Own) + sizeof(uint64_t) == PAVO_QUEUE_OWN_SIZE(1));

	std::byte *slots_ = nullptr;
	uint32_t count_ = 0;
	Allocator *allocator_ = nullptr;
	Own none_; /* of a queue that does not exist */
	Own *own_ = &none_;
	Buffer memory_; /* if it is not in the mapping */
};

} // namespace pavo

#endif /* PAVO_PROVIDER_QUEUE_H */
