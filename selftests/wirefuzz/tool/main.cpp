// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-wirefuzz: dialogues between an adapter, its application and its peers, invented
 * and changed by a seed, or read from files.
 *
 * Owns: the command line. Called by guest.sh in a guest, as root.
 */
#include <cstdio>
#include <exception>

#include "../../common/options.h"
#include "campaign.h"

namespace {

using namespace wf;

struct Asked {
	Options options;
	bool only_print = false;
};

Asked parse_arguments(int argc, char **argv)
{
	common::CommandLine app(
		"pavo-wirefuzz - plays the dialogues of files; with "
		"--seconds or --count also new ones");
	Asked asked;
	Options &options = asked.options;

	app.add_rest("DIALOGUE", options.files, "dialogues to begin with");
	app.add_option("--device", options.device, "the adapter (wf0)");
	app.add_option("--interface", options.interface,
		       "the other end of its wire (wtool)");
	app.add_option("--netif", options.netif,
		       "interface over a window of the adapter (none)");
	app.add_option("--seconds", options.seconds,
		       "how long new dialogues are played");
	app.add_option("--count", options.count, "how many");
	app.add_option("--seed", options.seed, "of the choices (1)");
	app.add_flag("--failures", options.failures,
		     "allocations of the kernel fail now and then");
	app.add_option("--patience", options.patience,
		       "seconds for the witness to make progress (30)");
	app.add_option("--out", options.out,
		       "folder for dialogues that were wrong, and the last "
		       "ones");
	app.add_option("--save", options.save,
		       "folder for few dialogues that reach what all reached");
	app.add_flag("--print", asked.only_print,
		     "print the first COUNT dialogues; needs no adapter");
	app.read(argc, argv);
	return asked;
}

/* An invented dialogue can be read again. */
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
	std::setvbuf(stdout, nullptr, _IOLBF, 0);

	Asked asked = parse_arguments(argc, argv);

	try {
		return asked.only_print ? print_some(asked.options) :
					  play_all(asked.options);
	} catch (const std::exception &fault) {
		std::printf("# %s\n", fault.what());
		return 1;
	}
}
