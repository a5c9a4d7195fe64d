// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See tracer.h. */
#include "tracer.h"

#include <atomic>
#include <cerrno>
#include <csignal>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

namespace pv {

struct Tracer::Shared {
	std::atomic<uint64_t> calls;
	std::atomic<int> state; /* 0: not yet, 1: traces, less: -errno */
	std::atomic<bool> over;
};

namespace {

/* A stop at a call, with PTRACE_O_TRACESYSGOOD. */
constexpr int call_stop = SIGTRAP | 0x80;

/*
 * The tracer: lets the thread run from one stop to the next. Each call has two, when it begins
 * and when it ends.
 */
template <class Shared> void trace(pid_t thread, Shared &shared)
{
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

		if (signal == call_stop)
			shared.calls = (++stops + 1) / 2;
		if (signal == call_stop || status >> 16)
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

} // namespace

Tracer::Tracer()
{
	const pid_t thread = gettid(), process = getpid();
	void *room = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(room != MAP_FAILED, "mmap");
	shared_ = new (room) Shared{};
	tracer_ = fork();
	REQUIRE(tracer_ >= 0, "fork");
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

		waitpid(tracer_, nullptr, 0);
		munmap(shared_, sizeof(Shared));
		throw Skip(str("no process may trace another here: ",
			       strerror(error)));
	}
}

Tracer::~Tracer()
{
	shared_->over = true;
	/* At its next stop, which is the call that waits, it lets go. */
	while (waitpid(tracer_, nullptr, 0) < 0 && errno == EINTR)
		;
	munmap(shared_, sizeof(Shared));
}

uint64_t Tracer::calls() const
{
	return shared_->calls;
}

} // namespace pv
