// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Opens a device by name, finds its IPv4 RoCE v2 address and its interface.
 *
 * Called by: main.cpp. Reads sysfs and /proc/net/softnet_stat.
 */
#include "device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../common/device.h"
#include "../../common/files.h"

namespace bench {

namespace {

uint64_t statistic(const std::string &netdev, const std::string &what)
{
	return common::read_word<uint64_t>("/sys/class/net/" + netdev +
					   "/statistics/" + what);
}

} // namespace

Traffic operator-(const Traffic &late, const Traffic &early)
{
	return {late.tx_packets - early.tx_packets,
		late.tx_bytes - early.tx_bytes,
		late.rx_packets - early.rx_packets,
		late.rx_bytes - early.rx_bytes, late.dropped - early.dropped};
}

uint64_t backlog_drops()
{
	std::ifstream file("/proc/net/softnet_stat");
	std::string line;
	uint64_t sum = 0;

	while (std::getline(file, line)) {
		std::istringstream words(line);
		uint64_t processed, dropped;

		if (words >> std::hex >> processed >> dropped)
			sum += dropped;
	}
	return sum;
}

Inside::Inside(const std::string &space)
{
	if (space.empty())
		return;
	home_ = common::must_not_fail(open("/proc/thread-self/ns/net",
					   O_RDONLY | O_CLOEXEC),
				      "own namespace");
	int other = common::must_not_fail(open(("/run/netns/" + space).c_str(),
					       O_RDONLY | O_CLOEXEC),
					  "namespace " + space);
	common::must_return_0(setns(other, CLONE_NEWNET), "setns");
	close(other);
}

Inside::~Inside()
{
	if (home_ < 0)
		return;
	if (setns(home_, CLONE_NEWNET))
		abort();
	close(home_);
}

Device::Device(const std::string &name, const std::string &space)
	: name_(name), space_(space)
{
	Inside inside(space);
	ibv_device_attr device;
	ibv_port_attr port;

	context_ = common::open_device(name);
	if (ibv_query_device(context_, &device) ||
	    ibv_query_port(context_, 1, &port))
		throw std::runtime_error("cannot query " + name);
	mtu_ = port.active_mtu;
	max_reads_ = std::min(
		{device.max_qp_rd_atom, device.max_qp_init_rd_atom, 16});
	if (is_iwarp())
		find_interface();
	else
		choose_gid();
}

Device::~Device()
{
	ibv_close_device(context_);
}

void Device::choose_gid()
{
	for (const ibv_gid_entry &entry : common::addresses_of(context_)) {
		char name[IF_NAMESIZE];

		if (!common::is_ipv4(entry.gid) ||
		    !if_indextoname(entry.ndev_ifindex, name))
			continue;
		gid_ = entry.gid;
		memcpy(&address_, entry.gid.raw + 12, sizeof(address_));
		gid_index_ = int(entry.gid_index);
		netdev_ = name;
		return;
	}
	throw std::runtime_error(name_ + " has no IPv4 RoCE v2 address");
}

/* An entry for its MAC address names the interface. */
void Device::find_interface()
{
	ibv_gid_entry entry = {};
	char name[IF_NAMESIZE];
	ifreq request = {};

	common::must_return_0(ibv_query_gid_ex(context_, 1, 0, &entry, 0),
			      "an address of " + name_);
	netdev_ = common::must_make(if_indextoname(entry.ndev_ifindex, name),
				    "interface of " + name_);
	netdev_.copy(request.ifr_name, IF_NAMESIZE - 1);
	int ask = common::must_not_fail(
		socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
	int error = ioctl(ask, SIOCGIFADDR, &request);

	close(ask);
	common::must_return_0(error, "IPv4 address of " + netdev_);
	address_ = reinterpret_cast<sockaddr_in &>(request.ifr_addr).sin_addr;
}

Traffic Device::traffic() const
{
	return {statistic(netdev_, "tx_packets"),
		statistic(netdev_, "tx_bytes"),
		statistic(netdev_, "rx_packets"),
		statistic(netdev_, "rx_bytes"),
		statistic(netdev_, "rx_dropped") +
			statistic(netdev_, "tx_dropped")};
}

} // namespace bench
