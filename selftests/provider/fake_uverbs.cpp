// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fake_uverbs.cpp - see fake_uverbs.h.
 */

/* The functions at the end are to be named open and stat, not open64. */
#undef _FILE_OFFSET_BITS

#include "fake_uverbs.h"

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace fake {
namespace {

constexpr size_t MEMORY = 64 << 20;
constexpr unsigned MAJOR = 231, FIRST_MINOR = 192;
constexpr const char *DEVICE_FOLDER = "/dev/infiniband/uverbs";

Kernel *the_kernel;

void put(const fs::path &file, const std::string &text)
{
	fs::create_directories(file.parent_path());
	std::ofstream(file) << text << "\n";
}

bool is_device(const char *path)
{
	return the_kernel && path &&
	       !strncmp(path, DEVICE_FOLDER, strlen(DEVICE_FOLDER));
}

} // namespace

Kernel *Kernel::instance()
{
	return the_kernel;
}

Kernel::Kernel(const std::vector<DeviceText> &devices)
{
	char folder[] = "/tmp/pavo-fake-XXXXXX";
	int index = 0;

	if (!mkdtemp(folder))
		throw std::runtime_error("no temporary folder");
	root_ = folder;
	setenv("SYSFS_PATH", folder, 1);
	memory_fd_ = memfd_create("pavo-fake", MFD_CLOEXEC);
	if (memory_fd_ < 0 || ftruncate(memory_fd_, MEMORY))
		throw std::runtime_error("no memfd");
	put(fs::path(root_) / "class/infiniband_verbs/abi_version", "6");
	for (const DeviceText &device : devices)
		add_device(device, index++);
	the_kernel = this;
}

Kernel::~Kernel()
{
	the_kernel = nullptr;
	forget_regions();
	close(memory_fd_);
	fs::remove_all(root_);
}

void Kernel::add_device(const DeviceText &device, int index)
{
	fs::path cdev = fs::path(root_) / "class/infiniband_verbs" /
			("uverbs" + std::to_string(index));
	fs::path ibdev = fs::path(root_) / "class/infiniband" / device.name;

	put(cdev / "dev",
	    std::to_string(MAJOR) + ":" + std::to_string(FIRST_MINOR + index));
	put(cdev / "ibdev", device.name);
	put(cdev / "abi_version", device.uverbs_abi);
	put(ibdev / "node_type", "1: CA");
	put(ibdev / "node_guid", "0123:4567:89ab:cdef");
	put(ibdev / "device/modalias", "fake:" + device.name);
	if (!device.pavo_abi.empty())
		put(ibdev / "pavo_abi", device.pavo_abi);
}

Region Kernel::make_region(uint32_t size)
{
	Region region = {};

	size = (size + 4095) & ~4095u;
	void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			memory_fd_, static_cast<off_t>(memory_used_));
	if (at == MAP_FAILED || memory_used_ + size > MEMORY)
		throw std::runtime_error("no region");
	region.info.offset = memory_used_;
	region.info.size = size;
	region.memory = static_cast<std::byte *>(at);
	memory_used_ += size;
	mapped_.emplace_back(region.memory, size);
	return region;
}

void Kernel::forget_regions()
{
	for (auto [at, size] : mapped_)
		munmap(at, size);
	mapped_.clear();
	memory_used_ = 0;
}

std::vector<Call> Kernel::calls() const
{
	std::lock_guard guard(lock_);

	return calls_;
}

void Kernel::forget_calls()
{
	std::lock_guard guard(lock_);

	calls_.clear();
}

Call Kernel::last_method(uint32_t object, uint32_t method) const
{
	std::lock_guard guard(lock_);

	for (auto call = calls_.rbegin(); call != calls_.rend(); ++call)
		if (call->is_method && call->object == object &&
		    call->method == method)
			return *call;
	throw std::out_of_range("method was not called");
}

Call Kernel::last_command(uint32_t command) const
{
	std::lock_guard guard(lock_);

	for (auto call = calls_.rbegin(); call != calls_.rend(); ++call)
		if (!call->is_method && call->command == command)
			return *call;
	throw std::out_of_range("command was not called");
}

/* All descriptors of the device are copies of the memfd's. */
bool Kernel::owns(int fd) const
{
	struct stat mine, other;

	return !syscall(SYS_fstat, memory_fd_, &mine) &&
	       !syscall(SYS_fstat, fd, &other) && mine.st_ino == other.st_ino &&
	       mine.st_dev == other.st_dev;
}

int Kernel::open_device()
{
	return fcntl(memory_fd_, F_DUPFD_CLOEXEC, 3);
}

int Kernel::serve(Call &call)
{
	int err = handler ? handler(call) : 0;

	std::lock_guard guard(lock_);

	calls_.push_back(call);
	return err;
}

/* A number of four bytes is in the first ones of the word, which are the high ones of some machines. */
static uint64_t first_half(uint64_t word)
{
	uint32_t half;

	memcpy(&half, &word, sizeof(half));
	return half;
}

int Kernel::ioctl(int, void *arg)
{
	auto *hdr = static_cast<ib_uverbs_ioctl_hdr *>(arg);
	Call call = {};

	call.is_method = true;
	call.object = hdr->object_id;
	call.method = hdr->method_id;
	call.driver_id = hdr->driver_id;
	call.set_word = [hdr](uint32_t id, uint64_t value) {
		for (int i = 0; i < hdr->num_attrs; i++)
			if (hdr->attrs[i].attr_id == id)
				hdr->attrs[i].data = value;
	};
	for (int i = 0; i < hdr->num_attrs; i++) {
		const ib_uverbs_attr &attr = hdr->attrs[i];
		uint64_t data = attr.data;
		auto *at = reinterpret_cast<std::byte *>(
			attr.len > 8 ? data :
				       reinterpret_cast<uintptr_t>(
					       &hdr->attrs[i].data));

		call.word[attr.attr_id] = attr.len == 4 ? first_half(data) :
							  data;
		call.out[attr.attr_id] = {reinterpret_cast<std::byte *>(data),
					  attr.len};
		if (data || attr.len <= 8)
			call.in[attr.attr_id].assign(at, at + attr.len);
	}
	if (call.object == UVERBS_OBJECT_DEVICE &&
	    call.method == UVERBS_METHOD_INVOKE_WRITE) {
		call.is_method = false;
		call.command =
			static_cast<uint32_t>(call.word[UVERBS_ATTR_WRITE_CMD]);
		/* The question whether commands may come this way. */
		if (!call.word.count(UVERBS_ATTR_CORE_IN)) {
			errno = ENOSPC;
			return -1;
		}
	}
	int err = serve(call);
	if (!err)
		return 0;
	errno = err;
	return -1;
}

long Kernel::write(int, const void *data, size_t size)
{
	struct {
		ib_uverbs_cmd_hdr hdr;
		uint64_t response;
		uint32_t qp_handle, wr_count, sge_count, wqe_size;
	} post = {};

	if (size != sizeof(post)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&post, data, sizeof(post));
	if (post.hdr.in_words * 4u != size || post.hdr.out_words != 1 ||
	    post.wr_count || post.sge_count || !post.response ||
	    post.wqe_size < sizeof(ib_uverbs_recv_wr)) {
		errno = EINVAL;
		return -1;
	}
	int err = on_write ? on_write(post.hdr.command, post.qp_handle) : 0;
	if (!err)
		return static_cast<long>(size);
	errno = err;
	return -1;
}

} // namespace fake

/* ------------------------------------------ what libibverbs calls instead */

/* The library finds them only if they are exported from the program. */
#pragma GCC visibility push(default)

extern "C" {

int open(const char *path, int flags, ...)
{
	va_list args;

	va_start(args, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (fake::is_device(path))
		return fake::Kernel::instance()->open_device();
	return static_cast<int>(
		syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int stat(const char *path, struct stat *st) noexcept
{
	if (fake::is_device(path)) {
		*st = {};
		st->st_mode = S_IFCHR;
		return 0;
	}
	return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, st, 0));
}

int fstat(int fd, struct stat *st) noexcept
{
	fake::Kernel *kernel = fake::Kernel::instance();
	int ret = static_cast<int>(syscall(SYS_fstat, fd, st));

	/* Opened devices all are the first one: enough for one at a time. */
	if (!ret && kernel && kernel->owns(fd)) {
		st->st_mode = S_IFCHR;
		st->st_rdev = makedev(fake::MAJOR, fake::FIRST_MINOR);
	}
	return ret;
}

int ioctl(int fd, unsigned long request, ...) noexcept
{
	fake::Kernel *kernel = fake::Kernel::instance();
	va_list args;

	va_start(args, request);
	void *arg = va_arg(args, void *);
	va_end(args);
	if (kernel && kernel->owns(fd) && request == RDMA_VERBS_IOCTL)
		return kernel->ioctl(fd, arg);
	return static_cast<int>(syscall(SYS_ioctl, fd, request, arg));
}

ssize_t write(int fd, const void *data, size_t size)
{
	fake::Kernel *kernel = fake::Kernel::instance();

	if (kernel && fd > 2 && kernel->owns(fd))
		return kernel->write(fd, data, size);
	return syscall(SYS_write, fd, data, size);
}

/* The devices of the machine the test runs on are none of its business. */
int socket(int domain, int type, int protocol) noexcept
{
	if (domain == AF_NETLINK) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return static_cast<int>(syscall(SYS_socket, domain, type, protocol));
}

} /* extern "C" */

#pragma GCC visibility pop
