// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * striped_copy.cpp - a file to another machine, over several adapters at once.
 *
 *   first machine:   striped_copy pavo0,pavo1 TO-FILE
 *   second machine:  striped_copy pavo0,pavo1 ADDRESS-OF-THE-FIRST FROM-FILE
 *
 * Each adapter is a lane; the first of one machine is connected with the first of the
 * other, and so on. One that fails on the way is done without. The second says how much
 * went by each lane, the first whether what came is what was sent.
 */
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <pavo/striped.hpp>

#include "meeting.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t job_id = 1004;
constexpr uint64_t job_key = 0x737472697065;
constexpr uint16_t port = 7474;
constexpr size_t most_lanes = 8;

/* What the other end has to know of a lane. */
struct LaneCard {
	pavo::Gid gid;
	uint32_t window;
	std::array<uint32_t, 4> contexts;
};

struct Card {
	size_t lanes;
	std::array<LaneCard, most_lanes> lane;
	pavo::Pvo memory;
};

/* An adapter, and what is of it. */
struct Lane {
	Lane(const std::string &name, uint16_t node,
	     std::span<std::byte> buffer)
		: device(name), job(job_of(device)),
		  address(examples::address_of(name)),
		  window(job, {.node = node, .gid_index = address.index}),
		  /* It is mapped as long as any adapter is there. */
		  mapping(job, buffer)
	{
	}

	static pavo::Job job_of(const pavo::Device &device)
	{
		try {
			return pavo::Job::reserve(device, job_id, job_key);
		} catch (const std::system_error &error) {
			if (error.code() != std::errc::file_exists)
				throw;
		}
		return pavo::Job::join(device, job_id, job_key);
	}

	pavo::Device device;
	pavo::Job job;
	examples::Address address;
	pavo::Window window;
	pavo::Mapping mapping;
};

struct Node {
	Node(const std::vector<std::string> &adapters, const std::string &host,
	     std::vector<std::byte> file)
		: meeting(host, port), buffer(std::move(file))
	{
		uint64_t bytes = meeting.exchange(uint64_t(buffer.size()));
		uint16_t other = meeting.first();
		Card mine{};

		if (meeting.first())
			buffer.resize(bytes);
		for (const std::string &name : adapters)
			add(name, mine);
		mine.memory = lanes[0]->mapping.pvo();

		Card theirs = meeting.exchange(mine);
		if (theirs.lanes != mine.lanes)
			throw std::runtime_error(
				"the other end has another number of adapters");
		for (size_t i = 0; i < lanes.size(); i++) {
			const LaneCard &lane = theirs.lane[i];

			lanes[i]->window.set_node(other, lane.gid);
			striped.connect(i, {other,
					    lane.window,
					    {lane.contexts.begin(),
					     lane.contexts.end()}});
		}
		memory = theirs.memory;
	}

	void add(const std::string &name, Card &card)
	{
		LaneCard &lane = card.lane.at(card.lanes++);

		lanes.push_back(std::make_unique<Lane>(
			name, uint16_t(!meeting.first()), buffer));
		auto lent =
			striped.add(lanes.back()->window, lane.contexts.size());
		std::copy(lent.begin(), lent.end(), lane.contexts.begin());
		lane.gid = lanes.back()->address.gid;
		lane.window = lanes.back()->window.number();
	}

	/* FNV-1a of what is in the buffer. */
	uint64_t hash() const
	{
		uint64_t value = 0xcbf29ce484222325;

		for (std::byte byte : buffer)
			value = (value ^ uint8_t(byte)) * 0x100000001b3;
		return value;
	}

	examples::Meeting meeting;
	std::vector<std::byte> buffer;
	std::vector<std::unique_ptr<Lane>> lanes;
	pavo::Striped striped;
	pavo::Pvo memory;
};

void receive(Node &node, const std::string &name)
{
	bool arrived = false;

	node.striped.on_arrival(
		[&](const pavo::StripedArrival &) { arrived = true; });
	/* It has to be said that it came, and the other end has to hear that. */
	while (!node.meeting.anything())
		node.striped.progress();
	if (!arrived)
		throw std::runtime_error("the other end gave up");
	if (node.meeting.exchange(node.hash()) != node.hash())
		throw std::runtime_error("what came is not what was sent");

	std::ofstream file(name, std::ios::binary);
	file.write(reinterpret_cast<const char *>(node.buffer.data()),
		   std::streamsize(node.buffer.size()));
	if (!file.flush())
		throw std::runtime_error(name + " cannot be written");
	printf("%zu bytes came as they were sent\n", node.buffer.size());
}

void send(Node &node, const std::vector<std::string> &adapters)
{
	Clock::time_point begin = Clock::now();
	std::error_code result;

	node.striped.put({.local = node.lanes[0]->mapping.pvo(),
			  .remote = node.memory,
			  .length = node.buffer.size(),
			  .tell = true},
			 [&](std::error_code error) { result = error; });
	while (node.striped.pending())
		node.striped.progress();
	if (result)
		throw std::system_error(result, "put");
	std::chrono::duration<double> time = Clock::now() - begin;
	for (size_t i = 0; i < adapters.size(); i++) {
		pavo::StripedLane lane = node.striped.lane(i);

		printf("%s: %llu bytes, %.1f MB/s%s\n", adapters[i].c_str(),
		       static_cast<unsigned long long>(lane.bytes),
		       double(lane.bytes) / time.count() / 1e6,
		       lane.living ? "" : ", then it was given up");
	}
	if (node.meeting.exchange(node.hash()) != node.hash())
		throw std::runtime_error("it came, but not as it was sent");
}

std::vector<std::string> split(const std::string &text)
{
	std::istringstream names(text);
	std::vector<std::string> list;
	std::string name;

	while (std::getline(names, name, ','))
		list.push_back(name);
	if (list.empty() || list.size() > most_lanes)
		throw std::runtime_error("one adapter to eight, with commas");
	return list;
}

std::vector<std::byte> read(const std::string &name)
{
	std::ifstream file(name, std::ios::binary);
	std::string text((std::istreambuf_iterator<char>(file)), {});

	if (!file || text.empty())
		throw std::runtime_error(name + " cannot be read, or is empty");
	auto bytes = std::as_bytes(std::span(text));
	return {bytes.begin(), bytes.end()};
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4) {
		fprintf(stderr,
			"usage: striped_copy ADAPTER[,ADAPTER...] TO-FILE\n"
			"       striped_copy ADAPTER[,ADAPTER...] ADDRESS "
			"FROM-FILE\n");
		return 2;
	}
	try {
		std::vector<std::string> adapters = split(argv[1]);

		if (argc == 3) {
			Node node(adapters, "", {});
			receive(node, argv[2]);
		} else {
			Node node(adapters, argv[2], read(argv[3]));
			send(node, adapters);
		}
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "striped_copy: %s\n", error.what());
		return 1;
	}
}
