// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* interface.cpp - see interface.h. */
#include "interface.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include <fmt/format.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "../../common/command.hpp"
#include "device.h"

namespace pavo {
namespace {

std::string find_uverbs(const std::string &adapter)
{
	std::error_code none;

	for (const auto &entry : std::filesystem::directory_iterator(
		     "/sys/class/infiniband_verbs", none)) {
		std::ifstream file(entry.path() / "ibdev");
		std::string name;

		if (std::getline(file, name) && name == adapter)
			return entry.path().filename();
	}
	throw Error(adapter + ": no such adapter, or no uverbs device of it "
			      "(modprobe ib_uverbs)");
}

/* Without a context the file takes no other call. */
int get_context(int fd)
{
	pavo_alloc_ucontext_resp resp{};
	uint32_t vectors;
	uint64_t support;
	int err =
		Command(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT)
			.out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, vectors)
			.out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, support)
			.out(UVERBS_ATTR_UHW_OUT, resp)
			.run(fd);

	if (err)
		return err;
	return resp.abi_version == PAVO_ABI_VERSION ? 0 : EPROTONOSUPPORT;
}

const char *advice(int err)
{
	switch (err) {
	case EPERM:
		return ": needs CAP_NET_ADMIN where the adapter's interface is";
	case EACCES:
		return ": the job is another user's, or has another key";
	case EBUSY:
		return ": another window of this adapter has that number";
	case EOPNOTSUPP:
	case EPROTONOSUPPORT:
		return ": the module was built without windows, or is of "
		       "another version";
	default:
		return "";
	}
}

void check(int err, const std::string &what)
{
	if (err)
		throw Error(fmt::format("{}: {}{}", what, strerror(err),
					advice(err)));
}

Command method_of(uint16_t method)
{
	return Command(PAVO_OBJECT_INTERFACE, method);
}

bool parse_number(const std::string &text, uint32_t &value)
{
	auto [end, error] =
		std::from_chars(text.data(), text.data() + text.size(), value);

	return error == std::errc() && end == text.data() + text.size();
}

/* IPv4 as ::ffff:a.b.c.d, as GIDs have it. */
bool parse_address(const std::string &text, uint8_t *gid)
{
	if (inet_pton(AF_INET6, text.c_str(), gid) == 1)
		return true;
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	return inet_pton(AF_INET, text.c_str(), gid + 12) == 1;
}

} // namespace

UverbsFile::UverbsFile(const std::string &adapter) : adapter_(adapter)
{
	std::string path = "/dev/infiniband/" + find_uverbs(adapter);

	fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
	if (fd_ < 0)
		throw Error(fmt::format("{}: {}", path, strerror(errno)));
	int err = get_context(fd_);

	if (err)
		close(fd_);
	check(err, adapter);
}

UverbsFile::~UverbsFile()
{
	close(fd_);
}

pavo_interface_info
UverbsFile::add(const pavo_interface_args &args,
		const std::vector<pavo_interface_node> &nodes) const
{
	Command command = method_of(PAVO_METHOD_INTERFACE_ADD);
	pavo_interface_info info{};

	command.in(PAVO_ATTR_INTERFACE_ARGS, args)
		.out(PAVO_ATTR_INTERFACE_INFO, info);
	if (!nodes.empty())
		command.in_array(PAVO_ATTR_INTERFACE_NODES,
				 std::span<const pavo_interface_node>(nodes));
	check(command.run(fd_), adapter_);
	return info;
}

void UverbsFile::remove(uint32_t ifindex) const
{
	check(method_of(PAVO_METHOD_INTERFACE_DELETE)
		      .in(PAVO_ATTR_INTERFACE_INDEX, ifindex)
		      .run(fd_),
	      adapter_);
}

void UverbsFile::set_node(uint32_t ifindex,
			  const pavo_interface_node &node) const
{
	check(method_of(PAVO_METHOD_INTERFACE_NODE)
		      .in(PAVO_ATTR_INTERFACE_INDEX, ifindex)
		      .in(PAVO_ATTR_INTERFACE_NODE, node)
		      .run(fd_),
	      fmt::format("node {}", node.node));
}

std::vector<pavo_interface_info> UverbsFile::list() const
{
	std::vector<pavo_interface_info> all;
	pavo_interface_info info{};

	for (uint32_t from = 0;; from = info.ifindex + 1) {
		int err = method_of(PAVO_METHOD_INTERFACE_QUERY)
				  .in(PAVO_ATTR_INTERFACE_INDEX, from)
				  .out(PAVO_ATTR_INTERFACE_INFO, info)
				  .run(fd_);
		if (err == ENOENT)
			return all;
		check(err, adapter_);
		all.push_back(info);
	}
}

pavo_interface_node parse_node(const std::string &text, uint32_t window)
{
	size_t equal = text.find('='), slash = text.rfind('/');
	std::string address = text.substr(equal + 1);
	pavo_interface_node node{};
	uint32_t id = 0;
	bool valid = equal != std::string::npos;

	if (valid && slash != std::string::npos) {
		valid = parse_number(text.substr(slash + 1), window);
		address = text.substr(equal + 1, slash - equal - 1);
	}
	if (!valid || !parse_number(text.substr(0, equal), id) ||
	    id >= PAVO_INTERFACE_NODES || !parse_address(address, node.gid))
		throw Error(text + ": not NODE=ADDRESS or NODE=ADDRESS/WINDOW");
	node.node = uint16_t(id);
	node.window = window;
	return node;
}

} // namespace pavo
