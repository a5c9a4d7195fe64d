// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* mr_cache.cpp - memory regions of verbs, kept after use; see mr_cache.h. */
#include <pavo/mr_cache.h>

#include <cerrno>

#include "error.hpp"
#include "lazy.hpp"

namespace {

using namespace pavo;

/* Registers memory with a protection domain. */
class Registrar {
public:
	/* With the keys, which would be one cache line more. */
	struct Registration {
		ibv_mr *mr;
		uint32_t lkey;
		uint32_t rkey;
	};

	Registrar(Watch &watch, ibv_pd *pd, int access)
		: watch_(watch), pd_(pd), access_(access)
	{
	}

	int enter(uint32_t entry, Range range, Registration &made) noexcept
	{
		int err = watch_.set(entry, range.start, range.length());

		if (err)
			return err;
		ibv_mr *mr = ibv_reg_mr(pd_,
					reinterpret_cast<void *>(range.start),
					range.length(), access_);
		if (!mr) {
			err = errno;
			watch_.set(entry, 0, 0);
			return err;
		}
		made = {mr, mr->lkey, mr->rkey};
		return 0;
	}

	void leave(uint32_t entry, const Registration &made) noexcept
	{
		ibv_dereg_mr(made.mr);
		watch_.set(entry, 0, 0);
	}

	bool changed(uint32_t entry) const noexcept
	{
		return watch_.changed(entry);
	}

private:
	Watch &watch_;
	ibv_pd *pd_;
	int access_;
};

/* A range that was not asked for must not be open to others. */
pavo_cache_options for_access(const pavo_cache_options *options, int access)
{
	constexpr int remote = IBV_ACCESS_REMOTE_READ |
			       IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	pavo_cache_options own = options ? *options : pavo_cache_options{};

	if (access & remote)
		own.flags |= PAVO_CACHE_EXACT;
	return own;
}

} // namespace

struct pavo_mr_cache : Lazy<Registrar> {
	using Lazy<Registrar>::Lazy;
};

pavo_mr_cache *pavo_mr_cache_create(ibv_pd *pd, int access,
				    const pavo_cache_options *options)
{
	auto made = guarded([&]() -> Result<pavo_mr_cache *> {
		return new pavo_mr_cache(for_access(options, access),
					 pd->context->cmd_fd, pd, access);
	});

	if (!made)
		errno = made.error().number();
	return std::move(made).value_or(nullptr);
}

void pavo_mr_cache_destroy(pavo_mr_cache *cache)
{
	delete cache;
}

int pavo_mr_cache_get(pavo_mr_cache *cache, const void *addr, size_t length,
		      pavo_mr_piece *pieces, unsigned int max_pieces)
{
	auto piece = [](const auto &entry, uint32_t number, Range part) {
		return pavo_mr_piece{
			.addr = part.start,
			.length = uint32_t(part.length()),
			.lkey = entry.registration.lkey,
			.rkey = entry.registration.rkey,
			.entry = number,
		};
	};

	return cache->get(Range::of(addr, length),
			  std::span(pieces, max_pieces), piece);
}

void pavo_mr_cache_put(pavo_mr_cache *cache, const pavo_mr_piece *pieces,
		       unsigned int count)
{
	cache->put(std::span(pieces, count));
}

void pavo_mr_cache_tick(pavo_mr_cache *cache)
{
	cache->tick();
}

void pavo_mr_cache_query(pavo_mr_cache *cache, pavo_cache_stats *stats)
{
	*stats = cache->stats();
}
