/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * edu.h - QEMU's device for lessons, behind an IOMMU and driven by this process through VFIO: a bus
 * master that writes to each address that it is told, and reads from it.
 */
#ifndef PAVO_DISKS_EDU_H
#define PAVO_DISKS_EDU_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace pv {

class Edu {
public:
	/* Throws Skip where the guest has no such device behind an IOMMU. */
	Edu();
	~Edu();
	Edu(const Edu &) = delete;

	/* Bytes that it has room for; a transfer is no longer. */
	static constexpr uint32_t room = 2048;

	/* Has memory of this process at an address of its bus: 0 or errno. */
	int try_map(void *memory, size_t length, uint64_t at,
		    bool may_write = true) const;
	void map(void *memory, size_t length, uint64_t at,
		 bool may_write = true) const;
	void unmap(uint64_t at, size_t length) const;

	/* The device reads from the bus, or writes what it has read. Waits until it is done. */
	void read(uint64_t at, uint32_t length) const;
	void write(uint64_t at, uint32_t length) const;

private:
	void open_group(const std::string &device);
	void map_registers();
	void be_master() const;
	void transfer(uint64_t from, uint64_t to, uint32_t length,
		      uint64_t command) const;
	volatile uint64_t &word(uint32_t offset) const;

	int container_ = -1;
	int group_ = -1;
	int device_ = -1;
	uint8_t *registers_ = nullptr;
	size_t registers_size_ = 0;
};

} // namespace pv

#endif /* PAVO_DISKS_EDU_H */
