/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * progress.h - how far the transfer is: a bar on a terminal, a line every tenth
 * elsewhere. Used by sender.cpp and receiver.cpp; writes to standard error.
 */
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace copy {

class Progress {
public:
	Progress(std::string what, uint64_t total, bool quiet);

	void advance(uint64_t octets);
	/* The summary, on standard output. */
	void finish(const std::string &device);

private:
	using Clock = std::chrono::steady_clock;

	void draw();
	double seconds() const;

	std::string what_;
	uint64_t total_;
	uint64_t done_ = 0;
	bool quiet_;
	bool terminal_;
	unsigned int tenth_ = 0;
	Clock::time_point began_;
	Clock::time_point drawn_;
};

} // namespace copy
