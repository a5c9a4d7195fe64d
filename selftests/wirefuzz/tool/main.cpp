// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-wirefuzz: dialogues between an adapter, its application and its peers, invented
 * and changed by a seed, or read from files.
 *
 * Owns: the command line. Called by guest.sh in a guest, as root.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <getopt.h>

#include "campaign.h"

namespace {

using namespace wf;

constexpr char usage[] =
	"usage: pavo-wirefuzz [OPTION...] [DIALOGUE...]\n"
	"  Plays the dialogues of the files; with --seconds or --count also new ones.\n"
	"  --device NAME      the adapter (wf0)\n"
	"  --interface NAME   the other end of its wire (wtool)\n"
	"  --seconds N        how long new dialogues are played\n"
	"  --count N          how many\n"
	"  --seed N           of the choices (1)\n"
	"  --failures         allocations of the kernel fail now and then\n"
	"  --patience N       seconds for the witness to make progress (30)\n"
	"  --out FOLDER       for dialogues that were wrong, and the last ones\n"
	"  --save FOLDER      for few dialogues that reach what all reached\n"
	"  --print            prints the first COUNT dialogues; needs no adapter\n";

enum Option {
	device = 256,
	interface,
	seconds,
	count,
	seed,
	failures,
	patience,
	out,
	save,
	print_only,
	help
};

const option long_options[] = {
	{"device", required_argument, nullptr, device},
	{"interface", required_argument, nullptr, interface},
	{"seconds", required_argument, nullptr, seconds},
	{"count", required_argument, nullptr, count},
	{"seed", required_argument, nullptr, seed},
	{"failures", no_argument, nullptr, failures},
	{"patience", required_argument, nullptr, patience},
	{"out", required_argument, nullptr, out},
	{"save", required_argument, nullptr, save},
	{"print", no_argument, nullptr, print_only},
	{"help", no_argument, nullptr, help},
	{}};

/* Return: false: not understood. */
bool take_option(int chosen, Options &options, bool &only_print)
{
	switch (chosen) {
	case device:
		options.device = optarg;
		return true;
	case interface:
		options.interface = optarg;
		return true;
	case seconds:
		options.seconds = std::atof(optarg);
		return true;
	case count:
		options.count = std::strtoull(optarg, nullptr, 0);
		return true;
	case seed:
		options.seed = std::strtoull(optarg, nullptr, 0);
		return true;
	case failures:
		options.failures = true;
		return true;
	case patience:
		options.patience =
			static_cast<unsigned>(std::strtoul(optarg, nullptr, 0));
		return true;
	case out:
		options.out = optarg;
		return true;
	case save:
		options.save = optarg;
		return true;
	case print_only:
		only_print = true;
		return true;
	}
	return false;
}

/* What is invented can be read again. */
int print_some(const Options &options)
{
	Random random(options.seed);
	Dialogue last;

	for (uint64_t n = 0; n < options.count; n++) {
		Dialogue one = n % 2 ? mutate(last, last, true, random) :
				       invent(random);

		if (parse(print(one)) != one) {
			std::printf("not read as it was printed:\n%s",
				    print(one).c_str());
			return 1;
		}
		std::printf("# %llu\n%s", static_cast<unsigned long long>(n),
			    print(one).c_str());
		last = std::move(one);
	}
	return 0;
}

int play_all(Options &options)
{
	Witness witness(options.device);
	bool right = true;

	witness.expect_progress(options.patience);
	if (options.count && options.seconds == 0)
		options.seconds = 1e9;
	Campaign campaign(options, witness);

	right = campaign.replay();
	if (right && options.seconds > 0)
		right = campaign.run();
	witness.expect_progress(options.patience);
	std::printf("# %s\n# %s\n", campaign.summary().c_str(),
		    campaign.unmoved().c_str());
	return right ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
	Options options;
	bool only_print = false;
	int chosen;

	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	while ((chosen = getopt_long(argc, argv, "", long_options, nullptr)) !=
	       -1)
		if (!take_option(chosen, options, only_print)) {
			std::fputs(usage, chosen == help ? stdout : stderr);
			return chosen == help ? 0 : 2;
		}
	options.files.assign(argv + optind, argv + argc);
	try {
		return only_print ? print_some(options) : play_all(options);
	} catch (const std::exception &fault) {
		std::printf("# %s\n", fault.what());
		return 1;
	}
}
