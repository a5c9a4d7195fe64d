/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* large_page.h - memory that a table of 16 MiB pages can have an entry of. */
#ifndef PAVO_TRANSLATE_LARGE_PAGE_H
#define PAVO_TRANSLATE_LARGE_PAGE_H

#include <cstddef>
#include <optional>
#include <span>

namespace world {

/* Whether this kernel can have huge pages at all: User-Mode Linux cannot. */
bool has_huge_pages();

/* The kernel has @wanted huge pages more than before while this lives, or as many as it can. */
class HugePages {
public:
	explicit HugePages(size_t wanted);
	~HugePages();
	HugePages(const HugePages &) = delete;

	/* Pages that no process has yet. */
	static size_t free();

private:
	size_t before_;
};

/*
 * 16 MiB whose real memory is in one piece, at a multiple of 16 MiB: eight huge pages that
 * happen to lie side by side. Those that a kernel has from its boot on (hugepages=64) do.
 */
class LargePage {
public:
	static constexpr size_t bytes = 16 << 20;

	/* Throws std::runtime_error: there is no such memory. */
	LargePage();
	~LargePage();
	LargePage(const LargePage &) = delete;

	std::span<std::byte> all() const { return {at_, bytes}; }
	std::span<std::byte> part(size_t from, size_t length) const
	{
		return all().subspan(from, length);
	}

private:
	bool find();

	std::optional<HugePages> more_;
	std::byte *at_ = nullptr;
};

} // namespace world

#endif // PAVO_TRANSLATE_LARGE_PAGE_H
