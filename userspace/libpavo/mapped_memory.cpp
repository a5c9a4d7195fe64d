// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* mapped_memory.cpp - see mapped_memory.hpp. */
#include "mapped_memory.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace pavo::mapped_memory {

namespace {

using Handle = std::pair<int, uint32_t>;

struct Region {
	uint32_t id;
	std::span<std::byte> memory;
};

/*
 * One buffer may be mapped several times, through each adapter, and has the same PVO then. Held
 * while bytes are copied, so that no thread unmaps them meanwhile.
 */
struct Table {
	std::mutex mutex;
	std::map<Handle, uint32_t> jobs;
	std::map<Handle, uint64_t> mappings;
	std::multimap<uint64_t, std::pair<Handle, Region>> regions;
};

/* Objects of static storage may use it until the process ends. */
Table &table()
{
	static Table &only = *new Table;

	return only;
}

/* Locked. Return: empty: this process has not mapped all of that. */
std::span<std::byte> find(Table &all, uint32_t id, uint64_t pvo,
			  uint64_t length)
{
	auto at = all.regions.upper_bound(pvo);

	/* Mappings of one table do not overlap, but for those of the same buffer. */
	while (at != all.regions.begin()) {
		const auto &[first, entry] = *--at;
		const Region &region = entry.second;
		uint64_t offset = pvo - first;

		if (region.id == id && offset <= region.memory.size() &&
		    length <= region.memory.size() - offset)
			return region.memory.subspan(offset, length);
		if (offset > region.memory.size())
			break;
	}
	return {};
}

} // namespace

void add_job(int fd, uint32_t job, uint32_t id)
{
	Table &all = table();
	std::lock_guard guard(all.mutex);

	all.jobs[{fd, job}] = id;
}

void remove_job(int fd, uint32_t job) noexcept
{
	Table &all = table();
	std::lock_guard guard(all.mutex);

	all.jobs.erase({fd, job});
}

uint32_t id_of_job(int fd, uint32_t job) noexcept
{
	Table &all = table();
	std::lock_guard guard(all.mutex);
	auto found = all.jobs.find({fd, job});

	return found == all.jobs.end() ? 0 : found->second;
}

void add(int fd, uint32_t job, uint32_t mapping, uint64_t pvo,
	 std::span<std::byte> memory)
{
	const uint32_t id = id_of_job(fd, job);
	Table &all = table();
	std::lock_guard guard(all.mutex);
	const Handle handle{fd, mapping};

	all.mappings[handle] = pvo;
	all.regions.emplace(pvo, std::pair(handle, Region{id, memory}));
}

void remove(int fd, uint32_t mapping) noexcept
{
	Table &all = table();
	std::lock_guard guard(all.mutex);
	const Handle handle{fd, mapping};
	auto found = all.mappings.find(handle);

	if (found == all.mappings.end())
		return;
	auto [from, to] = all.regions.equal_range(found->second);
	auto at = std::find_if(from, to, [&](const auto &region) {
		return region.second.first == handle;
	});
	if (at != to)
		all.regions.erase(at);
	all.mappings.erase(found);
}

bool holds(uint32_t id, uint64_t pvo, uint64_t length) noexcept
{
	Table &all = table();
	std::lock_guard guard(all.mutex);

	return !length || !find(all, id, pvo, length).empty();
}

bool read(uint32_t id, uint64_t pvo, std::span<std::byte> to) noexcept
{
	Table &all = table();
	std::lock_guard guard(all.mutex);
	auto from = find(all, id, pvo, to.size());

	std::ranges::copy(from, to.begin());
	return from.size() == to.size();
}

bool write(uint32_t id, uint64_t pvo, std::span<const std::byte> from) noexcept
{
	Table &all = table();
	std::lock_guard guard(all.mutex);
	auto to = find(all, id, pvo, from.size());

	if (to.size() != from.size())
		return false;
	std::ranges::copy(from, to.begin());
	return true;
}

} // namespace pavo::mapped_memory
