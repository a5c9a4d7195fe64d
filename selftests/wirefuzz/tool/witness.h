/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The witness: a process of its own with an honest connection through the same adapter,
 * which has to go on, with right data, whatever the fuzzer does.
 *
 * Owns: that process. Used by: the campaign.
 */
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace wf {

class Witness {
public:
	/* Starts it; before this process opens the adapter. */
	explicit Witness(const std::string &device);
	~Witness();
	Witness(const Witness &) = delete;

	/* Rounds of data that came through so far. Throws Violation. */
	uint64_t rounds() const;
	/* Throws Violation if it makes no round within @seconds. */
	void expect_progress(unsigned seconds) const;
	/* Stands still, so that counters are the fuzzer's alone. */
	void pause();
	void go_on();

private:
	struct Shared {
		uint64_t rounds;
		char fault[256];
	};

	pid_t process_;
	Shared *shared_;
};

} // namespace wf
