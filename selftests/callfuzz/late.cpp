// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * late.cpp - see late.h.
 */
#include "late.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <rdma/ib_user_ioctl_verbs.h>
#include <sys/mman.h>

#include "hands.h"

namespace callfuzz {
namespace {

constexpr uint64_t magic = 0x91a7e0b17e5ca1d3;

/* A piece of the pattern: it says who wrote it, and where. */
struct Cell {
	uint64_t mark, address;
	uint32_t actor, serial;
	uint64_t end;
};

static_assert(page_size % sizeof(Cell) == 0);

enum class Effect { none, made, changed, ended };

Effect effect_of(const Entry &entry)
{
	for (const char *name : {"reg_mr", "reg_dmabuf", "map"})
		if (entry.name == name)
			return Effect::made;
	for (const char *name : {"dereg_mr", "m_destroy_mr", "unmap"})
		if (entry.name == name)
			return Effect::ended;
	return entry.name == "rereg_mr" ? Effect::changed : Effect::none;
}

bool lies_in(uint64_t at, uint64_t length, uint64_t memory)
{
	return at >= memory && length <= memory_size &&
	       at + length <= memory + memory_size;
}

struct Written {
	uint64_t at, length;
	Cell cell;
};

/* Cells of it, or zeros. */
int fill(Written what)
{
	return touch_memory(
		[](void *context) {
			auto *one = static_cast<Written *>(context);
			const uint64_t end = one->at + one->length;

			for (uint64_t at = one->at; at + sizeof(Cell) <= end;
			     at += sizeof(Cell)) {
				if (one->cell.mark)
					one->cell.address = at;
				memcpy(reinterpret_cast<void *>(at), &one->cell,
				       sizeof(Cell));
			}
		},
		&what);
}

void tell(Shared &shared, const char *where, const uint8_t *at, size_t size)
{
	Cell cell = {};

	if (shared.late[0])
		return;
	memcpy(&cell, at, size < sizeof(cell) ? size : sizeof(cell));
	snprintf(shared.late, sizeof(shared.late),
		 "bytes that actor %c wrote to 0x%llx when no request could "
		 "read them are in %s",
		 'A' + int(cell.actor % actors),
		 static_cast<unsigned long long>(cell.address), where);
}

struct Page {
	Shared *shared;
	int actor;
	const uint8_t *at;
};

bool is_own(const Page &page, const uint8_t *at)
{
	Cell cell;

	if (at + sizeof(cell) > page.at + page_size)
		return false;
	memcpy(&cell, at, sizeof(cell));
	return cell.address == uint64_t(at) && int(cell.actor) == page.actor;
}

void look_in_page(void *context)
{
	const Page &page = *static_cast<Page *>(context);
	const uint8_t *at = page.at, *end = page.at + page_size;

	while ((at = static_cast<const uint8_t *>(
			memmem(at, size_t(end - at), &magic, sizeof(magic))))) {
		if (!is_own(page, at)) {
			char where[64];

			snprintf(where, sizeof(where),
				 "memory of actor %c at 0x%llx",
				 'A' + page.actor,
				 static_cast<unsigned long long>(uint64_t(at)));
			return tell(*page.shared, where, at, size_t(end - at));
		}
		at += sizeof(magic);
	}
}

} // namespace

void Late::clean_locked()
{
	for (const Range &range : written_)
		fill({range.at, range.length, {}});
	written_.clear();
}

void Late::clean()
{
	std::lock_guard guard(lock_);

	clean_locked();
}

/* Peers can read from it, or its memory is not that of make_memory(). */
static bool may_be_read(const Entry &entry, const uint64_t *args)
{
	constexpr uint64_t rights = IB_UVERBS_ACCESS_REMOTE_READ |
				    IB_UVERBS_ACCESS_REMOTE_ATOMIC |
				    IB_UVERBS_ACCESS_MW_BIND;
	uint64_t at = 0, length = 0, access = rights;

	for (size_t i = 0; i < entry.args.size(); i++) {
		const std::string &name = entry.fields[entry.args[i]].name;

		if (name == "mem")
			at = args[i];
		else if (name == "length")
			length = args[i];
		else if (name == "access")
			access = args[i];
	}
	return access & rights || at < plain_memory || at + length < at ||
	       at + length > end_of_memory;
}

void Late::begin(const Entry &entry, const uint64_t *args, bool spoiled)
{
	const Effect effect = effect_of(entry);

	/* The ring has other entries then. */
	if (entry.name == "resize_cq")
		lose_control();
	if (effect != Effect::made && effect != Effect::changed)
		return;
	std::lock_guard guard(lock_);
	regions_ += effect == Effect::made;
	readable_ |= spoiled || effect == Effect::changed ||
		     may_be_read(entry, args);
	clean_locked();
}

void Late::end(const Entry &entry, bool failed)
{
	const Effect effect = effect_of(entry);

	if (effect != (failed ? Effect::made : Effect::ended))
		return;
	std::lock_guard guard(lock_);
	if (!--regions_)
		readable_ = false;
}

void Late::begin_request(uint32_t qpn)
{
	std::lock_guard guard(lock_);

	requests_[qpn]++;
	clean_locked();
}

void Late::end_request(uint32_t qpn)
{
	std::lock_guard guard(lock_);

	lost_ |= requests_[qpn]-- <= 0;
}

void Late::add_area(uint64_t area, uint64_t length, uint64_t file, uint64_t at)
{
	std::lock_guard guard(lock_);

	areas_[area] = {length, file, at};
}

void Late::use(uint64_t area, uint64_t size, Role role)
{
	{
		std::lock_guard guard(lock_);
		auto known = areas_.find(area);

		if (known != areas_.end() && size <= known->second.length &&
		    roles_.try_emplace({known->second.file, known->second.at},
				       role)
				    .first->second == role)
			return;
	}
	lose_control();
}

void Late::lose_control()
{
	std::lock_guard guard(lock_);

	lost_ = true;
	if (regions_)
		clean_locked();
}

bool Late::can_be_read() const
{
	if (!regions_)
		return false;
	return readable_ || lost_ ||
	       std::any_of(requests_.begin(), requests_.end(),
			   [](const auto &one) { return one.second; });
}

int Late::write(Shared &shared, int actor, uint64_t at, uint64_t length)
{
	std::lock_guard guard(lock_);

	at &= ~(sizeof(Cell) - 1);
	if (!lies_in(at, length, plain_memory) &&
	    !lies_in(at, length, secret_memory))
		return EPERM;
	/* A child has the files, and may have regions of its own. */
	if (can_be_read() || actor == 3 || shared.child)
		return EBUSY;
	written_.push_back({at, length});
	shared.late_writes++;
	return fill({at, length, {magic, 0, uint32_t(actor), 0, ~magic}});
}

void Late::add_socket(int fd)
{
	std::lock_guard guard(lock_);

	sockets_.push_back(fd);
}

std::vector<int> Late::sockets()
{
	std::lock_guard guard(lock_);

	return sockets_;
}

void look_for_late(Shared &shared, int actor)
{
	for (uint64_t memory = plain_memory; memory < end_of_memory;
	     memory += kind_distance) {
		for (uint64_t at = memory; at < memory + memory_size;
		     at += page_size) {
			Page page = {&shared, actor,
				     reinterpret_cast<const uint8_t *>(at)};
			unsigned char there = 0;

			/* A page that is not there may never come. */
			if (!mincore(reinterpret_cast<void *>(at), page_size,
				     &there) &&
			    there & 1)
				touch_memory(look_in_page, &page);
		}
	}
}

void look_in_packet(Shared &shared, const void *packet, size_t size)
{
	const auto *begin = static_cast<const uint8_t *>(packet);
	const void *at = memmem(packet, size, &magic, sizeof(magic));

	if (at)
		tell(shared, "a packet that another namespace held",
		     static_cast<const uint8_t *>(at),
		     size_t(begin + size - static_cast<const uint8_t *>(at)));
}

} // namespace callfuzz
