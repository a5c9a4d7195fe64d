/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* child.h - a child of this process that does something, and tells whether it went well. */
#ifndef PAVO_COMMON_CHILD_H
#define PAVO_COMMON_CHILD_H

#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errors.h"

namespace common {

class Child {
public:
	/* Forks. The exit status is 0 if @body returns, and 1 if it throws. */
	explicit Child(const std::function<void()> &body)
		: pid_(must_not_fail(fork(), "fork"))
	{
		if (pid_)
			return;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		try {
			body();
		} catch (const std::exception &failure) {
			fprintf(stderr, "# child: %s\n", failure.what());
			_exit(1);
		}
		_exit(0);
	}

	Child(const Child &) = delete;
	Child &operator=(const Child &) = delete;

	~Child()
	{
		if (pid_ > 0)
			kill_now();
	}

	pid_t pid() const { return pid_; }

	/* Waits for its end. Return: its status, as of waitpid(). */
	int wait()
	{
		int status = 0;

		must_not_fail(waitpid(pid_, &status, 0), "waitpid");
		pid_ = -1;
		return status;
	}

	/* Return: true: it has ended, with this status. */
	bool has_ended(int &status)
	{
		if (waitpid(pid_, &status, WNOHANG) != pid_)
			return false;
		pid_ = -1;
		return true;
	}

	/* Return: likewise. */
	int kill_now()
	{
		kill(pid_, SIGKILL);
		return wait();
	}

	void must_end_well()
	{
		const int status = wait();

		must(!status, "child: status " + std::to_string(status));
	}

private:
	pid_t pid_;
};

} // namespace common

#endif /* PAVO_COMMON_CHILD_H */
