/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * buffer.h - memory that belongs to a queue and lies on this side alone.
 *
 * A parent domain may bring functions to allocate and free it (see
 * ibv_alloc_parent_domain(3)); otherwise it comes from the heap. Memory that
 * the module shares with the provider is mapped and never comes from there.
 * Used by queue.h and qp_ex.cpp.
 */
#ifndef PAVO_PROVIDER_BUFFER_H
#define PAVO_PROVIDER_BUFFER_H

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <infiniband/verbs.h>

#include "pavo_dv.h"

namespace pavo {

/** The functions of a parent domain; none if @alloc is null. */
struct Allocator {
	void *(*alloc)(ibv_pd *pd, void *context, size_t size, size_t alignment,
		       uint64_t resource);
	void (*free)(ibv_pd *pd, void *context, void *memory,
		     uint64_t resource);
	void *context;
	ibv_pd *pd;
	std::atomic<int> buffers; /* not freed yet */
};

class Buffer {
public:
	Buffer() = default;
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;

	~Buffer()
	{
		if (!from_) {
			::free(memory_);
			return;
		}
		from_->free(from_->pd, from_->context, memory_, resource_);
		from_->buffers--;
	}

	/**
	 * Allocates @size zeroed bytes, once: by the function of @from, or from the heap if @from
	 * is null or its function leaves it to the provider. False without memory, with errno set.
	 */
	bool allocate(Allocator *from, size_t size, pavodv_resource resource)
	{
		if (from && from->alloc) {
			memory_ = from->alloc(from->pd, from->context, size,
					      alignment, resource);
			if (memory_ != IBV_ALLOCATOR_USE_DEFAULT) {
				if (!memory_) {
					errno = ENOMEM;
					return false;
				}
				from_ = from;
				from_->buffers++;
				resource_ = resource;
				memset(memory_, 0, size);
				return true;
			}
		}
		memory_ = calloc(1, size);
		return memory_ != nullptr;
	}

	template <class T> T *as() const { return static_cast<T *>(memory_); }

private:
	static constexpr size_t alignment = 64; /* a cache line */

	void *memory_ = nullptr;
	Allocator *from_ = nullptr;
	uint64_t resource_ = 0;
};

} // namespace pavo

#endif /* PAVO_PROVIDER_BUFFER_H */
