// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct.hpp - direct windows (sources.md#direct): addresses where an I/O device, or a process,
 * leaves the payload of RDMA writes and finds that of read responses. For users of verbs; needs
 * no provider but to post by direct_post.hpp.
 */
#ifndef PAVO_DIRECT_HPP
#define PAVO_DIRECT_HPP

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

namespace pavo {

/** A window that is to be made. */
struct DirectOptions {
	/** As work requests name its first byte; 0: its address in this process. */
	uint64_t base = 0;
	uint32_t ranges = 32;
	/** Bytes of a range and of a buffer: a multiple of 4096, up to 65536. */
	uint32_t range_size = 4096;
	/** Of the pool. */
	uint32_t buffers = 32;
};

/** Of a call where the pool has no buffer. */
enum class NoBuffer {
	fail, /* fails with EAGAIN */
	wait, /* waits for one */
	fall_back, /* returns Armed::no_buffer: the caller takes ordinary memory */
};

/** Without end, as a time to wait. */
constexpr std::chrono::milliseconds for_ever{-1};

/** How a range is armed. */
struct ArmOptions {
	Direction direction = Direction::write;
	NoBuffer no_buffer = NoBuffer::fail;
	/** Of reads: all responses are handed over at once. */
	bool whole = false;
	/** How long to wait for a buffer. */
	std::chrono::milliseconds timeout = for_ever;
};

/** Its outcome. */
enum class Armed { armed, no_buffer };

/** A range at a moment: struct pavo_direct_register. */
struct DirectRegister {
	/** Bytes of the operation. */
	uint32_t total = 0;
	/** Write: bytes that are in. */
	uint32_t count = 0;
	/** Read: bytes of the response that lies there, and those of it that were taken. */
	uint32_t response = 0;
	uint32_t drained = 0;
	/** None: it is not armed. */
	std::optional<uint32_t> buffer;
	/** The bus side has its turn; the link side has. */
	bool bus_valid = false;
	bool link_valid = false;
	Direction direction = Direction::read;
	/** How often it was armed. */
	uint32_t uses = 0;
	/** Bytes of the operation that crossed it so far. */
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
 * A direct window of a protection domain. Several threads may use it, each a range of its own or
 * the same; the calls that end it are for one.
 *
 *	uint32_t range = window.take().value();
 *	window.arm(range, 4096).value();
 *	... an RDMA write of {window.address(range), 4096, window.lkey()} is posted ...
 *	pread(disk, window.memory(range).data(), 4096, sector);     // O_DIRECT
 *	window.commit(range, 4096).value();                         // and it leaves
 *	... its completion comes ...
 *	window.give(range);
 */
class DirectWindow {
public:
	/**
	 * @pd: has to live longer
	 * Fails with EINVAL: a number is out of bounds; EOPNOTSUPP: not an adapter of pavo, or
	 * its module has no direct windows; ENOMEM; EMFILE, ENFILE.
	 */
	static Result<DirectWindow>
	open(ibv_pd *pd, const DirectOptions &options = {}) noexcept;
	/** In any state: work requests that name it fail after that. */
	~DirectWindow();
	DirectWindow(DirectWindow &&from) noexcept;
	DirectWindow &operator=(DirectWindow &&from) noexcept;

	/** Its first byte as work requests name it, its bytes, and its key. */
	uint64_t base() const { return shape_.base; }
	uint64_t length() const { return shape_.length(); }
	uint32_t lkey() const { return lkey_; }
	uint32_t ranges() const { return shape_.ranges; }
	uint32_t range_size() const { return shape_.range_size; }
	uint32_t buffers() const { return buffers_; }
	/** The same, for translation. */
	const DirectShape &shape() const { return shape_; }
	/** A byte of a range as work requests name it. */
	uint64_t address(uint32_t range, uint32_t offset = 0) const
	{
		return shape_.address(range, offset);
	}
	/** All of it for a work request that moves @length bytes. */
	ibv_sge sge(uint32_t range, uint32_t length) const
	{
		return {address(range), length, lkey_};
	}
	/** A range in this process. SIGBUS where the bus side has no turn. */
	std::span<std::byte> memory(uint32_t range) const
	{
		return {memory_ + size_t(range) * range_size(), range_size()};
	}
	/** Its file: pwrite() and pread() there, splice(), io_uring. It does not block. */
	int fd() const { return fd_; }
	/** As the module knows it. */
	uint32_t handle() const { return handle_; }
	ibv_context *context() const { return context_; }

	/** A range that no other caller of take() has; none: all are taken. */
	std::optional<uint32_t> take() noexcept { return free_->take(); }
	/** After its operation. Return: it was taken. */
	bool give(uint32_t range) noexcept { return free_->give(range); }
	size_t free_ranges() const noexcept { return free_->free(); }

	/**
	 * Gives the range a buffer, for an operation of @total bytes. Fails with EINVAL; EBUSY:
	 * it is armed; EAGAIN: the pool has no buffer; ETIMEDOUT: it had none for all the
	 * time; EIO: the window is closed.
	 */
	Result<Armed> arm(uint32_t range, uint32_t total,
			  const ArmOptions &options = {}) noexcept;

	/**
	 * Puts bytes in at @offset of the message; the adapter copies and counts them. Fails
	 * with EBADF: it is not armed for writing; ENOSPC: more than its bytes, none are in.
	 */
	Result<void> write(uint32_t range, uint32_t offset,
			   std::span<const std::byte> bytes) noexcept;
	/**
	 * Takes bytes out that are at @offset of the message, as many as there are, which it
	 * returns. Fails with EBADF: it is not armed for reading; ENODATA: these were taken
	 * already, or the message ends before; ETIMEDOUT: none came in time.
	 */
	Result<size_t>
	read(uint32_t range, uint32_t offset, std::span<std::byte> bytes,
	     std::chrono::milliseconds timeout = for_ever) noexcept;

	/**
	 * @bytes were put in by memory() or a dma-buf; the last one closes the range. Fails
	 * with EBADF: it is not its turn; ENOSPC: more than its bytes; EBUSY: a device may
	 * still be at work in it, or a driver has it mapped.
	 */
	Result<void> commit(uint32_t range, uint32_t bytes) noexcept
	{
		return count(range, bytes);
	}
	/** The same of bytes that were taken out. */
	Result<void> drain(uint32_t range, uint32_t bytes) noexcept
	{
		return count(range, bytes);
	}
	/** Waits until bytes can be taken out of it. ETIMEDOUT: none came; EIO; EBADF. */
	Result<void>
	wait_readable(uint32_t range,
		      std::chrono::milliseconds timeout = for_ever) noexcept;

	/** Gives up an operation. Fails with EBADF: it has none; EBUSY: it is being sent. */
	Result<void> disarm(uint32_t range) noexcept;
	/** A dma-buf of an armed range. */
	Result<DirectBuffer> export_buffer(uint32_t range) noexcept;

	/** How the range is now, without a system call. */
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

#endif // PAVO_DIRECT_HPP
