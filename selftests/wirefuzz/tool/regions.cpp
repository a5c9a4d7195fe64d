// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory of the application: see regions.h.
 */
#include "regions.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

namespace wf {

namespace {

/* No region begins on a page or a cache line: that would hide mistakes. */
constexpr size_t usual_offset = 0x6a8;
constexpr int all_remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			   IBV_ACCESS_MW_BIND;

/* The first bytes of a region: every byte depends on its place and the region. */
uint8_t first_byte(const std::string &name, size_t position)
{
	uint64_t x = position * 0x9e3779b97f4a7c15u + name[0] * 0x2545f491u;

	return static_cast<uint8_t>(x >> 29 ^ x >> 51);
}

} // namespace

Regions::Regions(ibv_pd *pd, ibv_pd *other_pd) : pd_(pd), other_pd_(other_pd)
{
	add_region("l", IBV_ACCESS_LOCAL_WRITE, false);
	/* Never written: what is sent from it must have the right ICRC. */
	add_region("s", 0, false);
	add_region("r", all_remote, false);
	add_region("ro", IBV_ACCESS_REMOTE_READ, false);
	add_region("n", IBV_ACCESS_LOCAL_WRITE, false);
	add_region("p", all_remote, true);
	add_region("o",
		   (all_remote & ~IBV_ACCESS_MW_BIND) | IBV_ACCESS_ON_DEMAND,
		   false);
}

Regions::~Regions()
{
	for (auto &[name, region] : regions_) {
		if (region->mr)
			ibv_dereg_mr(region->mr);
		munmap(region->mapping, region->mapped);
	}
}

Region &Regions::add(const std::string &name, size_t offset_in_page)
{
	auto made = std::make_unique<Region>();
	Region &r = *made;

	r.name = name;
	r.mapped =
		2 * page_size + region_size + (offset_in_page ? page_size : 0);
	void *at = mmap(nullptr, r.mapped, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		throw std::runtime_error("mmap of region " + name);
	r.mapping = static_cast<uint8_t *>(at);
	r.at = r.mapping + page_size + offset_in_page;
	for (size_t i = 0; i < r.mapped; i++)
		r.mapping[i] = first_byte(name, i);
	r.shadow.assign(r.mapping, r.mapping + r.mapped);
	return *(regions_[name] = std::move(made));
}

void Regions::add_region(const std::string &name, int access, bool other_pd)
{
	Region &r = add(name, usual_offset);

	r.access = access;
	r.other_pd = other_pd;
	register_one(r);
}

Region *Regions::find(std::string_view name)
{
	auto found = regions_.find(name);

	return found == regions_.end() ? nullptr : found->second.get();
}

bool Regions::register_one(Region &region)
{
	if (region.mr)
		return true;
	region.mr = ibv_reg_mr(region.other_pd ? other_pd_ : pd_, region.at,
			       region.size, region.access);
	if (region.mr)
		region.key = region.mr->rkey;
	region.was_writable |= region.access & IBV_ACCESS_LOCAL_WRITE;
	return region.mr != nullptr;
}

/* Peers' writes are over when this returns: what changes later has no right to. */
void Regions::deregister(Region &region)
{
	if (!region.mr || ibv_dereg_mr(region.mr))
		return;
	region.mr = nullptr;
	check_one(region);
	region.allowed.clear();
}

void Regions::reregister(Region &region, int access)
{
	if (!region.mr)
		return;
	const int error = ibv_rereg_mr(region.mr, IBV_REREG_MR_CHANGE_ACCESS,
				       nullptr, nullptr, 0, access);
	if (error)
		return;
	region.access = access;
	region.was_writable |= access & IBV_ACCESS_LOCAL_WRITE;
	region.key = region.mr->rkey;
	/* A packet that is held behind a gap gets the right, too. */
	for (Region::Range &range : region.allowed)
		range.without_right &= !(access & changing_access);
	if (access & changing_access)
		return;
	check_one(region);
	std::erase_if(region.allowed, [](const Region::Range &range) {
		return range.by_peers;
	});
}

void Regions::drop_pages(Region &region, size_t offset, size_t length)
{
	const size_t pages = region_size / page_size;
	const size_t first = offset / page_size % pages;
	const size_t count = std::min(length / page_size + 1, pages - first);
	const size_t from = page_size * (1 + first), size = count * page_size;

	if (!(region.access & IBV_ACCESS_ON_DEMAND))
		return;
	check_one(region);
	if (madvise(region.mapping + from, size, MADV_DONTNEED))
		return;
	std::fill_n(region.shadow.begin() + static_cast<long>(from), size, 0);
}

void Regions::allow(Region &region, size_t offset, size_t length,
		    const std::string &owner, bool by_peers, bool without_right)
{
	if (offset >= region.size)
		return;
	const size_t end = std::min(region.size, offset + length);

	for (const Region::Range &range : region.allowed)
		if (!range.closing && range.owner == owner &&
		    range.by_peers == by_peers &&
		    range.without_right == without_right &&
		    range.from <= offset && range.to >= end)
			return;
	region.allowed.push_back(
		{offset, end, owner, false, by_peers, without_right});
}

void Regions::allow_remote(uint32_t key, uint64_t va, uint64_t length,
			   const std::string &owner, bool any_pd)
{
	for (auto &[name, region] : regions_) {
		Region &r = *region;
		const auto base = reinterpret_cast<uintptr_t>(r.at);
		bool named = r.mr && r.key == key && (any_pd || !r.other_pd);
		bool right = r.access & changing_access;

		for (auto &[window, window_key] : window_keys_)
			if (name == "r" && window_key == key)
				named = right = true;
		if (named && va < base + r.size && length &&
		    va + length > base) {
			const uint64_t from = std::max<uint64_t>(va, base);

			allow(r, from - base, va + length - from, owner, true,
			      !right);
		}
	}
}

void Regions::set_window_key(std::string_view window, uint32_t key)
{
	window_keys_[std::string(window)] = key;
}

void Regions::end_owner(const std::string &owner)
{
	for (auto &[name, region] : regions_)
		for (Region::Range &range : region->allowed)
			range.closing |= range.owner == owner;
}

void Regions::check_one(Region &region)
{
	const uint8_t *now = region.mapping;

	if (std::memcmp(now, region.shadow.data(), region.mapped) != 0) {
		const size_t base = static_cast<size_t>(region.at - now);
		std::vector<uint8_t> may(region.mapped);

		for (const Region::Range &range : region.allowed)
			if (!range.without_right &&
			    (range.by_peers || region.was_writable))
				std::memset(&may[base + range.from], 1,
					    range.to - range.from);
		/* One that changes meanwhile is seen the next time. */
		for (size_t i = 0; i < region.mapped; i++) {
			const uint8_t byte = now[i];

			if (byte == region.shadow[i])
				continue;
			if (!may[i])
				throw Violation(
					"byte " +
					std::to_string(
						static_cast<long>(i) -
						static_cast<long>(base)) +
					" of region " + region.name +
					" changed: no right to that");
			region.shadow[i] = byte;
		}
	}
	std::erase_if(region.allowed,
		      [](auto &range) { return range.closing; });
}

void Regions::check()
{
	for (auto &[name, region] : regions_)
		check_one(*region);
}

} // namespace wf
