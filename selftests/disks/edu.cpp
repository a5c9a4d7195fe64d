// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* edu.cpp - see edu.h. Registers are those of QEMU's docs/specs/edu. */
#include "edu.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/eventually.h"
#include "../common/files.h"
#include "../verbs/tap.h"

namespace pv {
namespace {

constexpr uint32_t source_register = 0x80, target_register = 0x88,
		   count_register = 0x90, command_register = 0x98;
constexpr uint64_t run = 1, to_bus = 2;
/* Its memory, in its own addresses. */
constexpr uint64_t memory_of_device = 0x40000;

/* The address of the device on the bus; guest.sh gave it to VFIO. */
std::string find_device()
{
	for (const auto &entry :
	     std::filesystem::directory_iterator("/sys/bus/pci/devices")) {
		const std::string path = entry.path();

		if (common::read_word(path + "/vendor") == "0x1234" &&
		    common::read_word(path + "/device") == "0x11e8")
			return entry.path().filename();
	}
	throw Skip("no device for lessons");
}

template <class Argument>
int call(int fd, unsigned long number, const Argument &argument)
{
	return ioctl(fd, number, argument);
}

} // namespace

Edu::Edu()
{
	open_group(find_device());
	map_registers();
	be_master();
}

Edu::~Edu()
{
	munmap(registers_, registers_size_);
	close(device_);
	close(group_);
	close(container_);
}

void Edu::open_group(const std::string &device)
{
	namespace fs = std::filesystem;
	const fs::path link = "/sys/bus/pci/devices/" + device + "/iommu_group";

	if (!fs::exists(link))
		throw Skip("no IOMMU");
	const std::string number = fs::read_symlink(link).filename();

	container_ = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	group_ = open(("/dev/vfio/" + number).c_str(), O_RDWR | O_CLOEXEC);
	if (container_ < 0 || group_ < 0)
		throw Skip("no VFIO for the device");
	REQUIRE(!call(group_, VFIO_GROUP_SET_CONTAINER, &container_),
		"the group: ", strerror(errno));
	REQUIRE(!call(container_, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU),
		"the IOMMU: ", strerror(errno));
	device_ = call(group_, VFIO_GROUP_GET_DEVICE_FD, device.c_str());
	REQUIRE(device_ >= 0, "the device: ", strerror(errno));
}

void Edu::map_registers()
{
	vfio_region_info info = {};

	info.argsz = sizeof(info);
	info.index = VFIO_PCI_BAR0_REGION_INDEX;
	REQUIRE(!call(device_, VFIO_DEVICE_GET_REGION_INFO, &info), "BAR 0");
	registers_size_ = info.size;
	void *at = mmap(nullptr, registers_size_, PROT_READ | PROT_WRITE,
			MAP_SHARED, device_, off_t(info.offset));

	REQUIRE(at != MAP_FAILED, "registers: ", strerror(errno));
	registers_ = static_cast<uint8_t *>(at);
}

void Edu::be_master() const
{
	vfio_region_info info = {};
	uint16_t command;

	info.argsz = sizeof(info);
	info.index = VFIO_PCI_CONFIG_REGION_INDEX;
	REQUIRE(!call(device_, VFIO_DEVICE_GET_REGION_INFO, &info), "config");
	const off_t at = off_t(info.offset) + PCI_COMMAND;

	REQUIRE_EQ(pread(device_, &command, 2, at), 2, "PCI command");
	command |= PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY;
	REQUIRE_EQ(pwrite(device_, &command, 2, at), 2, "PCI command");
}

int Edu::try_map(void *memory, size_t length, uint64_t at, bool may_write) const
{
	vfio_iommu_type1_dma_map map = {};

	map.argsz = sizeof(map);
	map.flags = VFIO_DMA_MAP_FLAG_READ;
	if (may_write)
		map.flags |= VFIO_DMA_MAP_FLAG_WRITE;
	map.vaddr = reinterpret_cast<uintptr_t>(memory);
	map.iova = at;
	map.size = length;
	return call(container_, VFIO_IOMMU_MAP_DMA, &map) ? errno : 0;
}

void Edu::map(void *memory, size_t length, uint64_t at, bool may_write) const
{
	int err = try_map(memory, length, at, may_write);

	REQUIRE(!err, "memory for the device: ", strerror(err));
}

void Edu::unmap(uint64_t at, size_t length) const
{
	vfio_iommu_type1_dma_unmap unmap = {};

	unmap.argsz = sizeof(unmap);
	unmap.iova = at;
	unmap.size = length;
	REQUIRE(!call(container_, VFIO_IOMMU_UNMAP_DMA, &unmap), "unmap");
	REQUIRE_EQ(unmap.size, length, "unmapped");
}

volatile uint64_t &Edu::word(uint32_t offset) const
{
	return *reinterpret_cast<volatile uint64_t *>(registers_ + offset);
}

void Edu::transfer(uint64_t from, uint64_t to, uint32_t length,
		   uint64_t command) const
{
	/* Beyond its memory QEMU would end the machine. */
	REQUIRE(length <= room, "room of the device");
	word(source_register) = from;
	word(target_register) = to;
	word(count_register) = length;
	word(command_register) = command | run;
	REQUIRE(common::eventually(
			[&] { return !(word(command_register) & run); }),
		"the device");
}

void Edu::read(uint64_t at, uint32_t length) const
{
	transfer(at, memory_of_device, length, 0);
}

void Edu::write(uint64_t at, uint32_t length) const
{
	transfer(memory_of_device, at, length, to_bus);
}

} // namespace pv
