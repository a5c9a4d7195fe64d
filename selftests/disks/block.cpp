// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* block.cpp - see block.h. */
#include "block.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/pattern.h"
#include "../verbs/tap.h"

namespace pv {
namespace {

/* The name of the disk with that serial number, or none. */
std::string find_disk(const std::string &serial)
{
	for (const auto &entry :
	     std::filesystem::directory_iterator("/sys/block")) {
		for (const char *file : {"/serial", "/device/serial"}) {
			std::ifstream in(entry.path().string() + file);
			std::string word;

			if (in >> word && word == serial)
				return entry.path().filename();
		}
	}
	return "";
}

/* Memory that every controller takes. */
std::unique_ptr<uint8_t, void (*)(void *)> page_memory(size_t length)
{
	void *at = aligned_alloc(4096, (length + 4095) / 4096 * 4096);

	REQUIRE(at, "memory");
	return {static_cast<uint8_t *>(at), free};
}

int error_of(ssize_t done, size_t length)
{
	if (done < 0)
		return errno;
	return size_t(done) == length ? 0 : EIO;
}

} // namespace

BlockDisk::BlockDisk(const std::string &serial) : name_(find_disk(serial))
{
	if (name_.empty())
		throw Skip("no disk " + serial);
	fd_ = open(("/dev/" + name_).c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
	REQUIRE(fd_ >= 0, name_, ": ", strerror(errno));
}

BlockDisk::~BlockDisk()
{
	close(fd_);
}

uint32_t BlockDisk::step() const
{
	return common::read_word<uint32_t>("/sys/block/" + name_ +
					   "/queue/dma_alignment") +
	       1;
}

void BlockDisk::put(uint64_t at, const std::vector<uint8_t> &bytes) const
{
	auto memory = page_memory(bytes.size());

	memcpy(memory.get(), bytes.data(), bytes.size());
	write(memory.get(), bytes.size(), at);
}

void BlockDisk::fill(uint64_t at, size_t length, uint64_t seed) const
{
	std::vector<uint8_t> bytes(length);

	pattern_fill(bytes.data(), length, seed, at);
	put(at, bytes);
}

std::vector<uint8_t> BlockDisk::get(uint64_t at, size_t length) const
{
	auto memory = page_memory(length);

	read(memory.get(), length, at);
	return {memory.get(), memory.get() + length};
}

void BlockDisk::must_hold(uint64_t at, size_t length, uint64_t seed,
			  uint64_t position, const char *what) const
{
	const std::vector<uint8_t> bytes = get(at, length);
	int64_t bad = pattern_verify(bytes.data(), length, seed, position);

	REQUIRE(bad < 0, what, ": byte ", at + uint64_t(bad), " of ", name_);
}

int BlockDisk::try_read(void *to, size_t length, uint64_t at) const
{
	return error_of(pread(fd_, to, length, off_t(at)), length);
}

int BlockDisk::try_write(const void *from, size_t length, uint64_t at) const
{
	return error_of(pwrite(fd_, from, length, off_t(at)), length);
}

void BlockDisk::read(void *to, size_t length, uint64_t at) const
{
	int err = try_read(to, length, at);

	REQUIRE(!err, name_, " reads ", length, " bytes: ", strerror(err));
}

void BlockDisk::write(const void *from, size_t length, uint64_t at) const
{
	int err = try_write(from, length, at);

	REQUIRE(!err, name_, " writes ", length, " bytes: ", strerror(err));
}

Transfer::Transfer()
{
	REQUIRE(!syscall(SYS_io_setup, 1, &context_), "io_setup");
}

Transfer::~Transfer()
{
	syscall(SYS_io_destroy, context_);
}

void Transfer::begin(uint16_t what, int fd, std::vector<iovec> memory,
		     uint64_t at)
{
	iocb control = {};
	iocb *list[] = {&control};

	REQUIRE(!open_, "one transfer at a time");
	memory_ = std::move(memory);
	wanted_ = 0;
	for (const iovec &part : memory_)
		wanted_ += int64_t(part.iov_len);
	control.aio_lio_opcode = what;
	control.aio_fildes = uint32_t(fd);
	control.aio_buf = reinterpret_cast<uintptr_t>(memory_.data());
	control.aio_nbytes = memory_.size();
	control.aio_offset = int64_t(at);
	REQUIRE_EQ(syscall(SYS_io_submit, context_, 1, list), 1,
		   strerror(errno));
	open_ = true;
}

void Transfer::begin_read(int fd, std::vector<iovec> to, uint64_t at)
{
	begin(IOCB_CMD_PREADV, fd, std::move(to), at);
}

void Transfer::begin_write(int fd, std::vector<iovec> from, uint64_t at)
{
	begin(IOCB_CMD_PWRITEV, fd, std::move(from), at);
}

void Transfer::look(bool wait)
{
	timespec none = {};
	io_event event;

	if (!open_)
		return;
	long got = syscall(SYS_io_getevents, context_, wait ? 1 : 0, 1, &event,
			   wait ? nullptr : &none);

	REQUIRE(got >= 0, "io_getevents: ", strerror(errno));
	if (!got)
		return;
	open_ = false;
	result_ = event.res;
}

bool Transfer::is_over()
{
	look(false);
	return !open_;
}

void Transfer::wait()
{
	look(true);
	REQUIRE_EQ(result_, wanted_, "the disk");
}

} // namespace pv
