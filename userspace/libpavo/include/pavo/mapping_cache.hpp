// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mapping_cache.hpp - PVOs of buffers, kept after use; see cache.h.
 */
#ifndef PAVO_REGION_CACHE_HPP
#define PAVO_REGION_CACHE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <pavo/cache.h>
#include <pavo/job.hpp>

namespace pavo {

/** A buffer, or the part of it that is in one fragment. */
struct MappingPiece {
	std::byte *start;
	size_t length;
	/** Of the first byte. */
	Pvo pvo;
	/** The cache's. */
	uint32_t entry;
};

/** Mappings of a job, kept after use. All calls may be made by several threads. */
class MappingCache {
public:
	/**
	 * @job: has to live as long as the cache
	 * Fails with EPROTONOSUPPORT, EOPNOTSUPP: the kernel cannot tell when memory
	 * changes (CONFIG_MMU_NOTIFIER); EINVAL.
	 */
	static Result<MappingCache>
	open(const Job &job, const pavo_cache_options &options = {}) noexcept;
	/** Nothing may be in use any more. */
	~MappingCache();
	MappingCache(MappingCache &&from) noexcept;
	MappingCache &operator=(MappingCache &&from) noexcept;

	/**
	 * Pieces of @buffer, in order, to be given to put() after use.
	 * @room: for PAVO_CACHE_PIECES(buffer.size()) of them
	 *
	 * Return: as many of @room as there are. Fails with ECHILD, ENOBUFS (@room is too
	 * small, or all entries are in use), and as Mapping::open(). No call allocates
	 * memory.
	 */
	Result<std::span<MappingPiece>>
	get(std::span<std::byte> buffer, std::span<MappingPiece> room) noexcept;
	void put(std::span<const MappingPiece> pieces) noexcept;

	/** Once in a second; see PAVO_CACHE_NO_TIMER. */
	void tick() noexcept;
	/** Counts; in a child of its owner all 0. */
	pavo_cache_stats stats() const noexcept;

private:
	struct Inside;
	MappingCache(const Job &job, const pavo_cache_options &options);

	std::shared_ptr<const File> file_; /* outlives what is inside */
	std::unique_ptr<Inside> inside_;
};

} // namespace pavo

#endif // PAVO_REGION_CACHE_HPP
