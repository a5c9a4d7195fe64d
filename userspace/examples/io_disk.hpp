// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* io_disk.hpp - a disk of an I/O unit: a block device or a file. */
#ifndef PAVO_EXAMPLES_IO_DISK_HPP
#define PAVO_EXAMPLES_IO_DISK_HPP

#include <cstddef>
#include <cstdint>
#include <string>

namespace examples {

/** Read and written past the page cache where that can be. */
class Disk {
public:
	/** Throws std::system_error. */
	explicit Disk(const std::string &name);
	~Disk();
	Disk(Disk &&from) noexcept;

	const std::string &name() const { return name_; }
	uint64_t size() const { return size_; }
	/** The file that is read and written past the page cache; below 0: that cannot be. */
	int direct() const { return direct_; }

	/** Bytes up to the end of the last block of these. */
	uint32_t whole_blocks(uint32_t length) const
	{
		return (length + block_ - 1) / block_ * block_;
	}
	/** Whether the disk's own controller can read @length bytes of whole blocks, or write them. */
	bool moves(uint64_t offset, uint32_t length) const
	{
		return direct_ >= 0 && !(offset % block_) &&
		       !(length % block_) && offset + length <= size_;
	}

	/**
	 * Reads or writes now, past the page cache if the controller can. Return: 0 or errno. There
	 * is room for whole blocks at @to.
	 */
	int read(std::byte *to, uint32_t length, uint64_t offset) const;
	int write(const std::byte *from, uint32_t length,
		  uint64_t offset) const;

private:
	std::string name_;
	int cached_ = -1;
	int direct_ = -1;
	uint64_t size_ = 0;
	uint32_t block_ = 512;
};

} // namespace examples

#endif // PAVO_EXAMPLES_IO_DISK_HPP
