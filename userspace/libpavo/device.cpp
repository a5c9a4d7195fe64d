// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* device.cpp - finding and opening an adapter's uverbs file; see device.hpp. */
#include <pavo/device.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/pavo-abi.h>

#include "command.hpp"
#include "doorbell_worker.h"
#include "error.hpp"

namespace pavo {

namespace {

std::string first_line(const std::filesystem::path &path)
{
	std::ifstream file(path);
	std::string line;

	std::getline(file, line);
	return line;
}

/* The uverbs device of that adapter, or nothing. */
std::string uverbs_of(const std::string &adapter)
{
	std::error_code none;

	for (const auto &entry : std::filesystem::directory_iterator(
		     "/sys/class/infiniband_verbs", none))
		if (first_line(entry.path() / "ibdev") == adapter)
			return entry.path().filename();
	return {};
}

/* Without a context the file is good for nothing. Return: 0 or errno. */
int get_context(int fd)
{
	pavo_alloc_ucontext_resp resp{};
	uint32_t vectors;
	uint64_t support;
	int err;

	err = Command(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT)
		      .out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, vectors)
		      .out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, support)
		      .out(UVERBS_ATTR_UHW_OUT, resp)
		      .run(fd);
	if (err)
		return err;
	return resp.abi_version == PAVO_ABI_VERSION ? 0 : EPROTONOSUPPORT;
}

/* The uverbs file of that adapter, which is pavo's. */
std::shared_ptr<const File> open_file(const std::string &name)
{
	std::string uverbs = uverbs_of(name);

	if (uverbs.empty())
		fail(ENODEV, name + ": no adapter of that name with a "
				    "uverbs device (see `rdma link`, and "
				    "`modprobe ib_uverbs`)");
	std::string path = "/dev/infiniband/" + uverbs;
	int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fail(errno, path + ", of " + name);
	auto file = std::make_shared<const File>(fd);

	if (get_context(fd))
		fail(EPROTONOSUPPORT,
		     name + ": not an adapter of pavo, or the module and "
			    "this library are of different versions");
	file->poll();
	return file;
}

} // namespace

File::File(int number)
	: number_(number), worker_(std::make_unique<DoorbellWorker>())
{
}

File::~File()
{
	worker_.reset();
	close(number_);
}

void File::poll() const noexcept
{
	worker_->set_by_environment(number_, "libpavo");
}

Result<void> File::poll(std::chrono::microseconds idle) const noexcept
{
	if (idle.count() < 0 || idle.count() > UINT32_MAX)
		return Unexpected(EINVAL);
	return to_result(Error(worker_->set(number_, uint32_t(idle.count()))));
}

Device::Device(const std::string &name, std::shared_ptr<const File> file)
	: name_(name), file_(std::move(file))
{
}

Result<Device> Device::open(const std::string &name) noexcept
{
	return guarded([&]() -> Result<Device> {
		return Device(name, open_file(name));
	});
}

} // namespace pavo
