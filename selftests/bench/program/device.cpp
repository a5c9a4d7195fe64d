// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Opens a device by name, finds its IPv4 RoCE v2 address and its interface.
 *
 * Called by: main.cpp. Reads sysfs and /proc/net/softnet_stat.
 */
#include "device.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include "../../common/device.h"
#include "../../common/files.h"

namespace bench {

using common::must_not_fail;
using common::must_return_0;

Inside::Inside(const std::string &space)
{
	if (space.empty())
		return;
	home_ = must_not_fail(open("/proc/thread-self/ns/net",
				   O_RDONLY | O_CLOEXEC),
			      "own namespace");
	int other = must_not_fail(open(("/run/netns/" + space).c_str(),
				       O_RDONLY | O_CLOEXEC),
				  "namespace " + space);
	must_return_0(setns(other, CLONE_NEWNET), "setns");
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

Device::Device(const std::string &its_name, const std::string &its_space)
	: name(its_name), space(its_space), context(common::open_device(name))
{
	Inside inside(space);
	ibv_device_attr device;
	ibv_port_attr port;
	ibv_gid_entry entry = {};
	char interface[IF_NAMESIZE];

	must_return_0(ibv_query_device(context, &device), "query of " + name);
	must_return_0(ibv_query_port(context, 1, &port), "query of " + name);
	mtu = port.active_mtu;
	max_reads = std::min(
		{device.max_qp_rd_atom, device.max_qp_init_rd_atom, 16});
	if (is_iwarp())
		must_return_0(ibv_query_gid_ex(context, 1, 0, &entry, 0),
			      "an address of " + name);
	else
		entry = common::ipv4_address_of(context).value();
	gid = entry.gid;
	gid_index = int(entry.gid_index);
	netdev =
		common::must_make(if_indextoname(entry.ndev_ifindex, interface),
				  "interface of " + name);
}

Traffic::Traffic(const Device &device) : netdev_(device.netdev)
{
	for (const char *what : {"tx_packets", "tx_bytes", "rx_packets",
				 "rx_bytes", "rx_dropped", "tx_dropped", ""})
		before_[what] = read(what);
}

/* "" is what no interface counts: the drops of all backlogs. */
uint64_t Traffic::read(const std::string &what) const
{
	uint64_t sum = 0, processed, dropped;

	if (!what.empty())
		return common::read_word<uint64_t>("/sys/class/net/" + netdev_ +
						   "/statistics/" + what);
	for (const std::string &line :
	     common::lines_of("/proc/net/softnet_stat"))
		if (std::istringstream(line) >> std::hex >> processed >>
		    dropped)
			sum += dropped;
	return sum;
}

uint64_t Traffic::moved(const std::string &what) const
{
	return read(what) - before_.at(what);
}

uint64_t Traffic::drops() const
{
	return moved("rx_dropped") + moved("tx_dropped") + moved("");
}

} // namespace bench
