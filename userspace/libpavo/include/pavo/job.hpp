// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * job.hpp - jobs and the buffers that are mapped for them
 * (sources.md#windows-tce).
 */
#ifndef PAVO_JOB_HPP
#define PAVO_JOB_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <pavo/device.hpp>

namespace pavo {

/**
 * Protocol Virtual Offset: names a byte of a mapped buffer to every machine of the
 * job. Bytes may be added.
 */
struct Pvo {
	uint64_t value = 0;

	friend Pvo operator+(Pvo pvo, uint64_t bytes)
	{
		return {pvo.value + bytes};
	}
	friend bool operator==(Pvo, Pvo) = default;
};

/** State of a job on this machine at a moment. */
struct JobInfo {
	uint32_t id = 0;
	/** Number of its job slot. */
	uint32_t slot = 0;
	/** Objects that joined it, and did not leave. */
	uint32_t members = 0;
	/** Bytes that may be mapped at a time, and those that are pinned. */
	uint64_t limit = 0;
	uint64_t pinned = 0;
	/** Pinned and mapped, each once. */
	uint64_t buffers = 0;
	/** Uses of them, and how often one was found mapped already. */
	uint64_t mappings = 0;
	uint64_t shared = 0;
};

/** Verdict on a PVO that a window of the job uses, in the order of checks. */
enum class PvoResult : uint8_t {
	ok = 0,
	table = 1, /* no such table, or it belongs to no job */
	job = 2, /* the table is another job's */
	range = 3, /* behind the end of the table */
	key = 4, /* that page is not, or no more, of that region */
};

/** Membership in a job; processes of one job see the same buffers. */
class Job {
public:
	/**
	 * Takes a job slot of this machine.
	 * @id: JOBID, the same on all machines; not 0
	 * @key: to be shown by those who join
	 * @limit: bytes that may be mapped at a time; 0: no limit but the tables'
	 *
	 * Fails with EEXIST: there is that job; ENOSPC: all job slots are taken; EDQUOT:
	 * this user has as many as one may; EOPNOTSUPP: the module was built without jobs
	 * and windows.
	 */
	static Result<Job> reserve(const Device &device, uint32_t id,
				   uint64_t key, uint64_t limit = 0) noexcept;
	/**
	 * Joins a job that was reserved. Fails with ENOENT: there is no such job on this
	 * machine; EACCES: the key is wrong, or it is another user's; EOPNOTSUPP: as
	 * reserve().
	 */
	static Result<Job> join(const Device &device, uint32_t id,
				uint64_t key) noexcept;
	/**
	 * Joins the job, or reserves it without a limit where this machine does not have it. Fails
	 * as reserve() and join().
	 */
	static Result<Job> open(const Device &device, uint32_t id,
				uint64_t key) noexcept;
	/** Leaves. Mappings stay until they are unmapped. */
	~Job();
	Job(Job &&from) noexcept;
	Job &operator=(Job &&from) noexcept;

	/** State of the job on this machine now. Fails with EIO: the adapter is gone. */
	Result<JobInfo> info() const noexcept;
	/**
	 * The verdict on @length bytes from @pvo on, if a window of this job used them.
	 * Fails likewise.
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

/** Memory of this process, pinned and mapped for a job. */
class Mapping {
public:
	/**
	 * Maps a buffer. Where its pages are mapped for the job already, through
	 * whatever adapter and process, that is found and used.
	 *
	 * Fails with ENOMEM: it is more than RLIMIT_MEMLOCK allows, which is for all that
	 * this process has mapped; EDQUOT: more than the job's limit; ENOSPC: the job's
	 * tables are full; EFAULT: not all of it is memory that this process may write to.
	 */
	static Result<Mapping> open(const Job &job,
				    std::span<std::byte> buffer) noexcept;
	~Mapping();
	Mapping(Mapping &&from) noexcept;
	Mapping &operator=(Mapping &&from) noexcept;

	/** Of the buffer's first byte. */
	Pvo pvo() const { return pvo_; }
	/** Bytes of a page of its table: protection is per page. */
	uint32_t page_size() const { return page_size_; }
	/** It was mapped already. */
	bool shared() const { return shared_; }

private:
	/** None so far. */
	explicit Mapping(const Job &job) : file_(job.file()) {}

	std::shared_ptr<const File> file_;
	uint32_t handle_ = ~0u;
	Pvo pvo_;
	uint32_t page_size_ = 0;
	bool shared_ = false;
};

} // namespace pavo

#endif // PAVO_JOB_HPP
