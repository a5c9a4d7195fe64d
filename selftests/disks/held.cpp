// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* held.cpp - see held.h. */
#include "held.h"

#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "../verbs/tap.h"

namespace pv {
namespace {

/* The guest has no udev that would answer, or make files of /dev. */
bool dmsetup(const std::string &arguments)
{
	return system(("DM_DISABLE_UDEV=1 dmsetup " + arguments).c_str()) == 0;
}

} // namespace

HeldDisk::HeldDisk(const BlockDisk &disk, uint64_t bytes)
{
	if (!dmsetup("create pavo-held --table '0 " +
		     std::to_string(bytes / block) + " linear /dev/" +
		     disk.name() + " 0'"))
		throw Skip("no device mapper");
	fd_ = open("/dev/mapper/pavo-held", O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd_ < 0)
		dmsetup("remove pavo-held");
	REQUIRE(fd_ >= 0, "/dev/mapper/pavo-held");
}

HeldDisk::~HeldDisk()
{
	close(fd_);
	dmsetup("remove pavo-held");
}

void HeldDisk::suspend() const
{
	REQUIRE(dmsetup("suspend pavo-held"), "suspend");
}

void HeldDisk::resume() const
{
	if (!dmsetup("resume pavo-held"))
		note("a disk was not resumed");
}

} // namespace pv
