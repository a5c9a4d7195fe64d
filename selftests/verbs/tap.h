/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The test registry and the TAP printer of pavo-verbs.
 *
 * Owns: the list of tests and everything that is printed on stdout.
 * Used by: every *_tests.cpp (PV_TEST) and main.cpp (run_all).
 * Touches: nothing of verbs.
 */
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "../common/check.h"

namespace pv {

class Env;

using common::Failure;
using common::Skip;
using common::str;

/* Where a test can run. */
enum class Needs {
	any, /* either end may be on another machine */
	local_a, /* B may be, A is in this process */
	local, /* needs both devices in this process */
	two_cpus, /* the same, and two CPUs, or its threads do not meet */
	ticks, /* local, and ticks that count instructions, not time of the host */
};

struct Test {
	std::string name; /* group.case */
	std::string what; /* one sentence: what is checked */
	Needs needs;
	std::function<void(Env &)> body;
};

std::vector<Test> &registry();

struct Register {
	Register(std::string name, std::string what, Needs needs,
		 std::function<void(Env &)> body)
	{
		registry().push_back({std::move(name), std::move(what), needs,
				      std::move(body)});
	}
};

/* A failure that is excused: only the one whose text says so. */
struct Known {
	std::string text; /* part of the failure's message */
	std::string reason;
};

struct RunOptions {
	std::vector<std::string> only; /* substrings of names; empty: all */
	bool two_cpus = false; /* those that need two CPUs, beside `only` */
	std::vector<std::string> skip; /* substrings of names to leave out */
	/* Tests the peer is known to fail: such a failure counts as skipped. */
	std::map<std::string, Known> known;
	unsigned limit_seconds = 120; /* per test, then the run is given up */
	bool two_machines = false;
};

/* A line for people, beside the results. */
void note(const std::string &text);

/* One that selftests/run shows to them, also when all passes. */
void show(const std::string &text);

void list_tests(const RunOptions &options);

/* Runs the selected tests; returns the kselftest exit code (0, 1 or 4). */
int run_all(Env &env, const RunOptions &options);

} // namespace pv

#define PV_CAT2(a, b) a##b
#define PV_CAT(a, b) PV_CAT2(a, b)

#define PV_TEST_NAMED(body, registered, needs, name, what)       \
	static void body(pv::Env &env);                          \
	static pv::Register registered(name, what, needs, body); \
	static void body([[maybe_unused]] pv::Env &env)

/* The counter, for several sources are one for the compiler, with the same lines. */
#define PV_TEST_NUMBERED(number, ...) \
	PV_TEST_NAMED(PV_CAT(body_, number), PV_CAT(reg_, number), __VA_ARGS__)

#define PV_TEST_IN(needs, name, what) \
	PV_TEST_NUMBERED(__COUNTER__, needs, name, what)

#define PV_TEST(name, what) PV_TEST_IN(pv::Needs::any, name, what)
#define PV_TEST_LOCAL_A(name, what) PV_TEST_IN(pv::Needs::local_a, name, what)
#define PV_TEST_LOCAL(name, what) PV_TEST_IN(pv::Needs::local, name, what)
#define PV_TEST_TICKS(name, what) PV_TEST_IN(pv::Needs::ticks, name, what)
#define PV_TEST_TWO_CPUS(name, what) PV_TEST_IN(pv::Needs::two_cpus, name, what)
