// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Trouble: see trouble.h.
 */
#include "trouble.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <new>

#include <fcntl.h>
#include <unistd.h>

namespace wf {

namespace {

const std::string debug_folder = "/sys/kernel/debug/";

/*
 * Less than Wire::settle() has tries: a fence that is sent while all allocations fail
 * passes in the end.
 */
constexpr uint64_t times_most = 300;

/* As in qemu-scripts/pavovm/console.py, which judges at the end. */
constexpr std::string_view complaints[] = {"WARNING: ",
					   "BUG: ",
					   "KASAN: ",
					   "UBSAN: ",
					   "KCSAN: ",
					   "refcount_t: ",
					   "INFO: possible",
					   "INFO: inconsistent",
					   "INFO: suspicious",
					   "INFO: trying to register",
					   "blocked for more than",
					   "[ cut here ]",
					   "list_add corruption",
					   "list_del corruption",
					   "self-detected stall"};

void write_file(const std::string &path, const std::string &text)
{
	std::ofstream(path) << text;
}

} // namespace

namespace {

Failures *failing;

/* The fuzzer itself needs memory: then it is enough. */
void end_failures()
{
	if (!failing || !failing->on())
		throw std::bad_alloc();
	failing->stop();
}

} // namespace

Failures::Failures()
{
	const char *const kinds[] = {"failslab", "fail_page_alloc"};

	for (size_t kind = 0; kind < 2; kind++) {
		const std::string folder = debug_folder + kinds[kind] + "/";

		/* Every task and every context, silently. */
		write_file(folder + "verbose", "0");
		write_file(folder + "task-filter", "N");
		write_file(folder + "ignore-gfp-wait", "N");
		write_file(folder + "min-order", "0");
		write_file(folder + "interval", "1");
		write_file(folder + "space", "0");
		files_[2 * kind] = open((folder + "probability").c_str(),
					O_WRONLY | O_CLOEXEC);
		files_[2 * kind + 1] =
			open((folder + "times").c_str(), O_WRONLY | O_CLOEXEC);
	}
	possible_ = std::ranges::all_of(files_, [](int fd) { return fd >= 0; });
	failing = this;
	std::set_new_handler(end_failures);
}

Failures::~Failures()
{
	stop();
	failing = nullptr;
	for (int file : files_)
		if (file >= 0)
			close(file);
}

void Failures::set(int file, uint64_t value)
{
	char text[24];
	const int length =
		std::snprintf(text, sizeof(text), "%llu",
			      static_cast<unsigned long long>(value));

	/* To write may fail for the very reason that is being switched off. */
	for (int tries = 0; tries < 1000; tries++)
		if (write(file, text, static_cast<size_t>(length)) > 0)
			return;
}

void Failures::start(const std::string &kind, uint64_t percent, uint64_t times)
{
	const size_t which = kind == "page" ? 2 : 0;

	if (!possible_)
		return;
	on_ = true;
	periods_++;
	set(files_[which + 1], std::min<uint64_t>(times, times_most));
	set(files_[which], std::min<uint64_t>(percent, 100));
}

void Failures::stop()
{
	if (!on_)
		return;
	for (size_t which : {0, 2}) {
		set(files_[which], 0);
		set(files_[which + 1], 0);
	}
	on_ = false;
}

Console::Console() : fd_(open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC))
{
	if (fd_ >= 0)
		lseek(fd_, 0, SEEK_END);
}

Console::~Console()
{
	if (fd_ >= 0)
		close(fd_);
}

void Console::note(const std::string &text)
{
	if (write(fd_, text.data(), text.size()) < 0)
		return;
}

std::optional<std::string> Console::complaint()
{
	char buffer[8192];
	std::optional<std::string> found;
	ssize_t length;

	/* EPIPE: records were overwritten. */
	while ((length = read(fd_, buffer, sizeof(buffer))) > 0 ||
	       (length < 0 && errno == EPIPE)) {
		const std::string_view line(
			buffer,
			static_cast<size_t>(std::max<ssize_t>(length, 0)));

		for (std::string_view text : complaints)
			if (!found && line.find(text) != line.npos)
				found = std::string(line);
	}
	return found;
}

} // namespace wf
