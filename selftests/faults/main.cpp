// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * main.cpp - pavo-faults: wrong input from user space, in a guest.
 * Two pavo devices that reach each other, both in this guest. Prints TAP and,
 * at the end, how the counters of the devices have moved.
 */
#include <algorithm>
#include <string>
#include <vector>

#include "../common/adapter.h"
#include "../common/options.h"
#include "cases.h"

using namespace faults;

namespace {

struct Options {
	World world = {.name_a = "",
		       .name_b = "",
		       .witness = nullptr,
		       .seed = std::random_device()(),
		       .fuzz_seconds = 20};
	std::vector<std::string> only;

	bool wants(const std::string &name) const
	{
		return only.empty() ||
		       std::ranges::any_of(only, [&](const std::string &text) {
			       return name.find(text) != std::string::npos;
		       });
	}
	bool list = false;
};

Options parse(int argc, char **argv)
{
	common::CommandLine app(
		"pavo-faults - wrong input from user space, in a guest\n"
		"Prints TAP.");
	Options options;
	World &world = options.world;

	app.add_option("--dev", world.name_a, "the adapter that is misused")
		->required();
	app.add_option("--peer", world.name_b,
		       "another that it reaches, in this guest, too")
		->required();
	app.add_list("--only", options.only,
		     "cases whose name contains this text; may be repeated");
	app.add_option("--seed", world.seed, "of the random cases");
	app.add_option("--seconds", world.fuzz_seconds,
		       "how long the random ones take (20)");
	app.add_option("--patience", patience,
		       "seconds to wait for what must come (20)");
	app.add_flag("--list", options.list, "print the names of the cases");
	app.read(argc, argv);
	return options;
}

/* The counters that moved, for the reader; the cases have checked those that had to. */
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
	Faults all{hostile};
	common::Cases cases;

	add_wqe_faults(all);
	add_segment_faults(all);
	add_key_faults(all);
	add_chain_faults(all);
	add_doorbell_faults(all);
	add_direct_faults(all);
	add_ring_faults(all);
	add_queue_faults(all);
	add_datagram_faults(all);
	add_xrc_faults(all);
	add_mmap_faults(all);
	add_fuzz(all);
	for (common::Case &test : all.cases)
		if (options.wants(test.name))
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
