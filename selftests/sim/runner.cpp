// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * runner.cpp - see runner.hpp.
 */
#include "runner.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

#include <fmt/format.h>

#include "../common/errors.h"
#include "oracle.hpp"

namespace sim {

/* The report of a child about a run. */
struct Runner::Record {
	uint64_t seed;
	bool passed;
	char kind[64];
	char text[400];
	Outcome outcome;
};

namespace {

template <size_t size> void copy_text(char (&to)[size], const std::string &from)
{
	const size_t length = std::min(size - 1, from.size());

	memcpy(to, from.data(), length);
	to[length] = 0;
}

/* Read all of it. Return: false at the end. */
bool read_record(int fd, void *to, size_t size)
{
	auto *at = static_cast<char *>(to);

	while (size) {
		const ssize_t n = read(fd, at, size);

		if (n <= 0)
			return false;
		at += n;
		size -= size_t(n);
	}
	return true;
}

/* The line of a sanitizer or of the engine that names the defect. */
std::string telling_line(const std::string &errors)
{
	for (const char *sign : {"SUMMARY: ", "runtime error: ", "engine: "}) {
		const size_t at = errors.find(sign);

		if (at != std::string::npos)
			return errors.substr(at, errors.find('\n', at) - at);
	}
	return errors.substr(0, errors.find('\n'));
}

} // namespace

Runner::Runner(unsigned patience)
	: kernel_({{"engine", std::to_string(PAVO_ABI_VERSION)}}),
	  patience_(patience)
{
	static_assert(std::is_trivially_copyable_v<Record>);
	errors_ = common::must_not_fail(memfd_create("errors", MFD_CLOEXEC),
					"memfd_create");
	void *shared = mmap(nullptr, sizeof(Evidence), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		common::throw_errno(errno, "mmap");
	evidence_ = static_cast<Evidence *>(shared);
}

Runner::~Runner()
{
	munmap(evidence_, sizeof(Evidence));
	close(errors_);
}

/* The child. */
void Runner::serve(uint64_t from, uint64_t count, const Limits &limits, int out)
{
	bool passed = true;

	dup2(errors_, STDERR_FILENO);
	for (uint64_t seed = from; seed < from + count && passed; seed++) {
		Record record = {};

		alarm(patience_);
		record.seed = seed;
		try {
			Plan plan = make_plan(seed);

			cut_down(plan, limits);
			record.outcome =
				run_plan(kernel_, plan, limits, *evidence_);
			record.passed = true;
		} catch (const Failure &failure) {
			copy_text(record.kind, failure.kind);
			copy_text(record.text, failure.what());
		} catch (const std::exception &error) {
			copy_text(record.kind, "exception");
			copy_text(record.text, error.what());
		}
		passed = record.passed;
		std::fflush(stdout);
		if (write(out, &record, sizeof(record)) != sizeof(record))
			break;
	}
	_exit(0);
}

/* A child that ended without a report. */
Result Runner::explain(uint64_t seed, int status)
{
	std::string errors(size_t(lseek(errors_, 0, SEEK_END)), '\0');
	Result result;

	if (pread(errors_, errors.data(), errors.size(), 0) < 0)
		errors.clear();
	result.seed = seed;
	result.kind = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ?
			      "hang" :
			      telling_line(errors);
	if (result.kind.empty())
		result.kind = fmt::format("status {:#x}", status);
	result.text = errors.substr(0, 4000);
	return result;
}

void Runner::run(uint64_t from, uint64_t count, const Limits &limits,
		 const std::function<bool(const Result &)> &take)
{
	const uint64_t end = from + count;

	for (uint64_t seed = from; seed < end;) {
		int ends[2], status = 0;
		bool more = true;
		Record record;

		common::must_not_fail(pipe(ends), "pipe");
		common::must_not_fail(ftruncate(errors_, 0), "ftruncate");
		lseek(errors_, 0, SEEK_SET);
		const pid_t child = common::must_not_fail(fork(), "fork");

		if (!child) {
			close(ends[0]);
			serve(seed, end - seed, limits, ends[1]);
		}
		close(ends[1]);
		bool passed = true;

		while (more && read_record(ends[0], &record, sizeof(record))) {
			passed = record.passed;
			more = take({record.seed, passed, record.kind,
				     record.text, record.outcome});
			seed = record.seed + 1;
		}
		close(ends[0]);
		if (!more)
			kill(child, SIGKILL);
		common::must_not_fail(waitpid(child, &status, 0), "waitpid");
		if (!more)
			return;
		if (passed && seed < end && !take(explain(seed++, status)))
			return;
	}
}

Result Runner::run_one(uint64_t seed, const Limits &limits)
{
	Result last;

	run(seed, 1, limits, [&](const Result &result) {
		last = result;
		return true;
	});
	return last;
}

} // namespace sim
