// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mmap_faults.cpp - mappings of the uverbs file that change, are another context's, or are of
 * areas that are gone. Those that are not exactly what was offered, with the errno of each, are
 * a program of callfuzz (corpus/mapping).
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

/* The arguments of mmap() for an area. */
struct Request {
	int fd;
	uint64_t offset;
	size_t size;

	/* Null if it was refused; errno tells why. */
	void *map() const
	{
		void *at = mmap(nullptr, size, READ_WRITE, MAP_SHARED, fd,
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

void must_refuse(const Request &request)
{
	void *at = request.map();
	int why = errno;

	if (at)
		munmap(at, request.size);
	REQUIRE(!at, "it was mapped");
	REQUIRE_EQ(why, EINVAL);
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

	/* Both have a doorbell page: each finds its own. */
	auto *page = owner.context.doorbell;
	pavodv_context theirs = {};

	REQUIRE_EQ(pavodv_query_context(other.context(), &theirs), 0);
	Request request = request_of(other.context(), theirs.doorbell);
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
	must_refuse(request);
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
		must_refuse(request);
		REQUIRE_EQ(close(request.fd), 0);
	}
	hostile.world.witness->testify();
}

} // namespace

void add_mmap_faults(Faults &faults)
{
	faults.add("mapping: changed afterwards", refuses_changes);
	faults.add("mapping: of another context", refuses_foreign);
	faults.add("mapping: of what is gone", outlives);
	faults.add("mapping: of what goes meanwhile", goes_meanwhile);
}

} // namespace faults
