// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * device.cpp - see device.h.
 *
 * An adapter is pavo's if it has the attribute pavo_abi: its name is the user's
 * choice. Every file may vanish while the program reads it.
 */
#include "device.h"

#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

namespace pavo {
namespace {

namespace fs = std::filesystem;

const fs::path DEVICES = "/sys/class/infiniband";
const fs::path INTERFACES = "/sys/class/net";
/* gid_tbl_len of the adapter; entries come and go in between. */
constexpr unsigned int GIDS = 1024;
/* After so many empty entries the search ends. */
constexpr unsigned int EMPTY_GIDS = 32;

std::optional<std::string> read_line(const fs::path &file)
{
	std::ifstream in(file);
	std::string line;

	if (!std::getline(in, line))
		return std::nullopt;
	return line;
}

std::optional<uint64_t> read_number(const fs::path &file)
{
	std::optional<std::string> line = read_line(file);
	uint64_t value = 0;

	if (!line)
		return std::nullopt;
	auto [end, error] = std::from_chars(line->data(),
					    line->data() + line->size(), value);
	if (error != std::errc())
		return std::nullopt;
	return value;
}

/* "4: ACTIVE" is ACTIVE. */
std::string word_of(const fs::path &file)
{
	std::string line = read_line(file).value_or("");
	size_t colon = line.find(": ");

	return colon == line.npos ? line : line.substr(colon + 2);
}

bool is_pavo(const std::string &name)
{
	return fs::exists(DEVICES / name / "pavo_abi");
}

std::vector<Gid> read_gids(const fs::path &port)
{
	std::vector<Gid> gids;
	unsigned int empty = 0;

	for (unsigned int i = 0; i < GIDS && empty < EMPTY_GIDS; i++) {
		std::string n = std::to_string(i);
		/* An empty entry has no type: reading it is an error. */
		auto type = read_line(port / "gid_attrs/types" / n);
		auto gid = read_line(port / "gids" / n);

		if (!type || !gid) {
			empty++;
			continue;
		}
		empty = 0;
		if (*type == "RoCE v2")
			gids.push_back({i, *gid, *type,
					read_line(port / "gid_attrs/ndevs" / n)
						.value_or("")});
	}
	return gids;
}

/* Of an interface that another namespace has, nothing is known. */
void read_link(Device &device)
{
	fs::path interface = INTERFACES / device.netdev;
	auto flags = read_line(interface / "flags");

	if (device.netdev.empty() || !flags)
		return;
	device.netdev_up = std::strtoul(flags->c_str(), nullptr, 16) & IFF_UP;
	device.carrier = read_number(interface / "carrier").value_or(0);
}

[[noreturn]] void gone(const std::string &name)
{
	throw Error(fmt::format("{} was removed", name));
}

} // namespace

std::vector<std::string> device_names()
{
	std::vector<std::string> names;
	std::error_code error;

	for (const auto &entry : fs::directory_iterator(DEVICES, error)) {
		std::string name = entry.path().filename();

		if (is_pavo(name))
			names.push_back(name);
	}
	std::sort(names.begin(), names.end());
	return names;
}

std::vector<std::string> choose_devices(const std::vector<std::string> &wanted)
{
	std::vector<std::string> all = device_names();

	for (const std::string &name : wanted) {
		if (std::find(all.begin(), all.end(), name) != all.end())
			continue;
		if (fs::exists(DEVICES / name))
			throw Error(fmt::format(
				"{} is not an adapter of pavo's", name));
		throw Error(fmt::format("there is no device {}", name));
	}
	if (!wanted.empty())
		return wanted;
	if (all.empty())
		throw Error("there is no adapter: pavo check says why");
	return all;
}

Device read_device(const std::string &name)
{
	fs::path path = DEVICES / name, port = path / "ports/1";
	Device device;

	if (!is_pavo(name))
		gone(name);
	device.name = name;
	device.state = word_of(port / "state");
	device.phys_state = word_of(port / "phys_state");
	device.rate = read_line(port / "rate").value_or("");
	device.node_guid = read_line(path / "node_guid").value_or("");
	device.netdev = read_line(port / "gid_attrs/ndevs/0").value_or("");
	device.netdev_mtu = static_cast<unsigned int>(
		read_number(INTERFACES / device.netdev / "mtu").value_or(0));
	read_link(device);
	device.gids = read_gids(port);
	return device;
}

Counters read_counters(const std::string &name)
{
	Counters counters;
	std::error_code error;

	/* Of the port; and of the device, which older modules have none of. */
	for (const char *folder : {"hw_counters", "ports/1/hw_counters"}) {
		error.clear();
		for (const auto &entry :
		     fs::directory_iterator(DEVICES / name / folder, error)) {
			std::string counter = entry.path().filename();

			/* Not a counter: how long the kernel keeps values that it has read. */
			if (counter == "lifespan")
				continue;
			if (auto value = read_number(entry.path()))
				counters[counter] = *value;
		}
	}
	/* A device of another namespace is shown without its counters. */
	if (error && !is_pavo(name))
		gone(name);
	return counters;
}

} // namespace pavo
