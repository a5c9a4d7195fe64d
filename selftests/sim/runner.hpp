/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * runner.hpp - runs seeds in child processes, so that one that crashes or hangs is a result like any
 * other; and makes a failed run smaller.
 */
#ifndef PAVO_SIM_RUNNER_HPP
#define PAVO_SIM_RUNNER_HPP

#include <functional>
#include <string>
#include <vector>

#include "world.hpp"

namespace sim {

struct Result {
	uint64_t seed = 0;
	bool passed = false;
	std::string kind, text; /* of a failure */
	Outcome outcome;
};

/* Runs in children of this process, one at a time. */
class Runner {
public:
	/* @patience: seconds that a run may take. */
	explicit Runner(unsigned patience);
	~Runner();
	Runner(const Runner &) = delete;
	Runner &operator=(const Runner &) = delete;

	/*
	 * Run @count seeds from @from on. @take returns false to end earlier. A child ends with the
	 * first failure, and another one goes on.
	 */
	void run(uint64_t from, uint64_t count, const Limits &limits,
		 const std::function<bool(const Result &)> &take);
	Result run_one(uint64_t seed, const Limits &limits);
	/* Of the last run. */
	const Evidence &evidence() const { return *evidence_; }

private:
	struct Record;

	[[noreturn]] void serve(uint64_t from, uint64_t count,
				const Limits &limits, int out);
	Result explain(uint64_t seed, int status);

	fake::Kernel kernel_;
	unsigned patience_;
	int errors_; /* what children say on stderr */
	Evidence *evidence_;
};

/*
 * Leave out what a failed run does not need to fail in the same way: messages, kinds of faults, faults
 * of packets. @tries: most runs.
 */
Limits shrink(Runner &runner, const Result &failed, Limits limits,
	      unsigned tries);

} // namespace sim

#endif /* PAVO_SIM_RUNNER_HPP */
