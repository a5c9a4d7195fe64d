/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* uring.h - reads of a file by io_uring into memory that it has registered (fixed buffers). */
#ifndef PAVO_BENCH_URING_H
#define PAVO_BENCH_URING_H

#include <cstddef>
#include <cstdint>

#include <liburing.h>

#include "../common/errors.h"

namespace bench {

class Uring {
public:
	/* Reads at a time. */
	static constexpr unsigned depth = 64;

	Uring(int fd, void *memory, size_t bytes)
	{
		const iovec region = {memory, bytes};

		common::must(!io_uring_queue_init(depth, &ring_, 0),
			     "io_uring");
		common::must(!io_uring_register_buffers(&ring_, &region, 1) &&
				     !io_uring_register_files(&ring_, &fd, 1),
			     "io_uring: fixed buffers");
	}
	~Uring() { io_uring_queue_exit(&ring_); }
	Uring(const Uring &) = delete;

	void begin_read(void *to, uint32_t length, uint64_t offset)
	{
		io_uring_sqe *sqe = io_uring_get_sqe(&ring_);

		io_uring_prep_read_fixed(sqe, 0, to, length, offset, 0);
		sqe->flags |= IOSQE_FIXED_FILE;
		sqe->user_data = length;
	}

	/* Submits all, and waits for all: one call, if none is slow. */
	void finish(unsigned count)
	{
		io_uring_cqe *cqe;

		common::must(io_uring_submit_and_wait(&ring_, count) >= 0,
			     "io_uring");
		for (; count; count--) {
			common::must(!io_uring_wait_cqe(&ring_, &cqe) &&
					     uint64_t(cqe->res) ==
						     cqe->user_data,
				     "a read of the disk was short");
			io_uring_cqe_seen(&ring_, cqe);
		}
	}

private:
	io_uring ring_;
};

} // namespace bench

#endif /* PAVO_BENCH_URING_H */
