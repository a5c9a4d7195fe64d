/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory of the application, and which of its bytes may change: those that a packet with
 * the right key names, or that the application itself gave away. Everything else, guard
 * pages around each region included, is compared byte for byte.
 *
 * Owns: the memory, its memory regions, and what it should hold.
 */
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

namespace wf {

/* The adapter did what it may not do; the text says what. */
struct Violation : std::runtime_error {
	using std::runtime_error::runtime_error;
};

constexpr size_t page_size = 4096;
constexpr size_t region_size = 32768;
/* Remote rights that change memory. */
constexpr int changing_access = IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_ATOMIC;

struct Region {
	struct Range {
		size_t from, to;
		std::string owner; /* the target whose end ends it */
		bool closing = false; /* goes with the next comparison */
		bool by_peers = false;
		bool without_right =
			false; /* of the region, when it was sent */
	};

	std::string name;
	int access = 0;
	/* The adapter had the right to write there once: a request may be older. */
	bool was_writable = false;
	bool other_pd = false;
	uint8_t *mapping = nullptr; /* guards and region */
	size_t mapped = 0;
	uint8_t *at = nullptr;
	size_t size = region_size;
	ibv_mr *mr = nullptr;
	uint32_t key = 0; /* the last that it had, also when it has none */
	std::vector<uint8_t> shadow; /* of the mapping */
	std::vector<Range> allowed;
};

class Regions {
public:
	/* Both outlive this. */
	Regions(ibv_pd *pd, ibv_pd *other_pd);
	~Regions();
	Regions(const Regions &) = delete;

	Region *find(std::string_view name);
	/* Memory that is compared but no region of verbs. */
	Region &add(const std::string &name, size_t offset_in_page);

	/* Without effect where it is registered already. Return: it is now. */
	bool register_one(Region &region);
	void deregister(Region &region);
	/* The adapter must have taken all that peers sent before that. */
	void reregister(Region &region, int access);
	/* Its pages are taken back: zeros from now on. */
	void drop_pages(Region &region, size_t offset, size_t length);

	/* A peer of @owner may write there, if the key is right. */
	void allow_remote(uint32_t key, uint64_t va, uint64_t length,
			  const std::string &owner, bool any_pd);
	/* The application told the adapter to. */
	void allow(Region &region, size_t offset, size_t length,
		   const std::string &owner, bool by_peers = false,
		   bool without_right = false);
	/* A memory window shows region r under that key. */
	void set_window_key(std::string_view window, uint32_t key);
	/* The target is in Reset or gone. */
	void end_owner(const std::string &owner);

	/* Throws Violation. */
	void check();

private:
	void check_one(Region &region);
	void add_region(const std::string &name, int access, bool other_pd);

	ibv_pd *pd_, *other_pd_;
	std::map<std::string, std::unique_ptr<Region>, std::less<>> regions_;
	std::map<std::string, uint32_t, std::less<>> window_keys_;
};

} // namespace wf
