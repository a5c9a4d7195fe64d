// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mapping_cache.hpp - a cache of mappings for a job, which stay mapped after use; see cache.h.
 */
#ifndef PAVO_REGION_CACHE_HPP
#define PAVO_REGION_CACHE_HPP

#include <pavo/language.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <pavo/cache.h>
#include <pavo/job.hpp>

#pragma GCC visibility push(default)

namespace pavo {

/** A buffer, or its part in one fragment, and its PVO. */
struct MappingPiece {
	std::byte *start;
	size_t length;
	/** PVO of the first byte. */
	Pvo pvo;
	/** For the cache. */
	uint32_t entry;
};

/** A cache of mappings for a job. Threads may call it concurrently. */
class MappingCache {
public:
	/**
	 * Makes a cache. @job: has to live longer. Fails with EPROTONOSUPPORT, EOPNOTSUPP: the
	 * kernel does not report changes of memory (CONFIG_MMU_NOTIFIER); EINVAL: @options.
	 */
	static Result<MappingCache>
	open(const Job &job, const pavo_cache_options &options = {}) noexcept;
	/** All pieces must have been put back. */
	~MappingCache();
	MappingCache(MappingCache &&from) noexcept;
	MappingCache &operator=(MappingCache &&from) noexcept;

	/**
	 * Gets the PVOs of a buffer. Call put() with the pieces after use. @pieces: space for the
	 * pieces; PAVO_CACHE_PIECES(buffer.size()) are always enough.
	 *
	 * Return: the pieces, in order, in @pieces. Fails with ECHILD: this process is a child of the
	 * one that made the cache; ENOBUFS: @pieces is too small, or all entries are in use; as
	 * Mapping::open(). Allocates no memory.
	 */
	Result<std::span<MappingPiece>>
	get(std::span<std::byte> buffer,
	    std::span<MappingPiece> pieces) noexcept;
	/** Ends the use of pieces. */
	void put(std::span<const MappingPiece> pieces) noexcept;

	/** Ends idle mappings. Call it once a second with PAVO_CACHE_NO_TIMER. */
	void tick() noexcept;
	/** Returns the counters; all 0 in a child of the owner. */
	pavo_cache_stats stats() const noexcept;

private:
	struct Impl;
	MappingCache(const Job &job, const pavo_cache_options &options);

	std::shared_ptr<const File> file_; /* outlives what is inside */
	std::unique_ptr<Impl> impl_;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_REGION_CACHE_HPP
