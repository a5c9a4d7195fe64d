// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Runs the registered tests and prints them as TAP.
 *
 * Owns: stdout, the watchdog that ends a hung run.
 * Called by: main.cpp.
 */
#include "tap.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string_view>
#include <thread>

#include <unistd.h>

#include "../common/files.h"
#include "../common/tap.h"
#include "env.h"

namespace pv {

std::vector<Test> &registry()
{
	static std::vector<Test> tests;

	return tests;
}

void note(const std::string &text)
{
	std::cout << "# " << text << std::endl;
}

void show(const std::string &text)
{
	note("shown: " + text);
}

namespace {

/*
 * A test stuck in the kernel cannot be unwound. The watchdog says which one it
 * was, in TAP, and ends the process so that the harness sees a failure instead
 * of a silent time limit.
 */
class Watchdog {
public:
	explicit Watchdog(unsigned seconds) : seconds_(seconds)
	{
		thread_ = std::thread([this] { watch(); });
	}

	~Watchdog()
	{
		{
			std::lock_guard lock(mutex_);
			done_ = true;
		}
		wake_.notify_all();
		thread_.join();
	}

	void begin(size_t number, const std::string &name)
	{
		std::lock_guard lock(mutex_);

		number_ = number;
		name_ = name;
		deadline_ = clock::now() + std::chrono::seconds(seconds_);
	}

private:
	using clock = std::chrono::steady_clock;

	void watch()
	{
		std::unique_lock lock(mutex_);

		while (!done_) {
			wake_.wait_for(lock, std::chrono::seconds(1));
			if (!done_ && number_ && clock::now() > deadline_) {
				std::cout << "not ok " << number_ << ' '
					  << name_ << "\n# no end after "
					  << seconds_ << " s\nBail out! "
					  << name_ << " hangs" << std::endl;
				_exit(1);
			}
		}
	}

	unsigned seconds_;
	size_t number_ = 0;
	std::string name_;
	clock::time_point deadline_;
	std::mutex mutex_;
	std::condition_variable wake_;
	bool done_ = false;
	std::thread thread_;
};

bool matches(const std::string &name, const std::vector<std::string> &parts)
{
	for (const auto &part : parts)
		if (name.find(part) != std::string::npos)
			return true;
	return false;
}

std::vector<const Test *> select(const RunOptions &options)
{
	std::vector<const Test *> chosen;

	for (const auto &test : registry()) {
		const bool asked = options.two_cpus &&
				   test.needs == Needs::two_cpus;
		const bool some = options.two_cpus || !options.only.empty();

		if (some && !asked && !matches(test.name, options.only))
			continue;
		if (matches(test.name, options.skip))
			continue;
		chosen.push_back(&test);
	}
	return chosen;
}

void diagnose(const std::string &text)
{
	std::istringstream in(text);

	for (std::string line; std::getline(in, line);)
		std::cout << "#   " << line << '\n';
}

/* So pavo-vm says of its machines. */
bool ticks_count_instructions()
{
	const char *how = getenv("PAVO_ACCEL");

	return how && std::string_view(how) == "icount";
}

enum class Outcome { passed, failed, skipped };

Outcome run_one(Env &env, const Test &test, const RunOptions &options,
		std::string &why)
{
	if (test.needs == Needs::local_a &&
	    !dynamic_cast<LocalHost *>(&env.a)) {
		why = "the end A must be in this process";
		return Outcome::skipped;
	}
	if (test.needs != Needs::any && test.needs != Needs::local_a &&
	    options.two_machines) {
		why = "both devices must be in this process";
		return Outcome::skipped;
	}
	if (test.needs == Needs::two_cpus &&
	    sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		why = "its threads do not meet on one CPU";
		return Outcome::skipped;
	}
	if (test.needs == Needs::ticks && !ticks_count_instructions()) {
		why = "ticks of this guest depend on the load of its host";
		return Outcome::skipped;
	}

	Outcome outcome = Outcome::passed;

	try {
		env.begin();
		test.body(env);
	} catch (const Skip &skip) {
		why = skip.what();
		outcome = Outcome::skipped;
	} catch (const common::Missing &missing) {
		/* Of pavo it is a defect; other drivers have no such files. */
		why = missing.what();
		outcome = std::filesystem::exists("/sys/module/pavo") ?
				  Outcome::failed :
				  Outcome::skipped;
	} catch (const std::exception &error) {
		why = error.what();
		outcome = Outcome::failed;
	}
	/* After a failure as well, the next test starts with nothing left over. */
	try {
		std::string left = env.end();

		if (!left.empty()) {
			why += (why.empty() ? "" : "\n") + left;
			outcome = Outcome::failed;
		}
	} catch (const std::exception &error) {
		why += str(why.empty() ? "" : "\n", "clean-up: ", error.what());
		outcome = Outcome::failed;
	}
	return outcome;
}

} // namespace

void list_tests(const RunOptions &options)
{
	for (const Test *test : select(options))
		std::cout << test->name << ": " << test->what << '\n';
}

int run_all(Env &env, const RunOptions &options)
{
	auto chosen = select(options);
	tap tap = {};

	tap_begin(chosen.size());

	Watchdog watchdog(options.limit_seconds);

	for (const Test *test : chosen) {
		std::string why;

		watchdog.begin(tap_next(&tap), test->name);
		auto start = std::chrono::steady_clock::now();
		Outcome outcome = run_one(env, *test, options, why);
		auto took =
			std::chrono::duration_cast<std::chrono::milliseconds>(
				std::chrono::steady_clock::now() - start)
				.count();

		auto known = options.known.find(test->name);

		if (outcome == Outcome::failed &&
		    known != options.known.end() &&
		    why.find(known->second.text) != std::string::npos) {
			diagnose(why);
			why = "known of the peer: " + known->second.reason;
			outcome = Outcome::skipped;
		}
		if (outcome == Outcome::skipped) {
			tap_skip(&tap, test->name.c_str(), why.c_str());
			continue;
		}
		tap_result(&tap, outcome == Outcome::passed,
			   str(test->name, ": ", test->what).c_str());
		std::cout << "# " << took << " ms\n";
		/* Of this kernel's peer, at least: lists are for several. */
		if (outcome == Outcome::passed && known != options.known.end())
			show(str(test->name,
				 " passes, and is listed as failing: ",
				 known->second.reason));
		if (outcome == Outcome::failed)
			diagnose(why);
	}
	return tap_end(&tap);
}

} // namespace pv
