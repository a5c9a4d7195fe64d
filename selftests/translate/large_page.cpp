// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* large_page.cpp - huge pages put together to one of 16 MiB; see large_page.h. */
#include "large_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "../common/errors.h"
#include "../common/files.h"

namespace world {

namespace {

constexpr size_t huge = 2 << 20, small = 4096;
constexpr size_t together = LargePage::bytes / huge;
/* Of so many some are likely to be side by side. */
constexpr size_t tried = 5 * together;
constexpr const char *count_file = "/proc/sys/vm/nr_hugepages";
constexpr const char *free_file =
	"/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";

std::byte *map(void *at, size_t bytes, int protection, int flags, int fd,
	       off_t from)
{
	void *got = mmap(at, bytes, protection, flags, fd, from);

	if (got == MAP_FAILED)
		common::throw_errno(errno, "mmap");
	return static_cast<std::byte *>(got);
}

/* Huge pages as a file, which can be mapped in any order. */
class HugeFile {
public:
	explicit HugeFile(size_t pages)
		: fd_(memfd_create("large", MFD_HUGETLB | MFD_CLOEXEC)),
		  pages_(pages)
	{
		if (fd_ < 0 || ftruncate(fd_, off_t(pages * huge)))
			throw std::runtime_error("no huge pages");
	}

	~HugeFile() { close(fd_); }
	HugeFile(const HugeFile &) = delete;

	/* Numbers of real small pages, with the page of the file that is there. */
	std::vector<std::pair<uint64_t, size_t>> places() const
	{
		std::byte *at = map(nullptr, pages_ * huge,
				    PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_POPULATE, fd_, 0);
		int table = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
		std::vector<std::pair<uint64_t, size_t>> found;

		for (size_t i = 0; i < pages_; i++) {
			auto where = reinterpret_cast<uintptr_t>(at) + i * huge;
			uint64_t entry = 0;

			/* Whole entries only: no stream, which reads more. */
			if (pread(table, &entry, sizeof(entry),
				  off_t(where / small * sizeof(entry))) !=
			    sizeof(entry))
				common::throw_errno(errno, "pagemap");
			found.emplace_back(entry & ((1ull << 55) - 1), i);
		}
		close(table);
		munmap(at, pages_ * huge);
		std::ranges::sort(found);
		return found;
	}

	void map_page(size_t page, std::byte *at) const
	{
		map(at, huge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    fd_, off_t(page * huge));
	}

private:
	int fd_;
	size_t pages_;
};

/* Are the pages from @first on side by side, and do they begin where a large one may? */
bool is_large(const std::vector<std::pair<uint64_t, size_t>> &places,
	      size_t first)
{
	uint64_t begin = places[first].first;

	for (size_t i = 0; i < together; i++)
		if (places[first + i].first != begin + i * huge / small)
			return false;
	return begin && begin % (LargePage::bytes / small) == 0;
}

/* An address range that begins at a multiple of its size. */
std::byte *reserve()
{
	constexpr size_t bytes = LargePage::bytes;
	std::byte *at = map(nullptr, 2 * bytes, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before = -reinterpret_cast<uintptr_t>(at) % bytes;

	if (before)
		munmap(at, before);
	munmap(at + before + bytes, bytes - before);
	return at + before;
}

} // namespace

bool has_huge_pages()
{
	return !access(count_file, F_OK);
}

HugePages::HugePages(size_t wanted)
	: before_(common::read_word<size_t>(count_file))
{
	common::write_word(count_file, before_ + wanted);
}

HugePages::~HugePages()
{
	common::write_word(count_file, before_);
}

size_t HugePages::free()
{
	return common::read_word<size_t>(free_file);
}

/*
 * First with the pages that there are: when the kernel takes additional ones back, it may take those
 * that lie side by side.
 */
LargePage::LargePage()
{
	if (find())
		return;
	more_.emplace(tried);
	if (!find())
		throw std::runtime_error("no eight huge pages side by side");
}

/* Return: are there such pages? They are mapped then. */
bool LargePage::find()
{
	size_t pages = HugePages::free();

	if (pages < together)
		return false;
	HugeFile file(pages);
	auto places = file.places();

	for (size_t first = 0; first + together <= pages; first++) {
		if (!is_large(places, first))
			continue;
		at_ = reserve();
		for (size_t i = 0; i < together; i++)
			file.map_page(places[first + i].second, at_ + i * huge);
		memset(at_, 0x5a, bytes);
		return true;
	}
	return false;
}

LargePage::~LargePage()
{
	munmap(at_, bytes);
}

} // namespace world
