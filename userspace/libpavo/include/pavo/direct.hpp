// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct.hpp - direct windows (sources.md#direct): addresses where an I/O device, or a process,
 * writes the payload of RDMA writes and reads that of read responses. For users of verbs. Only
 * direct_post.hpp needs the provider.
 */
#ifndef PAVO_DIRECT_HPP
#define PAVO_DIRECT_HPP

#include <pavo/language.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <infiniband/verbs.h>

#include <pavo/direct_ranges.hpp>
#include <pavo/frame.hpp>
#include <pavo/result.hpp>

#pragma GCC visibility push(default)

namespace pavo {

/** Options of a direct window. */
struct DirectOptions {
	/** Address of its first byte in work requests; 0: that of the mapping in this process. */
	uint64_t base = 0;
	uint32_t ranges = 32;
	/** Bytes of a range and of a buffer: a multiple of the page size, up to 65536; 0: a page. */
	uint32_t range_size = 0;
	/** Number of buffers of the pool. */
	uint32_t buffers = 32;
};

/** Behaviour of arm() if the pool has no buffer. */
enum class NoBuffer {
	fail, /* fails with EAGAIN */
	wait, /* waits for a buffer */
	fall_back, /* returns Armed::no_buffer: the caller uses ordinary memory */
};

/** A timeout that never expires. */
constexpr std::chrono::milliseconds for_ever{-1};

/** Options of arm(). */
struct ArmOptions {
	Direction direction = Direction::write;
	NoBuffer no_buffer = NoBuffer::fail;
	/** Reads: hand all responses over at once. */
	bool whole = false;
	/** Most time to wait for a buffer. */
	std::chrono::milliseconds timeout = for_ever;
};

/** Result of arm(). */
enum class Armed { armed, no_buffer };

/** State of a range: struct pavo_direct_register. */
struct DirectRegister {
	/** Bytes of the operation. */
	uint32_t total = 0;
	/** Writes: bytes that the bus side has written. */
	uint32_t count = 0;
	/** Reads: bytes of the response in the range, and bytes of it that were drained. */
	uint32_t response = 0;
	uint32_t drained = 0;
	/** Index of its buffer; none: the range is not armed. */
	std::optional<uint32_t> buffer;
	/** The bus side owns the range; the link side owns it. */
	bool bus_valid = false;
	bool link_valid = false;
	Direction direction = Direction::read;
	/** errno of the I/O of post_io() that failed in this operation, EIO if it was short; 0: none. */
	uint8_t error = 0;
	/** Number of times that the range was armed. */
	uint32_t uses = 0;
	/** Bytes of the operation that have crossed the range so far. */
	uint32_t done = 0;
};

/** A dma-buf of a range, for other drivers. */
class DirectBuffer {
public:
	/** Takes over @fd. */
	explicit DirectBuffer(int fd) noexcept : fd_(fd) {}
	~DirectBuffer();
	DirectBuffer(DirectBuffer &&from) noexcept;
	DirectBuffer &operator=(DirectBuffer &&from) noexcept;

	int fd() const { return fd_; }

private:
	int fd_;
};

/**
 * A direct window of a protection domain. Threads may use it concurrently, also the same range;
 * only one may destroy or move it.
 *
 *	uint32_t range = window.take().value();
 *	window.arm(range, 4096).value();
 *	... post an RDMA write of {window.address(range), 4096, window.lkey()} ...
 *	pread(disk, window.memory(range).data(), 4096, sector);     // O_DIRECT
 *	window.commit(range, 4096).value();                         // it is sent
 *	... wait for its completion ...
 *	window.give(range);
 */
class DirectWindow {
public:
	/**
	 * Makes a window, and maps it. @pd: has to live longer. Fails with EINVAL: an option is out
	 * of bounds; EOPNOTSUPP: @pd is not of an adapter of pavo, or its module has no direct
	 * windows; ENOMEM, also if the buffers are more than RLIMIT_MEMLOCK; EMFILE, ENFILE.
	 */
	static Result<DirectWindow>
	open(ibv_pd *pd, const DirectOptions &options = {}) noexcept;
	/** Closes the window in any state. Work requests that name it fail after that. */
	~DirectWindow();
	DirectWindow(DirectWindow &&from) noexcept;
	DirectWindow &operator=(DirectWindow &&from) noexcept;

	/** Address of its first byte in work requests, its bytes, and its L_Key. */
	uint64_t base() const { return shape_.base; }
	uint64_t length() const { return shape_.length(); }
	uint32_t lkey() const { return lkey_; }
	uint32_t ranges() const { return shape_.ranges; }
	uint32_t range_size() const { return shape_.range_size; }
	uint32_t buffers() const { return buffers_; }
	/** Returns base, ranges and range size, for address calculations. */
	const DirectShape &shape() const { return shape_; }
	/** Returns the address of a byte of a range in work requests. */
	uint64_t address(uint32_t range, uint32_t offset = 0) const
	{
		return shape_.address(range, offset);
	}
	/** Returns the entry of a work request for the first @length bytes of a range. */
	ibv_sge sge(uint32_t range, uint32_t length) const
	{
		return {address(range), length, lkey_};
	}
	/** Returns a range in this process. Access raises SIGBUS if the bus side does not own it. */
	std::span<std::byte> memory(uint32_t range) const
	{
		return {memory_ + size_t(range) * range_size(), range_size()};
	}
	/** Returns its file, for pwrite(), pread(), splice(), poll() and io_uring; nonblocking. */
	int fd() const { return fd_; }
	/** Returns its handle in uverbs. */
	uint32_t handle() const { return handle_; }
	ibv_context *context() const { return context_; }

	/** Takes a free range; none: all are taken. */
	std::optional<uint32_t> take() noexcept { return free_->take(); }
	/** Gives a range back after its operation. Return: false if it was not taken. */
	bool give(uint32_t range) noexcept { return free_->give(range); }
	size_t free_ranges() const noexcept { return free_->free(); }

	/**
	 * Arms a range with a buffer of the pool, for an operation of @total bytes. Fails with
	 * EINVAL: @range, @total or @options; EBUSY: the range is armed; EAGAIN: the pool has no
	 * buffer; ETIMEDOUT: it had none until the timeout; EIO: the window is closed.
	 */
	Result<Armed> arm(uint32_t range, uint32_t total,
			  const ArmOptions &options = {}) noexcept;

	/**
	 * Writes bytes to @offset of the message; the adapter copies and counts them. Fails with
	 * EBADF: the range is not armed for a write; ENOSPC: beyond the end of the message, none
	 * were written; EAGAIN: as EBUSY of commit(), but at once; EIO: the window is closed.
	 */
	Result<void> write(uint32_t range, uint32_t offset,
			   std::span<const std::byte> bytes) noexcept;
	/**
	 * Reads and drains bytes from @offset of the message on, up to the end of the response.
	 * Waits for the first. Return: their number. Fails with EBADF: the range is not armed for a
	 * read; ENODATA: they were drained already, or are beyond the end of the message; ETIMEDOUT:
	 * none arrived in time; EIO: the window is closed.
	 */
	Result<size_t>
	read(uint32_t range, uint32_t offset, std::span<std::byte> bytes,
	     std::chrono::milliseconds timeout = for_ever) noexcept;

	/**
	 * Counts @bytes that were written by memory() or a dma-buf. The last ones pass the range to
	 * the link side. Fails with EBADF: the bus side does not own the range; ENOSPC: more than
	 * are left; EBUSY: a device may still access it, or a driver has it mapped: the bus side
	 * keeps the range, and these bytes do not count; EIO: the window is closed.
	 */
	Result<void> commit(uint32_t range, uint32_t bytes) noexcept
	{
		return count(range, bytes);
	}
	/** Counts @bytes that were drained. Fails as commit(). */
	Result<void> drain(uint32_t range, uint32_t bytes) noexcept
	{
		return count(range, bytes);
	}
	/** Waits until a range has bytes to drain. Fails with ETIMEDOUT, EBADF, EIO as read(). */
	Result<void>
	wait_readable(uint32_t range,
		      std::chrono::milliseconds timeout = for_ever) noexcept;

	/** Aborts the operation of a range. Fails with EBADF: it is not armed; EBUSY: it is sent. */
	Result<void> disarm(uint32_t range) noexcept;
	/** Makes a dma-buf of an armed range. Fails with EBADF: it is not armed; EMFILE; EOPNOTSUPP. */
	Result<DirectBuffer> export_buffer(uint32_t range) noexcept;

	/** Returns the state of a range, without a system call. */
	DirectRegister registers(uint32_t range) const noexcept;

private:
	DirectWindow() = default;
	void open_object(ibv_pd *pd, const DirectOptions &options);
	void map(uint64_t registers);
	void close_all() noexcept;
	void swap(DirectWindow &other) noexcept;
	Result<void> count(uint32_t range, uint32_t bytes) noexcept;
	int try_arm(uint32_t range, uint32_t total, uint32_t flags) noexcept;

	ibv_context *context_ = nullptr;
	std::byte *memory_ = nullptr;
	void *registers_ = nullptr;
	size_t registers_size_ = 0;
	std::unique_ptr<DirectRanges> free_;
	DirectShape shape_;
	uint32_t buffers_ = 0;
	uint32_t lkey_ = 0;
	uint32_t handle_ = 0;
	int fd_ = -1;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_DIRECT_HPP
