// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The adapter's counters: see counters.h.
 */
#include "counters.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace wf {

namespace {

constexpr size_t answer_most = 1 << 16;
constexpr uint32_t first_port = 1;

struct Attribute {
	uint16_t type;
	const uint8_t *data;
	size_t length;
};

void each_attribute(const uint8_t *from, size_t length,
		    const std::function<void(const Attribute &)> &tell)
{
	while (length >= NLA_HDRLEN) {
		nlattr header;

		std::memcpy(&header, from, sizeof(header));
		if (header.nla_len < NLA_HDRLEN || header.nla_len > length)
			return;
		tell({static_cast<uint16_t>(header.nla_type & NLA_TYPE_MASK),
		      from + NLA_HDRLEN, size_t(header.nla_len) - NLA_HDRLEN});
		const size_t step =
			std::min<size_t>(length, NLA_ALIGN(header.nla_len));

		from += step;
		length -= step;
	}
}

std::string text_of(const Attribute &attribute)
{
	const auto *text = reinterpret_cast<const char *>(attribute.data);

	return {text, strnlen(text, attribute.length)};
}

uint64_t number_of(const Attribute &attribute)
{
	uint64_t number = 0;

	std::memcpy(&number, attribute.data,
		    std::min(sizeof(number), attribute.length));
	return number;
}

} // namespace

struct Counters::Message {
	nlmsghdr header{};
	struct {
		nlattr header;
		uint32_t value;
	} device{}, port{};
};

Counters::Counters(const std::string &device, std::string netif)
	: socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA)),
	  netif_(std::move(netif)), device_(find_device(device))
{
	open_files(device);
	read();
	if (names_.empty())
		throw std::runtime_error("no counters of " + device);
}

Counters::~Counters()
{
	for (const File &file : files_)
		close(file.fd);
	close(socket_);
}

/* Of the device: netlink does not show them. */
void Counters::open_files(const std::string &device)
{
	const std::string folder =
		"/sys/class/infiniband/" + device + "/hw_counters";

	if (!std::filesystem::is_directory(folder))
		return;
	/* The kernel shows none that it read earlier. */
	std::ofstream(folder + "/lifespan") << 0;
	for (const auto &entry : std::filesystem::directory_iterator(folder)) {
		const std::string name = entry.path().filename();
		const int fd = name == "lifespan" ? -1 :
						    open(entry.path().c_str(),
							 O_RDONLY | O_CLOEXEC);

		if (fd >= 0)
			files_.push_back({name, fd});
	}
}

void Counters::read_files()
{
	for (const File &file : files_) {
		char text[32] = {};

		if (pread(file.fd, text, sizeof(text) - 1, 0) <= 0)
			text[0] = 0;
		names_.push_back(file.name);
		values_.push_back(std::strtoull(text, nullptr, 10));
	}
}

/* By ethtool; where memory lacks there are none. */
void Counters::read_netif()
{
	constexpr size_t most = 256;
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	std::vector<uint64_t> names(most * ETH_GSTRING_LEN / 8), stats(most);
	const ethtool_gstrings wanted = {ETHTOOL_GSTRINGS, ETH_SS_STATS, 0};
	const ethtool_stats numbers = {ETHTOOL_GSTATS, 0};
	ifreq request = {};

	std::memcpy(names.data(), &wanted, sizeof(wanted));
	std::memcpy(stats.data(), &numbers, sizeof(numbers));
	netif_.copy(request.ifr_name, IFNAMSIZ - 1);
	request.ifr_data = reinterpret_cast<char *>(names.data());
	bool known = !ioctl(fd, SIOCETHTOOL, &request);
	request.ifr_data = reinterpret_cast<char *>(stats.data());
	known = known && !ioctl(fd, SIOCETHTOOL, &request);
	close(fd);
	const auto count = static_cast<uint32_t>(stats[0] >> 32);
	const char *name =
		reinterpret_cast<char *>(names.data()) + sizeof(wanted);

	for (size_t i = 0; known && i < count && i + 1 < most; i++) {
		names_.push_back("netif_" +
				 std::string(name + i * ETH_GSTRING_LEN));
		values_.push_back(stats[1 + i]);
	}
}

bool Counters::ask(Message &message, size_t length)
{
	message.header.nlmsg_len = static_cast<uint32_t>(length);
	return send(socket_, &message, length, 0) ==
	       static_cast<ssize_t>(length);
}

uint32_t Counters::find_device(const std::string &device)
{
	static uint8_t buffer[answer_most];
	Message question;

	for (uint32_t index = 0; index < 64; index++) {
		std::string name;

		question.header.nlmsg_type =
			RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
		question.header.nlmsg_flags = NLM_F_REQUEST;
		question.device = {{8, RDMA_NLDEV_ATTR_DEV_INDEX}, index};
		if (!ask(question,
			 sizeof(question.header) + sizeof(question.device)))
			break;
		const ssize_t length = recv(socket_, buffer, answer_most, 0);

		if (length < NLMSG_HDRLEN)
			continue;
		each_attribute(buffer + NLMSG_HDRLEN,
			       static_cast<size_t>(length) - NLMSG_HDRLEN,
			       [&](const Attribute &attribute) {
				       if (attribute.type ==
					   RDMA_NLDEV_ATTR_DEV_NAME)
					       name = text_of(attribute);
			       });
		if (name == device)
			return index;
	}
	throw std::runtime_error("the kernel does not know " + device);
}

void Counters::take(const uint8_t *from, size_t length)
{
	std::string name;
	uint64_t value = 0;

	each_attribute(from, length, [&](const Attribute &attribute) {
		if (attribute.type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)
			name = text_of(attribute);
		if (attribute.type ==
		    RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE)
			value = number_of(attribute);
	});
	names_.push_back(name);
	values_.push_back(value);
}

const std::vector<uint64_t> &Counters::read()
{
	if (!read_port())
		return values_;
	read_files();
	if (!netif_.empty())
		read_netif();
	return values_;
}

/* False: memory lacks, and all stay as they were. */
bool Counters::read_port()
{
	static uint8_t buffer[answer_most];
	Message question;

	question.header.nlmsg_type =
		RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET);
	question.header.nlmsg_flags = NLM_F_REQUEST;
	question.device = {{8, RDMA_NLDEV_ATTR_DEV_INDEX}, device_};
	question.port = {{8, RDMA_NLDEV_ATTR_PORT_INDEX}, first_port};
	if (!ask(question, sizeof(question)))
		return false;
	ssize_t length = recv(socket_, buffer, answer_most, MSG_DONTWAIT);
	if (length < NLMSG_HDRLEN ||
	    reinterpret_cast<nlmsghdr *>(buffer)->nlmsg_type == NLMSG_ERROR)
		return false;
	names_.clear();
	values_.clear();
	each_attribute(
		buffer + NLMSG_HDRLEN,
		static_cast<size_t>(length) - NLMSG_HDRLEN,
		[&](const Attribute &outer) {
			if (outer.type != RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)
				return;
			each_attribute(outer.data, outer.length,
				       [&](const Attribute &entry) {
					       take(entry.data, entry.length);
				       });
		});
	return true;
}

uint64_t Counters::sum(const std::vector<std::string> &names)
{
	const auto &values = read();
	uint64_t total = 0;

	for (size_t i = 0; i < names_.size(); i++)
		if (std::ranges::find(names, names_[i]) != names.end())
			total += values[i];
	return total;
}

} // namespace wf
