// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mmap_faults.cpp - mappings of the uverbs file that are not exactly those that
 * were offered: other offsets, sizes and rights, and areas that are gone.
 */
#include <atomic>
#include <fstream>
#include <memory>
#include <sstream>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "cases.h"
#include "raw.h"

namespace faults {
namespace {

constexpr int READ_WRITE = PROT_READ | PROT_WRITE;
const size_t PAGE = static_cast<size_t>(sysconf(_SC_PAGESIZE));

/* The arguments of mmap(): first those of an area, then spoiled. */
struct Request {
	int fd;
	uint64_t offset;
	size_t size;
	int rights = READ_WRITE;
	int flags = MAP_SHARED;

	/* Null if it was refused; errno tells why. */
	void *map() const
	{
		void *at = mmap(nullptr, size, rights, flags, fd,
				static_cast<off_t>(offset));

		return at == MAP_FAILED ? nullptr : at;
	}
};

/* The request by which the provider mapped what is at @at. */
Request request_of(ibv_context *context, const void *at)
{
	std::ifstream maps("/proc/self/maps");
	std::string line, rights;
	uint64_t begin, end, offset;
	char dash;

	while (std::getline(maps, line)) {
		std::istringstream words(line);

		words >> std::hex >> begin >> dash >> end >> rights >> offset;
		if (begin == reinterpret_cast<uint64_t>(at))
			return {.fd = context->cmd_fd,
				.offset = offset,
				.size = end - begin};
	}
	REQUIRE(false, "no mapping at ", at);
	return {};
}

/* A context whose largest area is a CQ of several pages. */
struct Owner {
	explicit Owner(const std::string &name)
		: device(name), end(device, {.cqes = 1000})
	{
		REQUIRE_EQ(pavodv_query_cq(end.send_cq(), &cq), 0);
		REQUIRE_EQ(pavodv_query_context(device.context(), &context), 0);
		area = request_of(device.context(), cq.header);
		REQUIRE(area.size >= 4 * PAGE, "the test's CQ");
	}

	Device device;
	End end;
	pavodv_cq cq = {};
	pavodv_context context = {};
	Request area = {};
};

void must_refuse(const Request &request, int error)
{
	void *at = request.map();
	int why = errno;

	if (at)
		munmap(at, request.size);
	REQUIRE(!at, "it was mapped");
	REQUIRE_EQ(why, error);
}

/* That it is not the test which cannot map anything. */
void must_map(const Owner &owner)
{
	auto *mine = owner.cq.header;
	auto *again = static_cast<pavo_cq_header *>(owner.area.map());

	REQUIRE(again, "errno ", errno);
	std::atomic_ref(mine->prod).store(0x5a5a);
	REQUIRE_EQ(std::atomic_ref(again->prod).load(), 0x5a5au);
	std::atomic_ref(mine->prod).store(0);
	REQUIRE_EQ(munmap(again, owner.area.size), 0);
}

struct Spoiling {
	const char *what;
	void (*spoil)(Request &request);
	int error = EINVAL;
};

const Spoiling spoilings[] = {
	{"an offset that was never given",
	 [](Request &r) { r.offset = uint64_t{1} << 30; }},
	{"the last offset there is",
	 [](Request &r) { r.offset = ~uint64_t{0} >> 1 & ~(PAGE - 1); }},
	{"the second page", [](Request &r) { r.offset += PAGE; }},
	{"the second page to the end",
	 [](Request &r) {
		 r.offset += PAGE;
		 r.size -= PAGE;
	 }},
	{"not a page's beginning", [](Request &r) { r.offset += 64; }},
	{"one page of many", [](Request &r) { r.size = PAGE; }},
	{"a page less", [](Request &r) { r.size -= PAGE; }},
	{"a page more", [](Request &r) { r.size += PAGE; }},
	{"1 GiB", [](Request &r) { r.size = size_t{1} << 30; }},
	{"private", [](Request &r) { r.flags = MAP_PRIVATE; }},
	{"private to read",
	 [](Request &r) {
		 r.flags = MAP_PRIVATE;
		 r.rights = PROT_READ;
	 }},
	{"executable", [](Request &r) { r.rights |= PROT_EXEC; }, EPERM},
	{"to read and execute",
	 [](Request &r) { r.rights = PROT_READ | PROT_EXEC; }, EPERM},
};

void refuses(Hostile &hostile, const Spoiling &spoiling)
{
	Owner owner(hostile.world.name_a);
	Request request = owner.area;

	spoiling.spoil(request);
	must_refuse(request, spoiling.error);
	must_map(owner);
	hostile.world.witness->testify();
}

/* Rights that a mapping did not begin with, and more of it. */
void refuses_changes(Hostile &hostile)
{
	Owner owner(hostile.world.name_a);
	void *at = owner.area.map();

	REQUIRE(at, "errno ", errno);
	REQUIRE(mprotect(at, owner.area.size, READ_WRITE | PROT_EXEC),
		"executable afterwards");
	REQUIRE(mprotect(at, PAGE, PROT_EXEC), "a page executable afterwards");
	REQUIRE(mremap(at, owner.area.size, owner.area.size + PAGE,
		       MREMAP_MAYMOVE) == MAP_FAILED,
		"longer afterwards");
	REQUIRE_EQ(munmap(at, owner.area.size), 0);
	must_map(owner);
	hostile.world.witness->testify();
}

/* Offsets mean something in their own context only. */
void refuses_foreign(Hostile &hostile)
{
	Owner owner(hostile.world.name_a);
	Device other(hostile.world.name_a);
	Request request = owner.area;

	request.fd = other.context()->cmd_fd;
	must_refuse(request, EINVAL);

	/* Both have a doorbell page: each finds its own. */
	auto *page = owner.context.doorbell;
	pavodv_context theirs = {};

	REQUIRE_EQ(pavodv_query_context(other.context(), &theirs), 0);
	request = request_of(other.context(), theirs.doorbell);
	request.offset = request_of(owner.device.context(), page).offset;
	memset(page->pad0, 0x5a, sizeof(page->pad0));

	auto *at = static_cast<pavo_doorbell_page *>(request.map());

	if (at) {
		REQUIRE_EQ(at->pad0[0], 0, "another context's page");
		REQUIRE_EQ(munmap(at, request.size), 0);
	}
	hostile.world.witness->testify();
}

/* A mapping outlives what was mapped; the memory has no owner then. */
void outlives(Hostile &hostile)
{
	Request request;
	uint8_t *at;
	{
		Owner owner(hostile.world.name_a);

		request = owner.area;
		request.fd = dup(request.fd);
		REQUIRE(request.fd >= 0);
		at = static_cast<uint8_t *>(request.map());
		REQUIRE(at, "errno ", errno);
	}
	must_refuse(request, EINVAL);
	memset(at, 0xff, request.size);
	hostile.world.witness->testify();
	for (size_t i = 0; i < request.size; i++)
		REQUIRE_EQ(at[i], 0xff, "the adapter writes at ", i);
	REQUIRE_EQ(munmap(at, request.size), 0);
	REQUIRE_EQ(close(request.fd), 0);
	hostile.world.witness->testify();
}

/*
 * It is mapped, written and unmapped all the time while it goes: each mapping is the area's
 * memory, or it is refused. No other object gets the memory while a mapping has it.
 */
void goes_meanwhile(Hostile &hostile)
{
	for (int i = 0; i < 50; i++) {
		auto owner = std::make_unique<Owner>(hostile.world.name_a);
		Request request = owner->area;
		std::atomic<unsigned> mapped = 0;

		request.fd = dup(request.fd);
		REQUIRE(request.fd >= 0);
		std::jthread mapper([&](std::stop_token stop) {
			while (!stop.stop_requested()) {
				void *at = request.map();

				if (!at)
					continue;
				memset(at, 0x77, request.size);
				munmap(at, request.size);
				mapped++;
			}
		});

		while (!mapped)
			std::this_thread::yield();
		owner.reset();
		mapper.request_stop();
		mapper.join();
		must_refuse(request, EINVAL);
		REQUIRE_EQ(close(request.fd), 0);
	}
	hostile.world.witness->testify();
}

} // namespace

void add_mmap_faults(Faults &faults)
{
	for (const Spoiling &spoiling : spoilings)
		faults.add(std::string("mapping: ") + spoiling.what, refuses,
			   spoiling);
	faults.add("mapping: changed afterwards", refuses_changes);
	faults.add("mapping: of another context", refuses_foreign);
	faults.add("mapping: of what is gone", outlives);
	faults.add("mapping: of what goes meanwhile", goes_meanwhile);
}

} // namespace faults
