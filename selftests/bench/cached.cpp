// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* cached.cpp - registering memory against finding it in the cache; see cached.h. */
#include "cached.h"

#include <pavo/mr_cache.h>
#include <pavo/device.hpp>
#include <pavo/job.hpp>
#include <pavo/mapping_cache.hpp>
#include <sys/mman.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <span>
#include <system_error>
#include <vector>

namespace {

constexpr int cached_repetitions = 5;
constexpr uint32_t length = 65536;
constexpr size_t most = 1000;
constexpr pavo_cache_options options = {.entries = 0,
					.segments = 0,
					.idle_limit = 0,
					.flags = PAVO_CACHE_NO_TIMER};

/* Nanoseconds that each of @times calls takes. */
uint64_t each(int times, const std::function<void(int)> &call)
{
	auto began = std::chrono::steady_clock::now();

	call(times);
	return std::chrono::duration_cast<std::chrono::nanoseconds>(
		       std::chrono::steady_clock::now() - began)
		       .count() /
	       times;
}

void fail(const char *what, int err)
{
	throw std::system_error(err, std::generic_category(), what);
}

void print(const char *what, size_t entries, uint64_t ns)
{
	std::cout << "{\"what\": \"" << what << "\", \"entries\": " << entries
		  << ", \"ns\": " << ns << "}\n"
		  << std::flush;
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
		  cache_(pavo_mr_cache_create(pd, IBV_ACCESS_LOCAL_WRITE,
					      &options))
	{
		if (!cache_)
			fail("pavo_mr_cache_create", errno);
	}

	~Regions() { pavo_mr_cache_destroy(cache_); }
	Regions(const Regions &) = delete;

	void get(char *at, Piece &piece)
	{
		if (pavo_mr_cache_get(cache_, at, length, &piece, 1) != 1)
			fail("pavo_mr_cache_get", ENOBUFS);
	}

	void put(const Piece &piece) { pavo_mr_cache_put(cache_, &piece, 1); }

	void make(char *at)
	{
		ibv_mr *mr =
			ibv_reg_mr(pd_, at, length, IBV_ACCESS_LOCAL_WRITE);

		if (!mr)
			fail("ibv_reg_mr", errno);
		ibv_dereg_mr(mr);
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
		auto got = cache_.get(memory(at), {&piece, 1});

		if (!got.has_value())
			fail("MappingCache", got.error().number());
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

/* The cost of the rows below without the calls. */
void measure_loop(char *memory)
{
	for (int i = 0; i < cached_repetitions; i++)
		print("the loop", 0, each(20000, [&](int times) {
			      while (times--) {
				      char *volatile at = memory;

				      (void)at;
			      }
		      }));
}

/* A buffer in each of @count fragments, in turn. */
template <class Kind>
void measure(Kind &kind, char *memory, size_t count,
	     std::vector<typename Kind::Piece> &pieces)
{
	auto place = [&](size_t n) { return memory + n * PAVO_CACHE_FRAGMENT; };

	for (size_t n = 0; n < count; n++) {
		kind.get(place(n), pieces[0]);
		kind.put(pieces[0]);
	}
	for (int i = 0; i < cached_repetitions; i++) {
		print(Kind::found, count,
		      each(int(pieces.size()), [&](int times) {
			      size_t n = 0;

			      while (times--) {
				      kind.get(place(n), pieces[times]);
				      n = n + 1 < count ? n + 1 : 0;
			      }
		      }));
		print(Kind::given_back, count,
		      each(int(pieces.size()), [&](int times) {
			      while (times--)
				      kind.put(pieces[times]);
		      }));
		print(Kind::made, count, each(200, [&](int times) {
			      while (times--)
				      kind.make(memory);
		      }));
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

	if (at == MAP_FAILED)
		fail("mmap", errno);
	char *memory = static_cast<char *>(at);
	measure_loop(memory);
	measure_all(Regions(pd), memory);
	measure_all(Mappings(device), memory);
	munmap(at, most * PAVO_CACHE_FRAGMENT);
}
