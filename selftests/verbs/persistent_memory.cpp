// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* persistent_memory.cpp - see persistent_memory.h. */
#include "persistent_memory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "paged.h"
#include "tap.h"

namespace pv {

PersistentFiles::PersistentFiles()
{
	if (system("modprobe -aq nd_e820 nd_pmem ext2; "
		   "mkdir -p /run/pavo-dax && test -b /dev/pmem0 && "
		   "mkfs.ext2 -q -b 4096 /dev/pmem0 && "
		   "mount -t ext4 -o dax /dev/pmem0 /run/pavo-dax"))
		throw Skip("no file system on persistent memory");
}

PersistentFiles::~PersistentFiles()
{
	(void)!system("umount /run/pavo-dax");
}

int PersistentFiles::file()
{
	int fd = open("/run/pavo-dax/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0 && !posix_fallocate(fd, 0, paged_size),
		"file: ", strerror(errno));
	return fd;
}

/* As `ndctl create-namespace --mode devdax` does. */
PersistentDevice::PersistentDevice()
{
	if (system("exec 2>/dev/null; set -e; "
		   "modprobe -aq nd_e820 nd_pmem dax_pmem device_dax || :; "
		   "echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind; "
		   "cd /sys/bus/nd/devices/dax0.0; echo 2097152 >align; "
		   "echo ram >mode; cat /proc/sys/kernel/random/uuid >uuid; "
		   "echo namespace0.0 >namespace; "
		   "echo dax0.0 >/sys/bus/nd/drivers/dax_pmem/bind"))
		throw Skip("no device of persistent memory");
	int fd = open("/dev/dax0.0", O_RDWR | O_CLOEXEC);

	REQUIRE(fd >= 0, "/dev/dax0.0: ", strerror(errno));
	void *at =
		mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	REQUIRE(at != MAP_FAILED, "mmap: ", strerror(errno));
	close(fd);
	data = static_cast<uint8_t *>(at);
}

/* A block device again, without the mark of the other kind. */
PersistentDevice::~PersistentDevice()
{
	munmap(data, size);
	(void)!system("cd /sys/bus/nd/devices/dax0.0; "
		      "echo dax0.0 >/sys/bus/nd/drivers/dax_pmem/unbind; "
		      "echo >namespace; cd ../namespace0.0; "
		      "for raw in 1 0; do echo $raw >force_raw; "
		      "echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/bind; "
		      "[ $raw = 0 ] || { dd if=/dev/zero of=/dev/pmem0 bs=8k "
		      "count=1 oflag=direct status=none; "
		      "echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind; "
		      "}; done");
}

} // namespace pv
