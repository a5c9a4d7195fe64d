// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * striped_copy.cpp - a file to another machine, over several adapters at once.
 *
 *   first machine:   striped_copy pavo0,pavo1 TO-FILE
 *   second machine:  striped_copy pavo0,pavo1 ADDRESS-OF-THE-FIRST FROM-FILE
 *
 * Each adapter is a path; the first of one machine is connected with the first of the
 * other, and so on. If a path fails on the way, the others carry its part. The second
 * says how much went by each path, and the first whether the bytes came as they were
 * sent.
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

#include <pavo/connect.hpp>
#include <pavo/striped.hpp>

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t job_id = 1006;
constexpr uint64_t key = 0x737472697065;
constexpr size_t most_paths = 8;

/* An adapter, with a window of the job. */
struct Path {
	Path(const pavo::Group &group, const std::string &name,
	     std::span<std::byte> buffer)
		: device(pavo::Device::open(name).value()),
		  job(pavo::Job::open(device, job_id, key).value()),
		  window(pavo::open_window(group, job).value()),
		  mapping(pavo::Mapping::open(job, buffer).value())
	{
	}

	pavo::Device device;
	pavo::Job job;
	pavo::Window window;
	/* The buffer stays mapped as long as any adapter is there. */
	pavo::Mapping mapping;
};

/* Numbers that the ends exchange first. */
struct Hello {
	uint64_t bytes;
	size_t paths;
};

struct End {
	End(const std::vector<std::string> &adapters, const std::string &host,
	    std::vector<std::byte> file)
		: group(pavo::Group::join({.host = host,
					   .port = 7476,
					   .size = 2,
					   .key = key})
				.value()),
		  other(1 - group.rank()), buffer(std::move(file))
	{
		Hello theirs = exchange(Hello{buffer.size(), adapters.size()});

		if (theirs.paths != adapters.size())
			throw std::runtime_error(
				"the other end has another number of adapters");
		if (group.rank() == 0)
			buffer.resize(theirs.bytes);
		for (const std::string &name : adapters)
			add(name);
		memory = exchange(paths[0]->mapping.pvo());
	}

	/* Exchange a value with the other end. Return: its value. */
	template <class T> T exchange(const T &mine)
	{
		return group.exchange(mine, [this] { striped.progress(); })
			.value()[other];
	}

	/* The other end makes the same call. */
	void add(const std::string &name)
	{
		std::array<uint32_t, 4> contexts;

		paths.push_back(std::make_unique<Path>(group, name, buffer));
		pavo::Window &window = paths.back()->window;
		auto address = pavo::connect(group, window).value()[other];
		striped.add(window, contexts).value();
		contexts = exchange(contexts);
		striped.connect(paths.size() - 1,
				{address, {contexts.begin(), contexts.end()}})
			.value();
	}

	/* FNV-1a of the buffer's bytes. */
	uint64_t hash() const
	{
		uint64_t value = 0xcbf29ce484222325;

		for (std::byte byte : buffer)
			value = (value ^ uint8_t(byte)) * 0x100000001b3;
		return value;
	}

	pavo::Group group;
	size_t other;
	std::vector<std::byte> buffer;
	std::vector<std::unique_ptr<Path>> paths;
	pavo::Striped striped;
	pavo::Pvo memory;
};

void receive(End &end, const std::string &name)
{
	bool arrived = false;

	end.striped.on_arrival(
		[&](const pavo::StripedArrival &) { arrived = true; });
	/* This end has to say that the file came, and the other end has to hear that. */
	if (!end.exchange(char(true)))
		throw std::runtime_error("the other end gave up");
	if (!arrived || end.exchange(end.hash()) != end.hash())
		throw std::runtime_error(
			"the bytes are not those that were sent");

	std::ofstream file(name, std::ios::binary);
	file.write(reinterpret_cast<const char *>(end.buffer.data()),
		   std::streamsize(end.buffer.size()));
	if (!file.flush())
		throw std::runtime_error(name + " cannot be written");
	printf("%zu bytes came as they were sent\n", end.buffer.size());
}

void send(End &end, const std::vector<std::string> &adapters)
{
	Clock::time_point begin = Clock::now();
	pavo::Completion moved;

	end.striped
		.put({.local = end.paths[0]->mapping.pvo(),
		      .remote = end.memory,
		      .length = end.buffer.size(),
		      .notify = true},
		     moved)
		.value();
	while (end.striped.pending())
		end.striped.progress();
	std::chrono::duration<double> time = Clock::now() - begin;
	for (size_t i = 0; i < adapters.size(); i++) {
		pavo::StripedPath path = end.striped.path(i);

		printf("%s: %llu bytes, %.1f MB/s", adapters[i].c_str(),
		       static_cast<unsigned long long>(path.bytes),
		       double(path.bytes) / time.count() / 1e6);
		if (!path.alive)
			printf(", then it was given up: %s",
			       path.error.message().c_str());
		puts("");
	}
	end.exchange(char(moved.result().has_value()));
	moved.result().value();
	if (end.exchange(end.hash()) != end.hash())
		throw std::runtime_error(
			"the file came, but not as it was sent");
}

std::vector<std::string> split(const std::string &text)
{
	std::istringstream names(text);
	std::vector<std::string> list;
	std::string name;

	while (std::getline(names, name, ','))
		list.push_back(name);
	if (list.empty() || list.size() > most_paths)
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
			End end(adapters, "", {});
			receive(end, argv[2]);
		} else {
			End end(adapters, argv[2], read(argv[3]));
			send(end, adapters);
		}
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "striped_copy: %s\n", error.what());
		return 1;
	}
}
