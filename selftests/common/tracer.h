/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tracer.h - counts the system calls of a thread, from outside: another process traces it, as
 * strace does. So the count holds whatever library makes the call, and for calls that fail, too.
 */
#ifndef PAVO_COMMON_TRACER_H
#define PAVO_COMMON_TRACER_H

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <new>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errors.h"

namespace common {

class Tracer {
public:
	/* Traces the calling thread from now on. Throws where that is not allowed. */
	Tracer()
	{
		const pid_t thread = gettid(), process = getpid();
		void *room = mmap(nullptr, sizeof(Shared),
				  PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		must(room != MAP_FAILED, "memory of a tracer");
		shared_ = new (room) Shared{};
		tracer_ = fork();
		must(tracer_ >= 0, "fork");
		if (!tracer_) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == process)
				trace(thread, *shared_);
			_exit(0);
		}
		prctl(PR_SET_PTRACER, tracer_);
		/* Without a call: the first one that is counted is a test's. */
		while (!shared_->state)
			;
		if (shared_->state < 0) {
			const int error = -shared_->state;

			release();
			throw_errno(error, "to trace a thread");
		}
	}

	/* The tracer lets go at the next stop, which is the call that waits for it. */
	~Tracer() { release(); }
	Tracer(const Tracer &) = delete;
	Tracer &operator=(const Tracer &) = delete;

	/* System calls of the thread since it is traced. Makes none itself. */
	uint64_t calls() const { return shared_->calls; }

private:
	struct Shared {
		std::atomic<uint64_t> calls;
		std::atomic<int> state; /* 0: not yet, 1: traces, less: -errno */
		std::atomic<bool> over;
	};

	void release()
	{
		shared_->over = true;
		while (waitpid(tracer_, nullptr, 0) < 0 && errno == EINTR)
			;
		munmap(shared_, sizeof(Shared));
	}

	/*
	 * The tracer: lets the thread run from one stop to the next. Each call has two, when it
	 * begins and when it ends.
	 */
	static void trace(pid_t thread, Shared &shared)
	{
		constexpr int at_call = SIGTRAP | 0x80;
		uint64_t stops = 0;
		int status;

		if (ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACESYSGOOD) ||
		    ptrace(PTRACE_INTERRUPT, thread, 0, 0)) {
			shared.state = -errno;
			return;
		}
		while (waitpid(thread, &status, __WALL) == thread &&
		       WIFSTOPPED(status)) {
			int signal = WSTOPSIG(status);

			if (signal == at_call)
				shared.calls = (++stops + 1) / 2;
			if (signal == at_call || status >> 16)
				signal = 0;
			if (shared.over) {
				ptrace(PTRACE_DETACH, thread, 0, signal);
				return;
			}
			if (ptrace(PTRACE_SYSCALL, thread, 0, signal))
				return;
			shared.state = 1;
		}
	}

	Shared *shared_;
	pid_t tracer_;
};

} // namespace common

#endif /* PAVO_COMMON_TRACER_H */
