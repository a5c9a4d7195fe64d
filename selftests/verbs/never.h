/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * never.h - memory whose pages do not come: a userfaultfd that no thread reads. For the local
 * ends of tests.
 */
#ifndef PAVO_VERBS_NEVER_H
#define PAVO_VERBS_NEVER_H

#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link.h"
#include "tap.h"

namespace pv {

class Never {
public:
	/* Throws Skip if the kernel has no userfaultfd. */
	explicit Never(size_t pages) : length_(pages * page)
	{
		uffdio_api api = {};
		uffdio_register range = {};
		void *at = mmap(nullptr, length_, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		REQUIRE(at != MAP_FAILED, "mmap");
		memory = static_cast<uint8_t *>(at);
		fd_ = int(syscall(SYS_userfaultfd, O_CLOEXEC));
		if (fd_ < 0)
			throw Skip("no userfaultfd");
		api.api = UFFD_API;
		range.range = {uintptr_t(at), length_};
		range.mode = UFFDIO_REGISTER_MODE_MISSING;
		REQUIRE(!ioctl(fd_, UFFDIO_API, &api) &&
				!ioctl(fd_, UFFDIO_REGISTER, &range),
			"userfaultfd");
	}

	~Never()
	{
		close(fd_);
		munmap(memory, length_);
	}
	Never(const Never &) = delete;

	/* A process waits for a page of it. */
	void await() const
	{
		pollfd asked = {fd_, POLLIN, 0};

		while (poll(&asked, 1, -1) != 1)
			;
	}

	/* All pages come, with zeros in them. */
	void come() const
	{
		uffdio_zeropage all = {};

		all.range = {uintptr_t(memory), length_};
		REQUIRE(!ioctl(fd_, UFFDIO_ZEROPAGE, &all), "pages of zeros");
	}

	uint8_t *memory;

private:
	size_t length_;
	int fd_ = -1;
};

} // namespace pv

#endif /* PAVO_VERBS_NEVER_H */
