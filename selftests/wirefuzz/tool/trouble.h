/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Trouble: allocations of the kernel that fail on demand, and what the kernel complains
 * of.
 *
 * Owns: files of /sys/kernel/debug and /dev/kmsg. Used by: the player and the campaign.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wf {

/* Failures of allocations, until it is told that they are over. */
class Failures {
public:
	Failures();
	~Failures();
	Failures(const Failures &) = delete;

	/* The kernel can. */
	bool possible() const { return possible_; }
	/* @kind: slab or page; of a hundred @percent, @times at most. */
	void start(const std::string &kind, uint64_t percent, uint64_t times);
	void stop();
	bool on() const { return on_; }
	/* How often it was started. */
	uint64_t periods() const { return periods_; }

private:
	void set(int file, uint64_t value);

	bool possible_ = false, on_ = false;
	/* probability and times of slab, then of page */
	int files_[4] = {-1, -1, -1, -1};
	uint64_t periods_ = 0;
};

/* The messages of the kernel from now on. */
class Console {
public:
	Console();
	~Console();
	Console(const Console &) = delete;

	void note(const std::string &text);
	/* A complaint since it was asked last. */
	std::optional<std::string> complaint();

private:
	int fd_;
};

} // namespace wf
