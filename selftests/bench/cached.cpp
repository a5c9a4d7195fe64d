// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* cached.cpp - registering memory against finding it in the cache; see many.h. */
#include "many.h"

#include <pavo/mr_cache.h>
#include <pavo/device.hpp>
#include <pavo/job.hpp>
#include <pavo/mapping_cache.hpp>
#include <sys/mman.h>

#include <span>
#include <vector>

#include "../common/errors.h"

namespace {

constexpr uint32_t length = 65536;
constexpr size_t most = 1000;
constexpr pavo_cache_options options = {.entries = 0,
					.segments = 0,
					.idle_limit = 0,
					.flags = PAVO_CACHE_NO_TIMER};

/* Prints nanoseconds that each of @times calls takes. */
template <class Call>
void print_each(const char *what, size_t entries, int times, Call &&call)
{
	uint64_t began = now();

	for (int i = 0; i < times; i++)
		call(i);
	print({{"what", what},
	       {"entries", entries},
	       {"ns", (now() - began) / times}});
}

/* Regions of a protection domain. */
class Regions {
public:
	using Piece = pavo_mr_piece;
	static constexpr const char *found = "region found";
	static constexpr const char *given_back = "region given back";
	static constexpr const char *made = "region made and ended";

	explicit Regions(ibv_pd *pd)
		: pd_(pd),
		  cache_(common::must_make(
			  pavo_mr_cache_create(pd, IBV_ACCESS_LOCAL_WRITE,
					       &options),
			  "pavo_mr_cache_create"))
	{
	}

	~Regions() { pavo_mr_cache_destroy(cache_); }
	Regions(const Regions &) = delete;

	void get(char *at, Piece &piece)
	{
		if (pavo_mr_cache_get(cache_, at, length, &piece, 1) != 1)
			common::throw_errno(ENOBUFS, "pavo_mr_cache_get");
	}

	void put(const Piece &piece) { pavo_mr_cache_put(cache_, &piece, 1); }

	void make(char *at)
	{
		ibv_dereg_mr(common::must_make(
			ibv_reg_mr(pd_, at, length, IBV_ACCESS_LOCAL_WRITE),
			"ibv_reg_mr"));
	}

private:
	ibv_pd *pd_;
	pavo_mr_cache *cache_;
};

/* Mappings of a job. */
class Mappings {
public:
	using Piece = pavo::MappingPiece;
	static constexpr const char *found = "mapping found";
	static constexpr const char *given_back = "mapping given back";
	static constexpr const char *made = "mapping made and ended";

	explicit Mappings(const char *device)
		: device_(pavo::Device::open(device).value()),
		  job_(pavo::Job::reserve(device_, 0x6b657973, 1).value()),
		  cache_(pavo::MappingCache::open(job_, options).value())
	{
	}

	void get(char *at, Piece &piece)
	{
		if (!cache_.get(memory(at), {&piece, 1}))
			throw std::runtime_error("MappingCache");
	}

	void put(const Piece &piece) { cache_.put({&piece, 1}); }

	void make(char *at) { pavo::Mapping::open(job_, memory(at)).value(); }

private:
	static std::span<std::byte> memory(char *at)
	{
		return {reinterpret_cast<std::byte *>(at), length};
	}

	pavo::Device device_;
	pavo::Job job_;
	pavo::MappingCache cache_;
};

/* A buffer in each of @count fragments, in turn. */
template <class Kind>
void measure(Kind &kind, char *memory, size_t count,
	     std::vector<typename Kind::Piece> &pieces)
{
	const int times = int(pieces.size());
	size_t n = 0;
	auto next = [&] {
		n = n + 1 < count ? n + 1 : 0;
		return memory + n * PAVO_CACHE_FRAGMENT;
	};

	for (size_t i = 0; i < count; i++) {
		kind.get(next(), pieces[0]);
		kind.put(pieces[0]);
	}
	for (int i = 0; i < repetitions; i++) {
		print_each(Kind::found, count, times,
			   [&](int at) { kind.get(next(), pieces[at]); });
		print_each(Kind::given_back, count, times,
			   [&](int at) { kind.put(pieces[at]); });
		print_each(Kind::made, count, 200,
			   [&](int) { kind.make(memory); });
	}
}

template <class Kind> void measure_all(Kind &&kind, char *memory)
{
	std::vector<typename Kind::Piece> pieces(20000);

	for (size_t count : {size_t(1), size_t(100), most})
		measure(kind, memory, count, pieces);
}

} // namespace

void cached(ibv_pd *pd, const char *device)
{
	void *at = mmap(nullptr, most * PAVO_CACHE_FRAGMENT,
			PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *memory = static_cast<char *>(at);

	common::must(at != MAP_FAILED, "memory");
	/* The cost of the rows below without the calls. */
	for (int i = 0; i < repetitions; i++)
		print_each("the loop", 0, 20000, [&](int) {
			char *volatile loaded = memory;

			(void)loaded;
		});
	measure_all(Regions(pd), memory);
	measure_all(Mappings(device), memory);
	munmap(at, most * PAVO_CACHE_FRAGMENT);
}
