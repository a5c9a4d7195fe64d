// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* device.cpp - finding and opening an adapter's uverbs file; see device.hpp. */
#include <pavo/device.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
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

/* Entries of a GID table that are looked at. */
constexpr uint16_t gid_entries = 1024;

/* All 0: there is no such entry. In sysfs it is eight groups of four digits. */
Gid read_gid(const std::string &adapter, uint16_t index)
{
	std::istringstream groups(first_line("/sys/class/infiniband/" +
					     adapter + "/ports/1/gids/" +
					     std::to_string(index)));
	std::string group;
	Gid gid{};

	for (size_t i = 0; i < 8 && std::getline(groups, group, ':'); i++) {
		unsigned long value = strtoul(group.c_str(), nullptr, 16);

		gid[2 * i] = uint8_t(value >> 8);
		gid[2 * i + 1] = uint8_t(value);
	}
	return gid;
}

bool is_ipv4(const Gid &gid)
{
	constexpr std::array<uint8_t, 12> begin = {0, 0, 0, 0, 0,    0,
						   0, 0, 0, 0, 0xff, 0xff};

	return std::equal(begin.begin(), begin.end(), gid.begin());
}

bool is_link_local(const Gid &gid)
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
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
	auto file = std::make_shared<const File>(fd, name);

	if (get_context(fd))
		fail(EPROTONOSUPPORT,
		     name + ": not an adapter of pavo, or the module and "
			    "this library are of different versions");
	file->poll();
	return file;
}

} // namespace

File::File(int number, const std::string &adapter)
	: number_(number), adapter_(adapter),
	  worker_(std::make_unique<DoorbellWorker>())
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

Result<Gid> File::gid(uint16_t index) const noexcept
{
	return guarded([&]() -> Result<Gid> {
		Gid gid = read_gid(adapter_, index);

		if (gid == Gid{})
			return Unexpected(
				Error(ENOENT, adapter_ + ": GID " +
						      std::to_string(index)));
		return gid;
	});
}

Result<AdapterAddress> File::address(IpVersion version) const noexcept
{
	const bool wants_ipv4 = version == IpVersion::v4;

	return guarded([&]() -> Result<AdapterAddress> {
		for (uint16_t i = 0; i < gid_entries; i++) {
			Gid gid = read_gid(adapter_, i);

			if (gid != Gid{} && !is_link_local(gid) &&
			    is_ipv4(gid) == wants_ipv4)
				return AdapterAddress{i, gid};
		}
		return Unexpected(
			Error(EADDRNOTAVAIL,
			      adapter_ + ": its interface has no " +
				      (wants_ipv4 ? "IPv4" : "global IPv6") +
				      " address"));
	});
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
