// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Regions of mapped files. The adapter writes to pinned pages without a fault, which a
 * filesystem with pages to write back needs to know what is dirty.
 */
#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

#include "../common/files.h"
#include "disk.h"
#include "link.h"
#include "paged.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr size_t size = 16 * page;

/* Registers @at and gives it back. Return: 0, or the error of the registration. */
int try_reg(Env &env, uint8_t *at, int access)
{
	ibv_mr *region = ibv_reg_mr(local(env.b).raw_pd(0), at, size, access);

	if (!region)
		return errno;
	REQUIRE_EQ(ibv_dereg_mr(region), 0, "dereg_mr");
	return 0;
}

/* The same for a mapping of the disk's file, which ends here. */
int try_file(Env &env, const Disk &disk, int flags, int access)
{
	uint8_t *at = disk.map(PROT_READ | PROT_WRITE, flags);
	int error = try_reg(env, at, access);

	munmap(at, size);
	return error;
}

} // namespace

PV_TEST_LOCAL("region.file",
	      "a file that is written back cannot be pinned for writing; it can "
	      "for reading, on demand, and as a private copy")
{
	Disk disk(size);

	REQUIRE_EQ(try_file(env, disk, MAP_SHARED, int(all_access)), EFAULT,
		   "shared, for writing");
	REQUIRE_EQ(try_file(env, disk, MAP_SHARED, IBV_ACCESS_REMOTE_READ), 0,
		   "shared, for reading");
	REQUIRE_EQ(try_file(env, disk, MAP_SHARED,
			    int(all_access | IBV_ACCESS_ON_DEMAND)),
		   0, "shared, on demand");
	REQUIRE_EQ(try_file(env, disk, MAP_PRIVATE, int(all_access)), 0,
		   "private");
}

PV_TEST_LOCAL(
	"region.file_behind_memory",
	"one page of a file in the midst of a process's memory: all of the "
	"region is refused, and nothing stays pinned")
{
	Disk disk(size);
	uint8_t *file = disk.map(PROT_READ | PROT_WRITE, MAP_SHARED);
	void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at != MAP_FAILED, "mmap");
	uint8_t *memory = static_cast<uint8_t *>(at);
	REQUIRE(mremap(file, page, page, MREMAP_MAYMOVE | MREMAP_FIXED,
		       memory + 9 * page) == memory + 9 * page,
		"mremap");
	REQUIRE_EQ(try_reg(env, memory, int(all_access)), EFAULT, "reg_mr");
	REQUIRE_EQ(try_reg(env, memory, 0), 0, "only read from");
	munmap(file + page, size - page);
	munmap(memory, size);
}

PV_TEST_LOCAL("region.shared_memory",
	      "shared memory has no disk behind it and can be pinned")
{
	int fd = memfd_create("pavo-shared", MFD_CLOEXEC);

	REQUIRE_EQ(ftruncate(fd, off_t(size)), 0, "ftruncate");
	void *at =
		mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	REQUIRE(at != MAP_FAILED, "mmap");
	REQUIRE_EQ(try_reg(env, static_cast<uint8_t *>(at), int(all_access)), 0,
		   "reg_mr");
	munmap(at, size);
}

namespace {

/* Memory of shared pages, of which the one in the midst is a page of its own, number @i. */
uint8_t *map_alike(int fd, unsigned i)
{
	constexpr size_t pages = size / page, midst = pages / 2;
	const auto map = [&](void *at, size_t length, size_t first, int how) {
		void *got = mmap(at, length, PROT_READ | PROT_WRITE,
				 MAP_SHARED | how, fd, off_t(first * page));

		REQUIRE(got != MAP_FAILED, "mmap");
		return static_cast<uint8_t *>(got);
	};
	uint8_t *memory = map(nullptr, size, 0, 0);

	map(memory + midst * page, page, pages + i, MAP_FIXED);
	return memory;
}

constexpr char jobs_file[] = "/sys/kernel/debug/pavo/jobs";

uint64_t compared_pages()
{
	return common::number_behind(jobs_file, "compared");
}

} // namespace

PV_TEST_LOCAL("region.alike",
	      "regions with the same first and last page and length, but one "
	      "page: a registration compares its pages only with those of "
	      "regions that have the same")
{
	constexpr unsigned many = 32;

	if (access(jobs_file, F_OK))
		throw Skip(
			"the module has no jobs, which show the comparisons");
	int fd = memfd_create("pavo-alike", MFD_CLOEXEC);
	std::vector<uint8_t *> memory;
	std::vector<RawMr> regions;

	REQUIRE_EQ(ftruncate(fd, off_t(size + many * page)), 0, "ftruncate");
	for (unsigned i = 0; i < many; i++)
		memory.push_back(map_alike(fd, i));
	close(fd);
	const uint64_t before = compared_pages();

	for (uint8_t *at : memory)
		regions.push_back(must_reg_raw(env.b, at, size));
	REQUIRE_EQ(compared_pages() - before, 0u, "pages of others");
	/* Pinned already. */
	regions.push_back(must_reg_raw(env.b, memory[many / 2], size));
	REQUIRE_EQ(compared_pages() - before, size / page, "its own pages");
	regions.clear();
	for (uint8_t *at : memory)
		munmap(at, size);
}
