// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * main.cpp - pavo-callfuzz: programs of calls to the module, in a guest with adapters wa0
 * and wb0 for the witness; the others it makes itself. Prints TAP.
 */
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "../common/options.h"
#include "../common/parameter.h"
#include "../common/tap.h"
#include "fuzzer.h"

using namespace callfuzz;
namespace fs = std::filesystem;

namespace {

struct Asked {
	Options options;
	std::vector<std::string> corpus;
	std::string replay, save, late;
	unsigned seconds = 0, least = 0, times = 1;
	uint32_t seed = std::random_device()();
	bool tell = false;
};

Asked parse(int argc, char **argv)
{
	common::CommandLine app(
		"pavo-callfuzz - programs of calls to the module, in a "
		"guest\nPrints TAP.");
	Asked asked;
	Options &options = asked.options;

	app.add_option("--world", options.script, "world.sh")->required();
	app.add_list("--corpus", asked.corpus,
		     "folder of programs to begin with; may be repeated");
	app.add_option("--seconds", asked.seconds,
		       "how long programs at random are run (0)");
	app.add_option("--seed", asked.seed, "of the programs at random");
	app.add_option("--save", asked.save,
		       "folder for programs that reach new places");
	app.add_option("--out", options.out,
		       "folder for what the host shall see");
	app.add_option("--least", asked.least,
		       "places of the module to be reached (0)");
	app.add_option("--patience", options.patience,
		       "seconds until something hangs (60)");
	app.add_option("--call-ms", options.call_ms,
		       "milliseconds until the next call does not wait (20)");
	app.add_option("--starve-ms", options.starve_ms,
		       "longest time without the CPU (5000)");
	app.add_option("--late", asked.late,
		       "program whose late bytes are found where all "
		       "namespaces are trusted");
	app.add_option("--replay", asked.replay, "run this program only");
	app.add_option("--times", asked.times, "how often it is run (1)");
	app.add_flag("--tell", asked.tell, "print how each call ended");
	app.read(argc, argv);
	return asked;
}

std::string read_text(const fs::path &path)
{
	std::ifstream in(path);

	return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> files_of(const std::vector<std::string> &folders)
{
	std::vector<fs::path> files;

	for (const std::string &folder : folders)
		for (const auto &entry : fs::directory_iterator(folder))
			if (entry.is_regular_file())
				files.push_back(entry.path());
	std::sort(files.begin(), files.end());
	return files;
}

/* The result of each call of the program. */
void tell_calls(Director &director, const Program &program)
{
	for (size_t i = 0; i < program.calls.size(); i++) {
		const Told &told = director.shared().told[i];

		printf("# %zu %s: %s\n", i,
		       program.calls[i].entry->name.c_str(),
		       told.state != State::done ? "not done" :
		       told.error		 ? strerror(told.error) :
						   "well");
	}
}

class Session {
public:
	explicit Session(const Asked &asked)
		: asked_(asked), director_(asked.options),
		  fuzzer_(director_, asked.seed, asked.save)
	{
	}

	/* Return: the exit status. */
	int run()
	{
		printf("# seed %u\n", asked_.seed);
		try {
			if (!asked_.replay.empty())
				replay();
			else
				work();
		} catch (const Wrong &wrong) {
			check(false, wrong.text);
			complain();
		}
		printf("1..%zu\n", tap_next(&tap_) - 1);
		return tap_end(&tap_);
	}

private:
	void check(bool well, const std::string &what)
	{
		tap_result(&tap_, well, what.c_str());
	}

	void complain()
	{
		const std::string text = fuzzer_.last().text();

		if (!asked_.options.out.empty())
			std::ofstream(asked_.options.out + "/failed") << text;
		puts("# the last program, for --replay:");
		for (size_t at = 0; at < text.size();) {
			size_t end = text.find('\n', at);

			printf("#   %s\n", text.substr(at, end - at).c_str());
			at = end + 1;
		}
	}

	/* An oracle that finds nothing has to be able to. */
	void prove_oracles()
	{
		uint32_t ms = 0;

		for (int i = 0; i < 3 && ms < 200; i++)
			ms = director_.starve(400);
		check(ms >= 200, "a starved process says so: " +
					 std::to_string(ms) + " ms");
		if (!asked_.late.empty())
			prove_late();
	}

	void prove_late()
	{
		common::Parameter trusted("trust_namespaces", "Y");
		std::string found;

		try {
			fuzzer_.add_seed(
				Program::parse(read_text(asked_.late)));
		} catch (const Wrong &wrong) {
			found = wrong.text;
		}
		check(found.starts_with("late bytes"),
		      "late bytes are found where namespaces are trusted: " +
			      found);
	}

	void replay()
	{
		const Program program =
			Program::parse(read_text(asked_.replay));

		for (unsigned i = 0; i < asked_.times; i++)
			fuzzer_.add_seed(program);
		if (asked_.tell)
			tell_calls(director_, program);
		check(true, "replay of " + asked_.replay);
	}

	void work()
	{
		const auto files = files_of(asked_.corpus);

		prove_oracles();
		for (const fs::path &path : files) {
			const Program program = Program::parse(read_text(path));

			fuzzer_.add_seed(program);
			if (!asked_.tell)
				continue;
			printf("# %s: %lld ms\n", path.filename().c_str(),
			       static_cast<long long>(
				       director_.last_time().count() /
				       1000000));
			tell_calls(director_, program);
		}
		check(!files.empty(), "corpus: all " +
					      std::to_string(files.size()) +
					      " programs end");
		const size_t seeded = fuzzer_.places();
		if (asked_.seconds)
			fuzzer_.fuzz(std::chrono::seconds(asked_.seconds));
		director_.look();
		check(true, "programs at random for " +
				    std::to_string(asked_.seconds) + " s");
		check(director_.shared().witnessed > 0,
		      "the witness's traffic was right " +
			      std::to_string(director_.shared().witnessed) +
			      " times");
		printf("# longest time without the CPU: %u ms\n",
		       director_.starved_ms());
		tell_coverage(seeded);
	}

	void tell_coverage(size_t seeded)
	{
		if (!director_.has_kcov()) {
			tap_skip(&tap_, "coverage", "a kernel without KCOV");
			return;
		}
		check(fuzzer_.places() >= asked_.least,
		      "coverage: " + std::to_string(fuzzer_.places()) +
			      " places of the module, " +
			      std::to_string(seeded) + " by the corpus, of " +
			      std::to_string(asked_.least) + " at least");
		if (!asked_.options.out.empty())
			fuzzer_.write_places(asked_.options.out + "/places");
	}

	Asked asked_;
	Director director_;
	Fuzzer fuzzer_;
	tap tap_ = {};
};

} // namespace

int main(int argc, char **argv)
{
	const Asked asked = parse(argc, argv);

	setvbuf(stdout, nullptr, _IOLBF, 0);
	try {
		return Session(asked).run();
	} catch (const Wrong &wrong) {
		printf("Bail out! %s\n", wrong.text.c_str());
	} catch (const std::exception &error) {
		printf("Bail out! %s\n", error.what());
	}
	return 1;
}
