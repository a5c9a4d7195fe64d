// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * adapters.cpp - see adapters.h.
 */
#include "adapters.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <map>
#include <rdma/rdma_netlink.h>
#include <linux/netlink.h>
#include <sched.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "netlink.h"

namespace callfuzz {
namespace {

const char *const names[devices] = {"fa0", "fb0", "fc0", "fd0"};
constexpr int far = 2; /* it is in the other namespace */
const std::string class_folder = "/sys/class/infiniband/";

std::string interface_of(int device)
{
	return std::string(names[device], 2);
}

/* Names, and their numbers. */
std::map<std::string, uint32_t> list_adapters()
{
	std::map<std::string, uint32_t> found;

	ask_nldev(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST | NLM_F_DUMP, {},
		  [&](const uint8_t *at, size_t size) {
			  const uint8_t *index = find_attribute(
				  at, size, RDMA_NLDEV_ATTR_DEV_INDEX);
			  const uint8_t *name = find_attribute(
				  at, size, RDMA_NLDEV_ATTR_DEV_NAME);
			  uint32_t number;

			  if (!index || !name)
				  return;
			  memcpy(&number, index, sizeof(number));
			  found[reinterpret_cast<const char *>(name)] = number;
		  });
	return found;
}

/* Of the far one it cannot be seen from here. */
bool is_in_place(int device)
{
	return device == far || !access((class_folder + names[device] +
					 "/device/net/" + interface_of(device))
						.c_str(),
					F_OK);
}

int known_name(const std::string &name)
{
	for (int i = 0; i < devices; i++)
		if (name == names[i])
			return i;
	return -1;
}

const char *const witnesses[] = {"wa0", "wb0"};

bool is_witness(const std::string &name)
{
	return std::ranges::count(witnesses, name) > 0;
}

void remove_adapter(uint32_t index)
{
	Bytes attributes;

	add_attribute(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, &index,
		      sizeof(index));
	ask_nldev(RDMA_NLDEV_CMD_DELLINK, NLM_F_REQUEST | NLM_F_ACK,
		  attributes);
}

bool add_adapter(int device)
{
	Bytes attributes;

	add_text(attributes, RDMA_NLDEV_ATTR_DEV_NAME, names[device]);
	add_text(attributes, RDMA_NLDEV_ATTR_LINK_TYPE, "pavo");
	add_text(attributes, RDMA_NLDEV_ATTR_NDEV_NAME, interface_of(device));
	return !ask_nldev(RDMA_NLDEV_CMD_NEWLINK, NLM_F_REQUEST | NLM_F_ACK,
			  attributes);
}

/* By a thread of its own, since it goes there for good. */
bool add_far_adapter(pid_t holder)
{
	const std::string path = "/proc/" + std::to_string(holder) + "/ns/net";
	bool added = false;

	std::thread([&] {
		int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);

		added = fd >= 0 && !setns(fd, CLONE_NEWNET) && add_adapter(far);
		close(fd);
	}).join();
	return added;
}

std::string read_word(const std::string &path)
{
	std::ifstream in(path);
	std::string word;

	in >> word;
	return word;
}

int find_uverbs(const std::string &name)
{
	for (int i = 0; i < 64; i++) {
		const std::string number = std::to_string(i);
		const std::string node = "/dev/infiniband/uverbs" + number;

		if (read_word("/sys/class/infiniband_verbs/uverbs" + number +
			      "/ibdev") == name)
			return chmod(node.c_str(), 0666) ? -1 : i;
	}
	return -1;
}

std::string print_gid(const uint8_t *gid)
{
	std::string text;
	char group[8];

	for (int i = 0; i < 16; i += 2) {
		snprintf(group, sizeof(group), i ? ":%02x%02x" : "%02x%02x",
			 gid[i], gid[i + 1]);
		text += group;
	}
	return text;
}

/* Index of the address for RoCE v2, or -1. */
int find_gid(const std::string &name, const uint8_t *gid)
{
	const std::string port = class_folder + name + "/ports/1/";
	const std::string wanted = print_gid(gid);

	for (int i = 0; i < 16; i++) {
		const std::string number = std::to_string(i);
		std::ifstream in(port + "gid_attrs/types/" + number);
		std::string type;

		if (std::getline(in, type) && type == "RoCE v2" &&
		    read_word(port + "gids/" + number) == wanted)
			return i;
	}
	return -1;
}

bool find_place(Places &places, int device, uint32_t index)
{
	const int number = find_uverbs(names[device]);
	const int four = find_gid(names[device], places.gid[device]);
	const int six = find_gid(names[device], places.gid[devices + device]);

	if (number < 0 || four < 0 || six < 0)
		return false;
	places.index[device] = index;
	places.uverbs[device] = number;
	places.sgid[device] = uint32_t(four);
	places.sgid[devices + device] = uint32_t(six);
	return true;
}

} // namespace

bool adapters_are_whole()
{
	const auto there = list_adapters();

	for (int i = 0; i < devices; i++)
		if (!there.count(names[i]) || !is_in_place(i))
			return false;
	return there.size() == devices + 2;
}

bool mend_adapters(pid_t holder)
{
	for (const auto &[name, index] : list_adapters()) {
		const int device = known_name(name);

		if (device < 0 ? !is_witness(name) : !is_in_place(device))
			remove_adapter(index);
	}
	const auto there = list_adapters();
	for (int i = 0; i < devices; i++)
		if (!there.count(names[i]) &&
		    !(i == far ? add_far_adapter(holder) : add_adapter(i)))
			return false;
	return true;
}

void reset_counters(const Places &places)
{
	const uint32_t port = 1, mode = RDMA_COUNTER_MODE_AUTO, mask = 0;
	const uint32_t what = RDMA_NLDEV_ATTR_RES_QP;

	for (int i = 0; i < devices; i++) {
		Bytes attributes;

		add_attribute(attributes, RDMA_NLDEV_ATTR_DEV_INDEX,
			      &places.index[i], 4);
		add_attribute(attributes, RDMA_NLDEV_ATTR_PORT_INDEX, &port, 4);
		add_attribute(attributes, RDMA_NLDEV_ATTR_STAT_MODE, &mode, 4);
		add_attribute(attributes, RDMA_NLDEV_ATTR_STAT_RES, &what, 4);
		add_attribute(attributes, RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK,
			      &mask, 4);
		ask_nldev(RDMA_NLDEV_CMD_STAT_SET, NLM_F_REQUEST | NLM_F_ACK,
			  attributes);
	}
}

/* Addresses of a new adapter come a moment later. */
bool find_places(Places &places)
{
	using Clock = std::chrono::steady_clock;
	const auto end = Clock::now() + std::chrono::seconds(10);
	const auto there = list_adapters();

	for (size_t i = 0; i < std::size(witnesses); i++) {
		if (!there.count(witnesses[i]))
			return false;
		places.witness[i] = there.at(witnesses[i]);
	}
	for (int i = 0; i < devices; i++) {
		auto found = there.find(names[i]);

		if (found == there.end())
			return false;
		while (!find_place(places, i, found->second)) {
			if (Clock::now() > end)
				return false;
			std::this_thread::sleep_for(
				std::chrono::milliseconds(5));
		}
	}
	return true;
}

} // namespace callfuzz
