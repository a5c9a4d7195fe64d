// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The bench of a device of this machine's kernel: see kernel_bench.h.
 */
#include "kernel_bench.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <net/if.h>
#include <unistd.h>

#include "../../common/ticks.h"

namespace pw {

/* Of a look at what the device does. */
constexpr int64_t look = 100000;

/* Of the port, and of the device: a driver may have both. */
static std::vector<std::string> counter_folders(const std::string &device)
{
	const std::string base = "/sys/class/infiniband/" + device;
	std::vector<std::string> folders;

	for (const std::string &folder :
	     {base + "/ports/1/hw_counters", base + "/hw_counters"})
		if (std::filesystem::is_directory(folder))
			folders.push_back(folder);
	return folders;
}

KernelBench::KernelBench(const std::string &device,
			 const std::string &interface)
	: interface_(interface), counters_(counter_folders(device)),
	  link_(interface)
{
	/* ms in which the kernel may show counters as they were: until the next tick */
	for (const std::string &folder : counters_)
		std::ofstream(folder + "/lifespan") << 0;
}

void KernelBench::pass(int64_t until)
{
	const int64_t left = std::min(look, until - now());

	usleep(static_cast<useconds_t>(std::max<int64_t>(left, 0) / 1000 + 1));
}

void KernelBench::settle_counters()
{
	common::pass_ticks(1);
}

std::optional<Mac> KernelBench::device_mac(unsigned interface)
{
	char name[IF_NAMESIZE];

	if (!if_indextoname(interface, name))
		return std::nullopt;
	return mac_of(name);
}

void KernelBench::refuse(unsigned)
{
	throw std::logic_error("no interface of a kernel refuses on request");
}

int KernelBench::set_parameter(const std::string &name, int value)
{
	const std::string path = "/sys/module/pavo/parameters/" + name;
	int old = 0;

	if (!(std::ifstream(path) >> old) ||
	    !(std::ofstream(path) << value << std::flush))
		throw std::runtime_error("cannot set " + path);
	return old;
}

std::optional<uint64_t> KernelBench::counter(const std::string &name)
{
	uint64_t value;

	for (const std::string &folder : counters_)
		if (std::ifstream(folder + "/" + name) >> value)
			return value;
	return std::nullopt;
}

} // namespace pw
