// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * interface_commands.cpp - `pavo interface`: makes, removes, changes and lists network interfaces
 * over windows.
 */
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "device.h"
#include "interface.h"

namespace pavo {
namespace {

uint64_t parse_key(const std::string &text)
{
	char *end = nullptr;

	errno = 0;
	uint64_t key = strtoull(text.c_str(), &end, 0);
	if (errno || end == text.c_str() || *end)
		throw Error("the key is no number of 64 bits");
	return key;
}

/* A file, since all users of a machine see the arguments of a command. */
uint64_t read_key(const InterfaceOptions &options)
{
	std::ifstream file(options.key_file);
	std::string text;

	if (!options.key.empty())
		return parse_key(options.key);
	if (!(file >> text))
		throw Error(options.key_file + ": no key can be read there");
	return parse_key(text);
}

bool is_ipv4(const std::string &gid)
{
	return gid.rfind("0000:0000:0000:0000:0000:ffff:", 0) == 0;
}

bool is_link_local(const std::string &gid)
{
	return gid.rfind("fe8", 0) == 0;
}

/* The first GID of the family that the nodes have. */
uint16_t choose_gid(const std::string &adapter,
		    const std::vector<pavo_interface_node> &nodes)
{
	constexpr uint8_t ipv4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
	bool wants_ipv4 = nodes.empty() ||
			  !memcmp(nodes[0].gid, ipv4, sizeof(ipv4));

	for (const Gid &gid : read_device(adapter).gids)
		if (!is_link_local(gid.gid) && is_ipv4(gid.gid) == wants_ipv4)
			return uint16_t(gid.index);
	throw Error(fmt::format("{}: its interface has no {} address", adapter,
				wants_ipv4 ? "IPv4" : "global IPv6"));
}

/* An interface, and its adapter. */
struct Found {
	std::string adapter;
	pavo_interface_info info;
};

std::vector<Found> find_interfaces(const std::vector<std::string> &adapters)
{
	std::vector<Found> found;

	for (const std::string &adapter : choose_devices(adapters))
		for (const pavo_interface_info &info :
		     UverbsFile(adapter).list())
			found.push_back({adapter, info});
	return found;
}

Found find_interface(const std::string &name)
{
	for (const Found &found : find_interfaces({}))
		if (name == found.info.name)
			return found;
	throw Error(name + ": no interface over a window");
}

nlohmann::json to_json(const Found &found)
{
	const pavo_interface_info &info = found.info;

	return {{"name", info.name},	 {"device", found.adapter},
		{"job", info.job},	 {"node", info.node},
		{"nodes", info.nodes},	 {"known", info.known},
		{"window", info.window}, {"ifindex", info.ifindex},
		{"frame", info.frame}};
}

void print(const Found &found)
{
	const pavo_interface_info &info = found.info;

	fmt::print("{}: device {} job {} node {} window {} knows {} of {} "
		   "nodes, frames of {} bytes\n",
		   info.name, found.adapter, info.job, info.node, info.window,
		   info.known, info.nodes - 1, info.frame);
}

} // namespace

void add_interface(const InterfaceOptions &options)
{
	std::vector<pavo_interface_node> nodes;
	pavo_interface_args args{};

	for (const std::string &text : options.peers)
		nodes.push_back(parse_node(text, options.window));
	if (options.name.size() >= sizeof(args.name))
		throw Error(options.name + ": too long for an interface");
	options.name.copy(args.name, sizeof(args.name) - 1);
	args.key = read_key(options);
	args.job = options.job;
	args.window = options.window;
	args.node = options.node;
	args.nodes = options.nodes;
	args.sgid_index = options.gid_index >= 0 ?
				  uint16_t(options.gid_index) :
				  choose_gid(options.device, nodes);
	/* As many as the highest number needs, if nothing else was said. */
	if (!args.nodes)
		args.nodes = args.node + 1u;
	for (const pavo_interface_node &node : nodes)
		if (!options.nodes && node.node >= args.nodes)
			args.nodes = node.node + 1u;
	print({options.device, UverbsFile(options.device).add(args, nodes)});
}

void delete_interface(const std::string &name)
{
	Found found = find_interface(name);

	UverbsFile(found.adapter).remove(found.info.ifindex);
}

void set_interface_nodes(const std::string &name,
			 const std::vector<std::string> &nodes)
{
	Found found = find_interface(name);
	UverbsFile file(found.adapter);

	for (const std::string &text : nodes)
		file.set_node(found.info.ifindex,
			      parse_node(text, found.info.window));
}

void show_interfaces(const std::vector<std::string> &adapters, bool json)
{
	nlohmann::json all = nlohmann::json::array();

	for (const Found &found : find_interfaces(adapters))
		if (json)
			all.push_back(to_json(found));
		else
			print(found);
	if (json)
		fmt::print("{}\n", all.dump(2));
}

} // namespace pavo
