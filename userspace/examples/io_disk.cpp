// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* io_disk.cpp - see io_disk.hpp. */
#include "io_disk.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace examples {

namespace {

int status_of(ssize_t done, uint32_t length)
{
	if (done < 0)
		return errno;
	return size_t(done) < length ? EIO : 0;
}

} // namespace

Disk::Disk(const std::string &name)
	: name_(name), cached_(open(name.c_str(), O_RDWR | O_CLOEXEC)),
	  direct_(open(name.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC))
{
	struct stat about;

	if (cached_ < 0 || fstat(cached_, &about))
		throw std::system_error(errno, std::generic_category(), name);
	size_ = uint64_t(about.st_size);
	if (S_ISBLK(about.st_mode)) {
		int block;

		if (ioctl(cached_, BLKGETSIZE64, &size_) ||
		    ioctl(cached_, BLKSSZGET, &block))
			throw std::system_error(errno, std::generic_category(),
						name);
		block_ = uint32_t(block);
	}
}

Disk::~Disk()
{
	if (cached_ >= 0) {
		fsync(cached_);
		close(cached_);
	}
	if (direct_ >= 0)
		close(direct_);
}

Disk::Disk(Disk &&from) noexcept
	: name_(std::move(from.name_)),
	  cached_(std::exchange(from.cached_, -1)),
	  direct_(std::exchange(from.direct_, -1)), size_(from.size_),
	  block_(from.block_)
{
}

int Disk::read(std::byte *to, uint32_t length, uint64_t offset) const
{
	const uint32_t whole = whole_blocks(length);

	if (moves(offset, whole))
		return status_of(pread(direct_, to, whole, off_t(offset)),
				 whole);
	return status_of(pread(cached_, to, length, off_t(offset)), length);
}

int Disk::write(const std::byte *from, uint32_t length, uint64_t offset) const
{
	const int fd = moves(offset, length) ? direct_ : cached_;

	return status_of(pwrite(fd, from, length, off_t(offset)), length);
}

} // namespace examples
