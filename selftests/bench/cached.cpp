// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* cached.cpp - registering memory against finding it in the cache; see cached.h. */
#include "cached.h"

#include <pavo/mr_cache.h>
#include <sys/mman.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <system_error>
#include <vector>

namespace {

constexpr int repetitions = 5;
constexpr uint32_t length = 65536;

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

void registered(ibv_pd *pd, void *at, int times)
{
	while (times--) {
		ibv_mr *mr = ibv_reg_mr(pd, at, length, IBV_ACCESS_LOCAL_WRITE);

		if (!mr)
			fail("ibv_reg_mr", errno);
		ibv_dereg_mr(mr);
	}
}

/* The buffer of fragment @n. */
void find(pavo_mr_cache *cache, char *memory, size_t n, pavo_mr_piece &piece)
{
	if (pavo_mr_cache_get(cache, memory + n * PAVO_CACHE_FRAGMENT, length,
			      &piece, 1) != 1)
		fail("pavo_mr_cache_get", ENOBUFS);
}

} // namespace

void cached(ibv_pd *pd)
{
	constexpr size_t most = 1000;
	constexpr pavo_cache_options options = {.entries = 0,
						.segments = 0,
						.idle_limit = 0,
						.flags = PAVO_CACHE_NO_TIMER};
	pavo_mr_cache *cache =
		pavo_mr_cache_create(pd, IBV_ACCESS_LOCAL_WRITE, &options);
	void *at = mmap(nullptr, most * PAVO_CACHE_FRAGMENT,
			PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!cache || at == MAP_FAILED)
		fail("cache", errno);
	char *memory = static_cast<char *>(at);
	for (size_t count : {size_t(1), size_t(100), most}) {
		std::vector<pavo_mr_piece> found(20000);

		for (size_t n = 0; n < count; n++) {
			find(cache, memory, n, found[0]);
			pavo_mr_cache_put(cache, &found[0], 1);
		}
		for (int i = 0; i < repetitions; i++) {
			print("found in the cache", count,
			      each(int(found.size()), [&](int times) {
				      size_t n = 0;

				      while (times--) {
					      find(cache, memory, n,
						   found[times]);
					      n = n + 1 < count ? n + 1 : 0;
				      }
			      }));
			print("given back", count,
			      each(int(found.size()), [&](int times) {
				      while (times--)
					      pavo_mr_cache_put(
						      cache, &found[times], 1);
			      }));
			print("registered and deregistered", count,
			      each(200, [&](int times) {
				      registered(pd, memory, times);
			      }));
		}
	}
	pavo_mr_cache_destroy(cache);
	munmap(at, most * PAVO_CACHE_FRAGMENT);
}
