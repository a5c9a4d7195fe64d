// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * job.hpp - jobs, and mapping buffers for them (sources.md#windows-tce).
 */
#ifndef PAVO_JOB_HPP
#define PAVO_JOB_HPP

#include <pavo/language.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <pavo/device.hpp>

#pragma GCC visibility push(default)

namespace pavo {

/**
 * Protocol Virtual Offset: names a byte of a mapped buffer on all machines of the job. Adding a
 * number of bytes gives the PVO of a later byte.
 */
struct Pvo {
	uint64_t value = 0;

	friend Pvo operator+(Pvo pvo, uint64_t bytes)
	{
		return {pvo.value + bytes};
	}
	friend bool operator==(Pvo, Pvo) = default;
};

/** State of a job on this machine. */
struct JobInfo {
	uint32_t id = 0;
	/** Number of its job slot. */
	uint32_t slot = 0;
	/** Number of memberships. */
	uint32_t members = 0;
	/** Most bytes that may be mapped at a time, and bytes that are pinned. */
	uint64_t limit = 0;
	uint64_t pinned = 0;
	/** Number of pinned buffers. */
	uint64_t buffers = 0;
	/** Number of mappings of them, and of those that found their buffer mapped already. */
	uint64_t mappings = 0;
	uint64_t shared = 0;
};

/** Result of a check of a PVO, in the order of checks. */
enum class PvoResult : uint8_t {
	ok = 0,
	table = 1, /* there is no such table, or no job owns it */
	job = 2, /* another job owns the table */
	range = 3, /* beyond the end of the table */
	key = 4, /* the page does not, or no longer, belong to that buffer */
};

/** Membership in a job. Windows of a job can access the buffers that its processes map. */
class Job {
public:
	/**
	 * Makes a job on this machine, which takes a job slot.
	 * @id: JOBID, the same on all machines; not 0
	 * @key: processes that join have to give the same key
	 * @limit: most bytes that may be mapped at a time; 0: as many as its tables hold
	 *
	 * Fails with EINVAL: @id; EEXIST: this machine has that job; ENOSPC: no job slot is free;
	 * EDQUOT: this user has as many jobs as a user may have; EOPNOTSUPP: the module was built
	 * without jobs and windows.
	 */
	static Result<Job> reserve(const Device &device, uint32_t id,
				   uint64_t key, uint64_t limit = 0) noexcept;
	/**
	 * Joins a job of this machine. Fails with ENOENT: this machine does not have it; EACCES:
	 * @key is wrong, or the job belongs to another user; EOPNOTSUPP: as reserve().
	 */
	static Result<Job> join(const Device &device, uint32_t id,
				uint64_t key) noexcept;
	/**
	 * Joins the job, or reserves it without a limit where this machine does not have it. Fails
	 * as reserve() and join().
	 */
	static Result<Job> open(const Device &device, uint32_t id,
				uint64_t key) noexcept;
	/** Leaves the job. Mappings stay until they are destroyed. */
	~Job();
	Job(Job &&from) noexcept;
	Job &operator=(Job &&from) noexcept;

	/** Queries the state of the job on this machine. Fails with EIO: the adapter is gone. */
	Result<JobInfo> info() const noexcept;
	/**
	 * Checks whether a window of this job could access @length bytes from @pvo on. Fails with
	 * EIO: the adapter is gone.
	 */
	Result<PvoResult> check(Pvo pvo, uint64_t length) const noexcept;

	int fd() const { return file_->number(); }
	const std::shared_ptr<const File> &file() const { return file_; }
	uint32_t handle() const { return handle_; }

private:
	Job(std::shared_ptr<const File> file, uint32_t handle);

	std::shared_ptr<const File> file_;
	uint32_t handle_;
};

/** A buffer of this process that is pinned and mapped for a job. */
class Mapping {
public:
	/**
	 * Maps a buffer, of any alignment. If its pages are mapped for the job already, through any
	 * adapter and by any process, that mapping is shared.
	 *
	 * Fails with EINVAL: @buffer is empty; ENOMEM: all mappings of this process would be more
	 * than RLIMIT_MEMLOCK; EPERM: the process may lock no memory; EDQUOT: more than the job's
	 * limit; ENOSPC: the job's tables are full; EFAULT: this process may not write to all of
	 * the buffer; EAGAIN: the rdma cgroup is full.
	 */
	static Result<Mapping> open(const Job &job,
				    std::span<std::byte> buffer) noexcept;
	~Mapping();
	Mapping(Mapping &&from) noexcept;
	Mapping &operator=(Mapping &&from) noexcept;

	/** Returns the PVO of the buffer's first byte. */
	Pvo pvo() const { return pvo_; }
	/** Returns the bytes of a page of its table, the unit of protection. */
	uint32_t page_size() const { return page_size_; }
	/** True if the buffer was mapped for the job already. */
	bool shared() const { return shared_; }

private:
	/** An object without a mapping, for open(). */
	explicit Mapping(const Job &job) : file_(job.file()) {}

	std::shared_ptr<const File> file_;
	uint32_t handle_ = ~0u;
	Pvo pvo_;
	uint32_t page_size_ = 0;
	bool shared_ = false;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_JOB_HPP
