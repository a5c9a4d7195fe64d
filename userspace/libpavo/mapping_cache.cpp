// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* mapping_cache.cpp - mappings of a job, kept after use; see mapping_cache.hpp. */
#include <pavo/mapping_cache.hpp>

#include <utility>

#include "error.hpp"
#include "lazy.hpp"
#include "mapping.hpp"

namespace pavo {

namespace {

/* Registers memory by mapping it for a job. */
class Mapper {
public:
	struct Registration {
		Pvo pvo;
		uint32_t handle;
	};

	Mapper(Watch &watch, const Job &job)
		: watch_(watch), fd_(job.fd()), job_(job.handle())
	{
	}

	int enter(uint32_t entry, Range range, Registration &made) noexcept
	{
		pavo_map_args args = {.start = range.start,
				      .length = range.length()};
		pavo_map_resp resp{};
		int err = watch_.set(entry, range.start, range.length());

		if (err)
			return err;
		err = map_memory(fd_, job_, args, resp, made.handle);
		made.pvo = {resp.pvo};
		if (err)
			watch_.set(entry, 0, 0);
		return err;
	}

	void leave(uint32_t entry, const Registration &made) noexcept
	{
		unmap_memory(fd_, made.handle);
		watch_.set(entry, 0, 0);
	}

	bool changed(uint32_t entry) const noexcept
	{
		return watch_.changed(entry);
	}

private:
	Watch &watch_;
	int fd_;
	uint32_t job_;
};

} // namespace

struct MappingCache::Impl : Lazy<Mapper> {
	using Lazy<Mapper>::Lazy;

	static MappingPiece piece(const Cache::Entry &entry, uint32_t number,
				  Range part) noexcept
	{
		return {
			.start = reinterpret_cast<std::byte *>(part.start),
			.length = part.length(),
			.pvo = entry.registration.pvo +
			       (part.start - entry.range.start),
			.entry = number,
		};
	}

	[[gnu::noinline]] Result<std::span<MappingPiece>>
	get_all(Range all, std::span<MappingPiece> pieces) noexcept
	{
		int n = get_slowly(all, pieces, piece);

		if (n < 0)
			return Unexpected(-n);
		return pieces.first(n);
	}
};

MappingCache::MappingCache(const Job &job, const pavo_cache_options &options)
	: file_(job.file()),
	  impl_(std::make_unique<Impl>(options, job.fd(), job))
{
}

Result<MappingCache>
MappingCache::open(const Job &job, const pavo_cache_options &options) noexcept
{
	return guarded([&]() -> Result<MappingCache> {
		return MappingCache(job, options);
	});
}

MappingCache::~MappingCache() = default;

MappingCache::MappingCache(MappingCache &&from) noexcept = default;

MappingCache &MappingCache::operator=(MappingCache &&from) noexcept
{
	std::swap(file_, from.file_);
	std::swap(impl_, from.impl_);
	return *this;
}

Result<std::span<MappingPiece>>
MappingCache::get(std::span<std::byte> buffer,
		  std::span<MappingPiece> pieces) noexcept
{
	const Range all = Range::of(buffer.data(), buffer.size());
	Impl &impl = *impl_;

	if (!impl.get_quickly(all, pieces, Impl::piece)) [[unlikely]]
		return impl.get_all(all, pieces);
	return pieces.first(1);
}

void MappingCache::put(std::span<const MappingPiece> pieces) noexcept
{
	impl_->put(pieces);
}

void MappingCache::tick() noexcept
{
	impl_->tick();
}

pavo_cache_stats MappingCache::stats() const noexcept
{
	return impl_->stats();
}

} // namespace pavo
