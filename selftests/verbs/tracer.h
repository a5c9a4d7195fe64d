/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts the system calls of a thread, from outside: another process traces it, as strace
 * does. So the count holds whatever library makes the call, and for calls that fail, too.
 */
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace pv {

class Tracer {
public:
	/* Traces the calling thread from now on. Throws Skip where that is not allowed. */
	Tracer();
	~Tracer();
	Tracer(const Tracer &) = delete;
	Tracer &operator=(const Tracer &) = delete;

	/* System calls of the thread since it is traced. Makes none itself. */
	uint64_t calls() const;

private:
	struct Shared;

	Shared *shared_;
	pid_t tracer_;
};

} // namespace pv
