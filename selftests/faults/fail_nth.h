/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fail_nth.h - every allocation of the kernel fails once: of those that a call makes the
 * first, then the second, and so on until the call makes no more (the kernel's fault
 * injection, /proc/thread-self/fail-nth). Copies from and to user space fail likewise.
 * Used by: the groups verbs and translate, on kernels that are built for it.
 */
#ifndef PAVO_FAIL_NTH_H
#define PAVO_FAIL_NTH_H

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "../common/files.h"

namespace faults {

/* Of this thread, from its making until end(). */
class FailNth {
public:
	explicit FailNth(unsigned n)
		: fd_(open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC))
	{
		set(n);
	}

	~FailNth()
	{
		end();
		if (fd_ >= 0)
			close(fd_);
	}

	FailNth(const FailNth &) = delete;

	/* True: something failed. The read counts, too, and may be what fails. */
	bool end()
	{
		char left[16] = {};
		const bool read = pread(fd_, left, sizeof(left) - 1, 0) > 0;

		set(0);
		return read && !atoi(left);
	}

	/* Why there is no such thing here, or nothing. */
	static std::string lacking()
	{
		const std::string slab = "/sys/kernel/debug/failslab/";

		if (access("/proc/thread-self/fail-nth", W_OK))
			return "a kernel without fault injection";
		/* Those that may sleep, too; and no stack of each on the console. */
		for (std::string file : {"ignore-gfp-wait", "verbose"})
			if (!common::write_word(slab + file, 0))
				return "no " + slab + file;
		for (std::string of : {"fail_page_alloc", "fail_usercopy"})
			common::write_word(
				"/sys/kernel/debug/" + of + "/verbose", 0);
		return "";
	}

private:
	void set(unsigned n)
	{
		const std::string text = std::to_string(n);

		/* One that is copied in may be what fails; then it is 0. */
		if (pwrite(fd_, text.data(), text.size(), 0) < 0)
			(void)!pwrite(fd_, text.data(), text.size(), 0);
	}

	int fd_;
};

/* More than any call makes. */
constexpr unsigned most_allocations = 2000;

/* May a call say that, if it was refused memory, or its copy? */
inline bool explained(int error)
{
	return error == ENOMEM || error == EFAULT;
}

/*
 * @make returns 0 or an errno; @undo takes back what it made. Each allocation of @make
 * fails once. Throws std::runtime_error: it ends otherwise than the call may.
 */
inline void in_turn(const std::string &what, const std::function<int()> &make,
		    const std::function<void()> &undo)
{
	bool failed = true;
	unsigned n = 0;

	while (failed) {
		if (++n == most_allocations)
			throw std::runtime_error(what + ": no end");
		FailNth fail(n);
		const int error = make();

		failed = fail.end();
		if (error && !(failed && explained(error)))
			throw std::runtime_error(what + ", allocation " +
						 std::to_string(n) + ": " +
						 strerror(error));
		if (!error)
			undo();
	}
	if (n == 1)
		throw std::runtime_error(what + " allocates nothing");
	std::cout << "# " << what << ": " << n - 1 << " failed in turn"
		  << std::endl;
}

} // namespace faults

#endif /* PAVO_FAIL_NTH_H */
