// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* job.cpp - jobs and mappings, by the methods of the uverbs file; see job.hpp. */
#include <pavo/job.hpp>

#include <utility>

#include "abi.hpp"
#include "command.hpp"
#include "error.hpp"
#include "job_open.hpp"
#include "mapped_memory.hpp"
#include "mapping.hpp"

namespace pavo {

namespace {

constexpr uint32_t none = ~0u;

constexpr const char *cgroup_is_full =
	": the rdma cgroup of this process has as many objects as it may "
	"(rdma.max)";

/* Advice about an error, beside what errno says. */
std::string advice(int err, bool reserve)
{
	switch (err) {
	case EEXIST:
		return " is there already: join it, or take another id";
	case ENOSPC:
		return ": all job slots of this machine are taken (parameter "
		       "job_slots of the module)";
	case EDQUOT:
		return ": this user has as many jobs as one may (parameters "
		       "share_per_user and jobs_per_user of the module)";
	case ENOENT:
		return " is not on this machine: reserve it first";
	case EAGAIN:
		return cgroup_is_full;
	case EOPNOTSUPP:
		return ": the module was built without jobs and windows; "
		       "one that has them is made by `make modules "
		       "WINDOWS=y`";
	case EACCES:
		return ": the key is not the job's, or the job is another "
		       "user's";
	default:
		return reserve ? ": cannot be reserved" : ": cannot be joined";
	}
}

std::string advice_map(int err)
{
	switch (err) {
	case ENOMEM:
		return ": more than may be locked (`ulimit -l`), or no memory "
		       "left";
	case EPERM:
		return ": this process may lock no memory at all (`ulimit -l`)";
	case EDQUOT:
		return ": more than the limit of the job";
	case EAGAIN:
		return cgroup_is_full;
	case ENOSPC:
		return ": the tables of the job are full (parameters "
		       "tce_small_entries, tce_large_entries of the module)";
	case EFAULT:
		return ": not all of it is memory that this process may write "
		       "to";
	default:
		return "";
	}
}

/* Return: the handle of a member of it. */
uint32_t open_job(const File &file, const pavo_job_open_args &args)
{
	Command command(PAVO_OBJECT_JOB, PAVO_METHOD_JOB_OPEN);
	int err = command.new_handle(PAVO_ATTR_JOB_HANDLE)
			  .in(PAVO_ATTR_JOB_OPEN_ARGS, args)
			  .run(file.number());

	/* The device is pavo's, so it is the object that the module does not have. */
	if (err == EPROTONOSUPPORT)
		err = EOPNOTSUPP;
	if (err)
		fail(err, "job " + std::to_string(args.id) +
				  advice(err, args.flags));
	mapped_memory::add_job(file.number(), command.made(), args.id);
	return command.made();
}

} // namespace

Job::Job(std::shared_ptr<const File> file, uint32_t handle)
	: file_(std::move(file)), handle_(handle)
{
}

Result<Job> Job::reserve(const Device &device, uint32_t id, uint64_t key,
			 uint64_t limit) noexcept
{
	return guarded([&]() -> Result<Job> {
		return Job(device.file(),
			   open_job(*device.file(), {.id = id,
						     .flags = PAVO_JOB_RESERVE,
						     .key = key,
						     .limit = limit}));
	});
}

Result<Job> Job::join(const Device &device, uint32_t id, uint64_t key) noexcept
{
	return guarded([&]() -> Result<Job> {
		return Job(device.file(),
			   open_job(*device.file(), {.id = id,
						     .flags = 0,
						     .key = key,
						     .limit = 0}));
	});
}

Result<Job> Job::open(const Device &device, uint32_t id, uint64_t key) noexcept
{
	return reserve_or_join([&] { return reserve(device, id, key); },
			       [&] { return join(device, id, key); });
}

Job::~Job()
{
	if (handle_ == none)
		return;
	mapped_memory::remove_job(fd(), handle_);
	Command(PAVO_OBJECT_JOB, PAVO_METHOD_JOB_CLOSE)
		.handle(PAVO_ATTR_JOB_HANDLE, handle_)
		.run(fd());
}

Job::Job(Job &&from) noexcept
	: file_(from.file_), handle_(std::exchange(from.handle_, none))
{
}

Job &Job::operator=(Job &&from) noexcept
{
	std::swap(file_, from.file_);
	std::swap(handle_, from.handle_);
	return *this;
}

Result<JobInfo> Job::info() const noexcept
{
	pavo_job_info info{};
	int err = Command(PAVO_OBJECT_JOB, PAVO_METHOD_JOB_QUERY)
			  .handle(PAVO_ATTR_JOB_HANDLE, handle_)
			  .out(PAVO_ATTR_JOB_INFO, info)
			  .run(fd());

	if (err)
		return Unexpected(err);
	return from_abi(info);
}

Result<PvoResult> Job::check(Pvo pvo, uint64_t length) const noexcept
{
	pavo_job_check_args args = {.pvo = pvo.value, .length = length};
	uint32_t result = PAVO_PVO_TABLE;
	int err = Command(PAVO_OBJECT_JOB, PAVO_METHOD_JOB_CHECK)
			  .handle(PAVO_ATTR_JOB_HANDLE, handle_)
			  .in(PAVO_ATTR_JOB_CHECK_ARGS, args)
			  .out(PAVO_ATTR_JOB_CHECK_RESULT, result)
			  .run(fd());

	if (err)
		return Unexpected(err);
	return PvoResult(result);
}

/* Return: 0; ENOMEM: the memory is not mapped any more. */
static int note_mapping(int fd, uint32_t job, const pavo_map_args &args,
			const pavo_map_resp &resp, uint32_t handle) noexcept
{
	try {
		mapped_memory::add(fd, job, handle, resp.pvo,
				   {reinterpret_cast<std::byte *>(args.start),
				    args.length});
		return 0;
	} catch (const std::bad_alloc &) {
		unmap_memory(fd, handle);
		return ENOMEM;
	}
}

int map_memory(int fd, uint32_t job, const pavo_map_args &args,
	       pavo_map_resp &resp, uint32_t &handle) noexcept
{
	Command command(PAVO_OBJECT_MAPPING, PAVO_METHOD_MAPPING_MAP);
	int err;

	err = command.new_handle(PAVO_ATTR_MAPPING_HANDLE)
		      .handle(PAVO_ATTR_MAPPING_JOB, job)
		      .in(PAVO_ATTR_MAPPING_ARGS, args)
		      .out(PAVO_ATTR_MAPPING_RESP, resp)
		      .run(fd);
	handle = command.made();
	return err ? err : note_mapping(fd, job, args, resp, handle);
}

void unmap_memory(int fd, uint32_t handle) noexcept
{
	/* First, so that no other mapping has the handle. */
	mapped_memory::remove(fd, handle);
	Command(PAVO_OBJECT_MAPPING, PAVO_METHOD_MAPPING_UNMAP)
		.handle(PAVO_ATTR_MAPPING_HANDLE, handle)
		.run(fd);
}

Result<Mapping> Mapping::open(const Job &job,
			      std::span<std::byte> buffer) noexcept
{
	return guarded([&]() -> Result<Mapping> {
		pavo_map_args args = {
			.start = reinterpret_cast<uintptr_t>(buffer.data()),
			.length = buffer.size()};
		pavo_map_resp resp{};
		Mapping made(job);
		uint32_t handle;
		int err =
			map_memory(job.fd(), job.handle(), args, resp, handle);

		if (err)
			fail(err, "mapping of " +
					  std::to_string(buffer.size()) +
					  " bytes" + advice_map(err));
		made.handle_ = handle;
		made.pvo_ = {resp.pvo};
		made.page_size_ = resp.page_size;
		made.shared_ = resp.shared;
		return made;
	});
}

Mapping::~Mapping()
{
	if (handle_ != none)
		unmap_memory(file_->number(), handle_);
}

Mapping::Mapping(Mapping &&from) noexcept
	: file_(from.file_), handle_(std::exchange(from.handle_, none)),
	  pvo_(from.pvo_), page_size_(from.page_size_), shared_(from.shared_)
{
}

Mapping &Mapping::operator=(Mapping &&from) noexcept
{
	std::swap(file_, from.file_);
	std::swap(handle_, from.handle_);
	std::swap(pvo_, from.pvo_);
	std::swap(page_size_, from.page_size_);
	std::swap(shared_, from.shared_);
	return *this;
}

} // namespace pavo
