// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* disk.cpp - see disk.h. */
#include "disk.h"

#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

namespace pv {
namespace {

constexpr char file[] = "/run/pavo-disk/file";

bool works(const char *command)
{
	return system(command) == 0;
}

void remove_disk()
{
	works("umount /run/pavo-disk; rm -f /run/pavo-disk-image");
}

} // namespace

Disk::Disk(size_t size) : size_(size)
{
	works("modprobe -aq loop ext2");
	if (!works("mkdir -p /run/pavo-disk && "
		   "truncate -s 16M /run/pavo-disk-image && "
		   "mkfs.ext2 -q /run/pavo-disk-image && mount -t ext2 "
		   "-o loop /run/pavo-disk-image /run/pavo-disk"))
		throw Skip("no filesystem on a disk of its own");
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int error = posix_fallocate(fd, 0, off_t(size));
	close(fd);
	if (error) {
		remove_disk();
		REQUIRE_EQ(error, 0, "fallocate");
	}
}

Disk::~Disk()
{
	remove_disk();
}

const char *Disk::folder()
{
	return "/run/pavo-disk";
}

uint8_t *Disk::map(int protection, int flags) const
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	void *at = mmap(nullptr, size_, protection, flags, fd, 0);

	close(fd);
	REQUIRE(at != MAP_FAILED, "mmap");
	return static_cast<uint8_t *>(at);
}

} // namespace pv
