/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * block.h - disks of the guest, each behind a controller of its own, which reads and writes memory
 * itself: no transfer goes by the page cache. run.sh gives them their serial numbers.
 */
#ifndef PAVO_DISKS_BLOCK_H
#define PAVO_DISKS_BLOCK_H

#include <cstdint>
#include <string>
#include <vector>

#include <linux/aio_abi.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace pv {

constexpr uint32_t block = 512; /* bytes, the least that a disk moves */

/* Their serial numbers. */
constexpr const char *nvme_a = "pavo-nvme-a", *nvme_b = "pavo-nvme-b",
		     *virtio = "pavo-virtio", *late = "pavo-late",
		     *with_memory = "pavo-cmb";

class BlockDisk {
public:
	/* Throws Skip where the guest has no such disk. */
	explicit BlockDisk(const std::string &serial);
	~BlockDisk();
	BlockDisk(const BlockDisk &) = delete;

	/* Of /dev. */
	const std::string &name() const { return name_; }
	int fd() const { return fd_; }
	/* Addresses of memory that its controller takes are multiples of it. */
	uint32_t step() const;

	/* A pattern from that place of the disk on, of its place there. */
	void fill(uint64_t at, size_t length, uint64_t seed) const;
	/* These bytes at that place of the disk. */
	void put(uint64_t at, const std::vector<uint8_t> &bytes) const;
	std::vector<uint8_t> get(uint64_t at, size_t length) const;
	/* The bytes there are those of the pattern from @position on. */
	void must_hold(uint64_t at, size_t length, uint64_t seed,
		       uint64_t position, const char *what) const;

	/* A transfer of all these bytes by the controller: 0 or errno. */
	int try_read(void *to, size_t length, uint64_t at) const;
	int try_write(const void *from, size_t length, uint64_t at) const;
	void read(void *to, size_t length, uint64_t at) const;
	void write(const void *from, size_t length, uint64_t at) const;

private:
	std::string name_;
	int fd_;
};

/* One transfer that is begun, and waited for later. At its end it waits for the disk. */
class Transfer {
public:
	Transfer();
	~Transfer();
	Transfer(const Transfer &) = delete;

	void begin_read(int fd, std::vector<iovec> to, uint64_t at);
	void begin_write(int fd, std::vector<iovec> from, uint64_t at);
	/* Is the disk done with it, at this moment? */
	bool is_over();
	/* Waits until it is. The disk has moved all of it. */
	void wait();

private:
	void begin(uint16_t what, int fd, std::vector<iovec> memory,
		   uint64_t at);
	/* Takes the result, if there is one. */
	void look(bool wait);

	aio_context_t context_ = 0;
	std::vector<iovec> memory_;
	bool open_ = false;
	int64_t result_ = 0;
	int64_t wanted_ = 0;
};

} // namespace pv

#endif /* PAVO_DISKS_BLOCK_H */
