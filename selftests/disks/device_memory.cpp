// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* device_memory.cpp - see device_memory.h. */
#include "device_memory.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/pattern.h"
#include "../verbs/env.h"
#include "../verbs/tap.h"
#include "block.h"

namespace pv {
namespace {

const std::string driver = "/sys/bus/pci/drivers/nvme/";

/* The kernel that is built for these tests: there nothing is skipped. */
bool is_made_for_it()
{
	utsname names;

	REQUIRE(!uname(&names), "uname");
	return strstr(names.release, "-pavo-devices");
}

/* Is the disk there, and may be read? */
bool has_disk(const std::string &serial)
{
	try {
		return BlockDisk(serial).get(0, block).size() == block;
	} catch (const std::exception &) {
		return false;
	}
}

} // namespace

Controller::Controller(const std::string &serial)
	: serial_(serial),
	  address_(common::read_word("/sys/block/" + BlockDisk(serial).name() +
				     "/device/address"))
{
	if (std::filesystem::exists(file("p2pmem/allocate")))
		return;
	REQUIRE(!is_made_for_it(), "no memory of the controller");
	throw Skip(std::filesystem::exists(file("p2pmem")) ?
			   "processes map memory of devices from Linux 6.2 on" :
			   "the kernel has no PCI_P2PDMA");
}

Controller::~Controller()
{
	if (!has_driver())
		common::write_word(driver + "bind", address_);
}

std::string Controller::file(const std::string &name) const
{
	return "/sys/bus/pci/devices/" + address_ + "/" + name;
}

bool Controller::has_driver() const
{
	return std::filesystem::exists(driver + address_);
}

uint64_t Controller::available() const
{
	return common::read_word<uint64_t>(file("p2pmem/available"));
}

void Controller::unbind() const
{
	REQUIRE(common::write_word(driver + "unbind", address_), "unbind");
	REQUIRE(!has_driver(), "the driver has not left");
}

void Controller::bind(Env &env) const
{
	REQUIRE(common::write_word(driver + "bind", address_), "bind");
	REQUIRE(eventually(env, [&] { return has_disk(serial_); }),
		"the disk did not come back");
}

DeviceMemory::DeviceMemory(const Controller &controller, size_t length,
			   bool writable)
	: length_(length)
{
	const std::string path = controller.file("p2pmem/allocate");
	int fd = open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);

	REQUIRE(fd >= 0, path, ": ", strerror(errno));
	void *at = mmap(nullptr, length,
			PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd,
			0);
	int err = errno;

	close(fd);
	REQUIRE(at != MAP_FAILED, path, ": ", strerror(err));
	at_ = static_cast<uint8_t *>(at);
}

DeviceMemory::~DeviceMemory()
{
	munmap(at_, length_);
}

void DeviceMemory::give_back()
{
	void *at = mmap(at_, length_, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	REQUIRE(at == at_, "mmap: ", strerror(errno));
}

void DeviceMemory::fill(size_t offset, size_t length, uint64_t seed,
			uint64_t position) const
{
	volatile uint8_t *to = at(offset);

	for (size_t i = 0; i < length; i++)
		to[i] = pattern_byte(seed, position + i);
}

void DeviceMemory::must_hold(size_t offset, size_t length, uint64_t seed,
			     uint64_t position, const char *what) const
{
	const volatile uint8_t *from = at(offset);

	for (size_t i = 0; i < length; i++)
		REQUIRE_EQ(from[i], pattern_byte(seed, position + i), what,
			   ": byte ", offset + i, " of the device");
}

} // namespace pv
