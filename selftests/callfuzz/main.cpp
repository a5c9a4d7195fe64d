// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * main.cpp - pavo-callfuzz: programs of calls to the module, in a guest with adapters wa0
 * and wb0 for the witness; the others it makes itself. Prints TAP.
 *
 * Usage: pavo-callfuzz --world SCRIPT [--corpus FOLDER]... [--seconds N] [--seed N]
 *                      [--save FOLDER] [--out FOLDER] [--least N] [--patience N]
 *        pavo-callfuzz --world SCRIPT --replay FILE [--times N] [--tell]
 */
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <getopt.h>
#include <iterator>
#include <random>
#include <stdexcept>

#include "fuzzer.h"

using namespace callfuzz;
namespace fs = std::filesystem;

namespace {

struct Asked {
	Options options;
	std::vector<std::string> corpus;
	std::string replay, save;
	unsigned seconds = 0, least = 0, times = 1;
	uint32_t seed = std::random_device()();
	bool tell = false;
};

[[noreturn]] void usage()
{
	fputs("usage: pavo-callfuzz --world SCRIPT [--corpus FOLDER]... "
	      "[--seconds N]\n"
	      "         [--seed N] [--save FOLDER] [--out FOLDER] [--least N] "
	      "[--patience N]\n"
	      "       pavo-callfuzz --world SCRIPT --replay FILE [--times N] "
	      "[--tell]\n",
	      stderr);
	exit(2);
}

void take_option(Asked &asked, char letter, const char *text)
{
	const auto number = uint32_t(text ? strtoul(text, nullptr, 0) : 0);

	switch (letter) {
	case 'w':
		asked.options.script = text;
		break;
	case 'c':
		asked.corpus.push_back(text);
		break;
	case 's':
		asked.seconds = number;
		break;
	case 'e':
		asked.seed = number;
		break;
	case 'k':
		asked.save = text;
		break;
	case 'o':
		asked.options.out = text;
		break;
	case 'l':
		asked.least = number;
		break;
	case 'p':
		asked.options.patience = number;
		break;
	case 'm':
		asked.options.call_ms = number;
		break;
	case 'r':
		asked.replay = text;
		break;
	case 'n':
		asked.times = number;
		break;
	case 't':
		asked.tell = true;
		break;
	default:
		usage();
	}
}

Asked parse(int argc, char **argv)
{
	static const option longs[] = {
		{"world", required_argument, nullptr, 'w'},
		{"corpus", required_argument, nullptr, 'c'},
		{"seconds", required_argument, nullptr, 's'},
		{"seed", required_argument, nullptr, 'e'},
		{"save", required_argument, nullptr, 'k'},
		{"out", required_argument, nullptr, 'o'},
		{"least", required_argument, nullptr, 'l'},
		{"patience", required_argument, nullptr, 'p'},
		{"call-ms", required_argument, nullptr, 'm'},
		{"replay", required_argument, nullptr, 'r'},
		{"times", required_argument, nullptr, 'n'},
		{"tell", no_argument, nullptr, 't'},
		{},
	};
	Asked asked;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, nullptr)) != -1)
		take_option(asked, char(c), optarg);
	if (asked.options.script.empty() || optind != argc)
		usage();
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

/* What each call of the program said. */
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
			printf("not ok %u %s\n", ++number_, wrong.text.c_str());
			complain();
			failed_ = true;
		}
		printf("1..%u\n", number_);
		return failed_;
	}

private:
	void check(bool well, const std::string &what)
	{
		printf("%s %u %s\n", well ? "ok" : "not ok", ++number_,
		       what.c_str());
		failed_ |= !well;
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
		tell_coverage(seeded);
	}

	void tell_coverage(size_t seeded)
	{
		if (!director_.has_kcov()) {
			printf("ok %u coverage # SKIP a kernel without KCOV\n",
			       ++number_);
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
	unsigned number_ = 0;
	bool failed_ = false;
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
