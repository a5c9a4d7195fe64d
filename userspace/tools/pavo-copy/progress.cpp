// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * progress.cpp - see progress.h. Owns the line it draws.
 */
#include "progress.h"

#include <cstdio>
#include <utility>

#include <unistd.h>

namespace copy {
namespace {

constexpr double MIB = 1048576.0;
constexpr unsigned int BAR = 30;
constexpr std::chrono::milliseconds REDRAW(100);

} // namespace

Progress::Progress(std::string what, uint64_t total, bool quiet)
	: what_(std::move(what)), total_(total), quiet_(quiet),
	  terminal_(isatty(STDERR_FILENO)), began_(Clock::now()), drawn_(began_)
{
}

double Progress::seconds() const
{
	return std::chrono::duration<double>(Clock::now() - began_).count();
}

void Progress::advance(uint64_t octets)
{
	done_ += octets;
	if (quiet_)
		return;
	if (terminal_) {
		if (Clock::now() - drawn_ < REDRAW && done_ < total_)
			return;
		drawn_ = Clock::now();
		draw();
	} else {
		auto tenth = static_cast<unsigned int>(done_ * 10 / total_);

		if (tenth == tenth_)
			return;
		tenth_ = tenth;
		fprintf(stderr, "%s %3u %% of %.1f MiB, %.1f MiB/s\n",
			what_.c_str(), tenth * 10,
			static_cast<double>(total_) / MIB,
			static_cast<double>(done_) / MIB / seconds());
	}
}

void Progress::draw()
{
	auto filled = static_cast<unsigned int>(done_ * BAR / total_);
	std::string bar(filled, '#');

	bar.resize(BAR, '.');
	fprintf(stderr, "\r\033[K%s [%s] %3u %%  %.1f MiB/s", what_.c_str(),
		bar.c_str(), static_cast<unsigned int>(done_ * 100 / total_),
		static_cast<double>(done_) / MIB / seconds());
	if (done_ == total_)
		fputc('\n', stderr);
	fflush(stderr);
}

void Progress::finish(const std::string &device)
{
	double took = seconds();

	printf("%s %llu bytes in %.2f s, %.2f MiB/s over %s\n", what_.c_str(),
	       static_cast<unsigned long long>(done_), took,
	       static_cast<double>(done_) / MIB / took, device.c_str());
}

} // namespace copy
