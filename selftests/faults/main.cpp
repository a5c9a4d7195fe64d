// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * main.cpp - pavo-faults: wrong input from user space, in a guest.
 *
 * Usage: pavo-faults --dev A --peer B [--only TEXT] [--seed N] [--seconds N]
 *                    [--patience N] [--list]
 * Two pavo devices that reach each other, both in this guest. Prints TAP and,
 * at the end, how the counters of the devices have moved.
 */
#include <cstdlib>
#include <cstring>
#include <getopt.h>

#include "../common/adapter.h"
#include "cases.h"

using namespace faults;

namespace {

struct Options {
	World world = {.name_a = "",
		       .name_b = "",
		       .witness = nullptr,
		       .seed = std::random_device()(),
		       .fuzz_seconds = 20};
	std::string only;
	bool list = false;
};

[[noreturn]] void usage()
{
	fputs("usage: pavo-faults --dev A --peer B [--only TEXT] [--seed N]\n"
	      "                   [--seconds N] [--patience N] [--list]\n",
	      stderr);
	exit(2);
}

Options parse(int argc, char **argv)
{
	static const option longs[] = {
		{"dev", required_argument, nullptr, 'd'},
		{"peer", required_argument, nullptr, 'p'},
		{"only", required_argument, nullptr, 'o'},
		{"seed", required_argument, nullptr, 's'},
		{"seconds", required_argument, nullptr, 'n'},
		{"patience", required_argument, nullptr, 'w'},
		{"list", no_argument, nullptr, 'l'},
		{},
	};
	Options options;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, nullptr)) != -1) {
		uint32_t number = optarg ?
					  static_cast<uint32_t>(
						  strtoul(optarg, nullptr, 0)) :
					  0;

		switch (c) {
		case 'd':
			options.world.name_a = optarg;
			break;
		case 'p':
			options.world.name_b = optarg;
			break;
		case 'o':
			options.only = optarg;
			break;
		case 's':
			options.world.seed = number;
			break;
		case 'n':
			options.world.fuzz_seconds = number;
			break;
		case 'w':
			patience = number;
			break;
		case 'l':
			options.list = true;
			break;
		default:
			usage();
		}
	}
	if (options.world.name_a.empty() || options.world.name_b.empty())
		usage();
	return options;
}

/* What moved, for the reader; the cases have checked what had to. */
void print_changes(const Device &device, std::map<std::string, uint64_t> before)
{
	for (auto &[name, value] : common::counters(device.name()))
		if (value != before[name])
			printf("# %s %s +%llu\n", device.name().c_str(),
			       name.c_str(),
			       static_cast<unsigned long long>(value -
							       before[name]));
}

int run(Options &options)
{
	Witness witness(options.world.name_a, options.world.name_b);

	options.world.witness = &witness;
	witness.testify();

	Hostile hostile(options.world);
	auto before_a = common::counters(options.world.name_a),
	     before_b = common::counters(options.world.name_b);
	Cases all, cases;

	add_wqe_faults(all, hostile);
	add_segment_faults(all, hostile);
	add_key_faults(all, hostile);
	add_chain_faults(all, hostile);
	add_doorbell_faults(all, hostile);
	add_ring_faults(all, hostile);
	add_queue_faults(all, hostile);
	add_datagram_faults(all, hostile);
	add_xrc_faults(all, hostile);
	add_mmap_faults(all, hostile);
	add_fuzz(all, hostile);
	for (common::Case &test : all)
		if (test.name.find(options.only) != std::string::npos)
			cases.push_back(std::move(test));
	if (options.list) {
		for (const common::Case &test : cases)
			puts(test.name.c_str());
		return 0;
	}
	printf("# seed %u\n", options.world.seed);

	int result = common::run(cases);

	print_changes(hostile.a, before_a);
	print_changes(hostile.b, before_b);
	return result;
}

} // namespace

int main(int argc, char **argv)
{
	Options options = parse(argc, argv);

	try {
		return run(options);
	} catch (const std::exception &failure) {
		printf("Bail out! %s\n", failure.what());
		return 1;
	}
}
