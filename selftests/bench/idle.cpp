// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * idle.cpp - what windows cost that do nothing: messages between two windows while 1, 100
 * and 10,000 are open on the sender's adapter, its own among them; the memory of each,
 * and the time to open another. Started by ./windows-guest.sh; prints a line of JSON for
 * every repetition.
 *
 * usage: pavo-bench-idle events|polling A B [MOST]
 */
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <nlohmann/json.hpp>
#include <rdma/pavo-abi.h>

#include "../common/files.h"
#include "program/windows.h"

using namespace bench;

namespace {

constexpr int repetitions = 5;
constexpr size_t size = 64;

void print(const char *what, size_t windows, const char *unit, double value)
{
	std::cout << nlohmann::json{{"what", what},
				    {"windows", windows},
				    {"unit", unit},
				    {"value", value}}
			     .dump()
		  << '\n'
		  << std::flush;
}

/* Bytes that a program could have now. */
int64_t available()
{
	return int64_t(common::number_behind("/proc/meminfo",
					     "MemAvailable:")) *
	       1024;
}

using Idle = std::vector<std::unique_ptr<pavo::Window>>;

/* As small as they can be. */
std::unique_ptr<pavo::Window> small(const WindowEnd &end)
{
	return std::make_unique<pavo::Window>(
		pavo::Window::open(
			end.job,
			pavo::WindowOptions{.send_frames = PAVO_FIFO_LEAST,
					    .recv_frames = PAVO_FIFO_LEAST})
			.value());
}

/* Free pages that a CPU keeps are not counted: of a few windows nothing can be said. */
constexpr size_t tells = 1000;

void fill_up(Idle &idle, const WindowEnd &end, size_t count)
{
	size_t more = count - 1 - idle.size();

	for (int left = repetitions; left; left--) {
		int64_t before = available();
		size_t part = more / left;

		for (size_t i = 0; i < part; i++)
			idle.push_back(small(end));
		if (part >= tells)
			print("memory of a window", count, "bytes",
			      double(before - available()) / double(part));
		more -= part;
	}
}

void open_another(const WindowEnd &end, size_t count)
{
	Idle opened;

	for (int i = 0; i < repetitions; i++) {
		uint64_t start = now();

		opened.push_back(small(end));
		print("opening a window", count, "ns", double(now() - start));
	}
}

void messages(Windows &windows, size_t count)
{
	StreamSpec stream = {Op::send, size, 512, 64, 16, 1, 1};
	LatencySpec single = {Op::send, size, 200, 1};

	for (int i = 0; i < repetitions; i++) {
		std::vector<uint64_t> times = windows.latency(single);

		std::sort(times.begin(), times.end());
		print("message there", count, "ns",
		      double(times[times.size() / 2]));
		print("message of many", count, "ns",
		      double(windows.stream(stream)) / stream.messages);
	}
}

void run(Wait wait, const char *a, const char *b, size_t most)
{
	Device first(a), second(b);
	Windows windows(first, second, wait);
	Idle idle;

	for (size_t count : {size_t(1), size_t(100), size_t(10000)}) {
		if (count > most)
			break;
		fill_up(idle, windows.first(), count);
		open_another(windows.first(), count);
		messages(windows, count);
	}
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc < 4)
		throw std::invalid_argument("usage: events|polling A B [MOST]");
	run(argv[1] == std::string("events") ? Wait::events : Wait::polling,
	    argv[2], argv[3], argc > 4 ? strtoull(argv[4], nullptr, 0) : ~0ull);
	return 0;
} catch (const std::exception &problem) {
	std::cerr << "pavo-bench-idle: " << problem.what() << '\n';
	return 1;
}
