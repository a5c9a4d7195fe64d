// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rcxt_abuse_tests.cpp - taking, returning and cancelling contexts by calls that no library
 * makes: each is refused for its own reason, and the contexts are whose they were.
 */
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "adapter.h"
#include "command.hpp"
#include "shared_window.hpp"

using namespace windows;

namespace {

using ByteSpan = std::span<std::byte>;

struct RcxtAbuse : testing::Test {
	RcxtAbuse()
	{
		must(pair.b.take_rcxts(own));
		must(pair.a.take_rcxts({&foreign, 1}));
	}

	int take(ByteSpan to, uint32_t handle)
	{
		return pavo::Command(PAVO_OBJECT_WINDOW,
				     PAVO_METHOD_WINDOW_TAKE_RCXTS)
			.handle(PAVO_ATTR_WINDOW_HANDLE, handle)
			.out_array(PAVO_ATTR_WINDOW_RCXTS_TAKEN, to)
			.run(shared_of(pair.b).fd());
	}
	int take(ByteSpan to) { return take(to, shared_of(pair.b).handle()); }

	int with(uint16_t method, std::span<const std::byte> from,
		 uint32_t handle)
	{
		return pavo::Command(PAVO_OBJECT_WINDOW, method)
			.handle(PAVO_ATTR_WINDOW_HANDLE, handle)
			.in_array(PAVO_ATTR_WINDOW_RCXTS, from)
			.run(shared_of(pair.b).fd());
	}
	int with(uint16_t method, std::span<const std::byte> from)
	{
		return with(method, from, shared_of(pair.b).handle());
	}
	int with(uint16_t method, std::vector<uint32_t> numbers)
	{
		return with(method, std::as_bytes(std::span(numbers)));
	}

	uint32_t owned() const { return pair.b.lmt().value().rcxts_owned; }

	static constexpr uint16_t give_back = PAVO_METHOD_WINDOW_RETURN_RCXTS,
				  cancel = PAVO_METHOD_WINDOW_CANCEL;
	Pair pair;
	std::array<uint32_t, 4> own;
	uint32_t foreign = 0;
};

/* None, half of one, one and a half, one too many, and far too many. */
TEST_F(RcxtAbuse, LengthsThatAreNone)
{
	std::vector<std::byte> room(65535 / 4 * 4);

	/* All that there is could be given back. */
	for (size_t at = 0; at + 4 <= room.size(); at += 4)
		memcpy(&room[at], &own[at / 4 % own.size()], 4);
	for (size_t length : {0, 1, 2, 3, 5, 6, 7, 9, 11, 4093, 4095, 4097,
			      4099, 4100, 4104, 8192, 65532}) {
		ByteSpan some = ByteSpan(room).first(length);
		std::vector<std::byte> before(room);

		EXPECT_EQ(take(some), EINVAL) << length;
		EXPECT_EQ(room, before) << length;
		EXPECT_EQ(with(give_back, some), EINVAL) << length;
		EXPECT_EQ(with(cancel, some), EINVAL) << length;
		EXPECT_EQ(owned(), own.size()) << length;
	}
	/* As many as may be. */
	std::vector<uint32_t> most(PAVO_RCXTS_AT_ONCE);
	EXPECT_EQ(take(std::as_writable_bytes(std::span(most))), 0);
	EXPECT_EQ(owned(), own.size() + most.size());
	EXPECT_EQ(with(cancel, most), 0);
	EXPECT_EQ(with(give_back, most), 0);
	EXPECT_EQ(owned(), own.size());
}

/* Where there is no memory, or not for all of them. */
TEST_F(RcxtAbuse, MemoryThatIsNone)
{
	constexpr size_t page = world::page;
	auto *at = static_cast<std::byte *>(
		mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	ASSERT_NE(static_cast<void *>(at), MAP_FAILED);
	munmap(at + page, page);
	for (std::byte *wrong :
	     {static_cast<std::byte *>(nullptr), at + page, at + page - 8,
	      reinterpret_cast<std::byte *>(~uint64_t(0) - 4095)})
		for (size_t n : {4u, 1024u}) {
			ByteSpan some(wrong, n * 4);

			EXPECT_EQ(take(some), EFAULT) << n;
			EXPECT_EQ(with(give_back, some), EFAULT) << n;
			EXPECT_EQ(with(cancel, some), EFAULT) << n;
			EXPECT_EQ(owned(), own.size()) << n;
		}
	/* Memory that may not be written to may be read. */
	memcpy(at, own.data(), sizeof(own));
	mprotect(at, page, PROT_READ);
	EXPECT_EQ(take(ByteSpan(at, sizeof(own))), EFAULT);
	EXPECT_EQ(owned(), own.size());
	EXPECT_EQ(with(give_back, ByteSpan(at, sizeof(own))), 0);
	EXPECT_EQ(owned(), 0u);
	munmap(at, page);
}

/* Those before the wrong one are dealt with, those behind it are not. */
TEST_F(RcxtAbuse, NumbersThatAreNone)
{
	for (uint32_t wrong : {foreign, own[0] ^ 1u << 31, own[0] ^ 1u << 20,
			       own[0] | 0xfffffu, ~0u})
		for (uint16_t method : {give_back, cancel})
			EXPECT_EQ(with(method, {wrong, own[3]}), EINVAL)
				<< wrong;
	EXPECT_EQ(owned(), own.size());
	EXPECT_EQ(with(cancel, {own[1], own[1], own[2], foreign}), EINVAL);
	EXPECT_EQ(owned(), own.size());
	EXPECT_EQ(with(give_back, {own[1], own[1], own[2]}), EINVAL) << "twice";
	EXPECT_EQ(owned(), own.size() - 1);
	EXPECT_EQ(with(give_back, {own[0], foreign, own[2]}), EINVAL);
	EXPECT_EQ(owned(), own.size() - 2);
	EXPECT_EQ(with(cancel, {own[0]}), EINVAL) << "it has no owner";
	EXPECT_EQ(with(give_back, {own[2], own[3]}), 0);
	EXPECT_EQ(owned(), 0u);
	EXPECT_EQ(pair.a.lmt().value().rcxts_owned, 1u);
}

/* Neither a window nor this file's. */
TEST_F(RcxtAbuse, WindowsThatAreNone)
{
	uint32_t number = own[0];
	auto bytes = std::as_writable_bytes(std::span(&number, 1));

	for (uint32_t wrong :
	     {pair.job_b.handle(), shared_of(pair.b).handle() + 1000, ~0u}) {
		EXPECT_NE(take(bytes, wrong), 0) << wrong;
		EXPECT_NE(with(give_back, bytes, wrong), 0) << wrong;
		EXPECT_NE(with(cancel, bytes, wrong), 0) << wrong;
	}
	EXPECT_EQ(number, own[0]);
	EXPECT_EQ(owned(), own.size());
	EXPECT_EQ(pair.a.lmt().value().rcxts_owned, 1u);
}

} // namespace
