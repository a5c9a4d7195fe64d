// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* watch.cpp - watches, by the methods of the uverbs file; see watch.hpp. */
#include "watch.hpp"

#include <sys/mman.h>

#include <cerrno>

#include <rdma/pavo-abi.h>

#include "command.hpp"
#include "error.hpp"

namespace pavo {

namespace {

void close_watch(int fd, uint32_t handle)
{
	Command(PAVO_OBJECT_WATCH, PAVO_METHOD_WATCH_CLOSE)
		.handle(PAVO_ATTR_WATCH_HANDLE, handle)
		.run(fd);
}

} // namespace

Watch::Watch(int fd, uint32_t slots) : fd_(fd)
{
	Command command(PAVO_OBJECT_WATCH, PAVO_METHOD_WATCH_OPEN);
	pavo_mmap_info info{};
	int err;

	err = command.new_handle(PAVO_ATTR_WATCH_HANDLE)
		      .in(PAVO_ATTR_WATCH_SLOTS, slots)
		      .out(PAVO_ATTR_WATCH_WORDS, info)
		      .run(fd_);
	if (err)
		fail(err, "memory cannot be watched: an adapter of pavo on a "
			  "kernel with CONFIG_MMU_NOTIFIER is needed");
	handle_ = command.made();
	size_ = info.size;
	void *at = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_,
			off_t(info.offset));
	if (at == MAP_FAILED) {
		err = errno;
		close_watch(fd_, handle_);
		fail(err, "words of a watch");
	}
	words_ = static_cast<uint32_t *>(at);
}

Watch::~Watch()
{
	munmap(words_, size_);
	if (fd_ >= 0)
		close_watch(fd_, handle_);
}

int Watch::set(uint32_t slot, uintptr_t start, size_t length) noexcept
{
	pavo_watch_set_args args = {
		.start = start, .length = length, .slot = slot, .reserved = 0};

	return Command(PAVO_OBJECT_WATCH, PAVO_METHOD_WATCH_SET)
		.handle(PAVO_ATTR_WATCH_HANDLE, handle_)
		.in(PAVO_ATTR_WATCH_SET_ARGS, args)
		.run(fd_);
}

} // namespace pavo
