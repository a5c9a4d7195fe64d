/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo_dv_direct.h - direct windows: addresses where an I/O device, or a process, leaves the
 * payload of RDMA writes and finds that of read responses. See pavodv_direct(3), and
 * <rdma/pavo-abi-direct.h> for what the module promises.
 *
 * Exported by libpavo-rdmavNN.so, usable from C. C++ programs find the same as a class in
 * <pavo/direct.hpp>.
 */
#ifndef PAVO_DV_DIRECT_H
#define PAVO_DV_DIRECT_H

#include <infiniband/verbs.h>
#include <rdma/pavo-abi-direct.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct pavodv_direct_attr - a window to be made
 * @base:       address of its first byte, as work requests name it; it need not be aligned. 0:
 *              that of the mapping in this process, so that work requests name its pointers
 * @ranges:     number of ranges, 1 to PAVO_DIRECT_RANGES
 * @range_size: bytes of a range and of a buffer, a multiple of 4096, at most
 *              PAVO_DIRECT_RANGE_SIZE
 * @buffers:    of its pool, 1 to PAVO_DIRECT_RANGES
 */
struct pavodv_direct_attr {
	uint64_t base;
	uint32_t ranges;
	uint32_t range_size;
	uint32_t buffers;
};

/**
 * struct pavodv_direct - a direct window
 * @context:        of its protection domain
 * @base:           as work requests name its first byte
 * @length:         ranges * range_size
 * @memory:         the mapping of its ranges, one behind the other
 * @registers:      the mapping of its registers, one for each range, to be read only
 * @registers_size: bytes of that mapping
 * @ranges:         number of ranges
 * @range_size:     bytes of one
 * @buffers:        of the pool
 * @lkey:           names the window in work requests
 * @handle:         as uverbs knows it
 * @fd:             its file, for pread(), pwrite(), splice(), poll() and io_uring
 */
struct pavodv_direct {
	struct ibv_context *context;
	uint64_t base;
	uint64_t length;
	void *memory;
	const struct pavo_direct_register *registers;
	size_t registers_size;
	uint32_t ranges;
	uint32_t range_size;
	uint32_t buffers;
	uint32_t lkey;
	uint32_t handle;
	int fd;
};

/**
 * pavodv_direct_open - make a window, and map it
 * @pd:     whose work requests may name it
 * @attr:   the window
 * @window: set
 *
 * Returns 0; EINVAL: a number of @attr is out of bounds; ENOMEM, also if the process may not lock
 * as much memory as the buffers are (RLIMIT_MEMLOCK); EMFILE, ENFILE; EIO: the device is gone;
 * EOPNOTSUPP: the object is not pavo's, or the module has no direct windows.
 */
int pavodv_direct_open(struct ibv_pd *pd, const struct pavodv_direct_attr *attr,
		       struct pavodv_direct *window);

/**
 * pavodv_direct_close - end a window, in whatever state its ranges are
 * @window: no work request that names it completes well after this
 *
 * Returns 0, or the error of the call; the mappings and the file are gone in both cases.
 */
int pavodv_direct_close(struct pavodv_direct *window);

/**
 * pavodv_direct_arm - give a range a buffer, for one operation
 * @window: an open window
 * @range:  its number
 * @total:  bytes of the operation, 1 to range_size
 * @flags:  PAVO_DIRECT_*
 *
 * Returns 0; EINVAL; EBUSY: the range is armed; EAGAIN: the pool has no buffer, so wait for
 * POLLOUT of the window's file, or do without; EIO: the window is closed.
 */
int pavodv_direct_arm(const struct pavodv_direct *window, uint32_t range,
		      uint32_t total, uint32_t flags);

/**
 * pavodv_direct_count - tell of bytes that went in or out by the mapping or by a dma-buf
 * @window: an open window
 * @range:  number of the range
 * @bytes:  of them; the last ones end the turn of the bus side
 *
 * Returns 0; EINVAL; EBADF: the bus side has no turn; ENOSPC: more than there are; EBUSY: a
 * device may still be at work in the range, or a driver has it mapped by a dma-buf. The turn
 * goes on then, and these bytes do not count.
 */
int pavodv_direct_count(const struct pavodv_direct *window, uint32_t range,
			uint32_t bytes);

/**
 * pavodv_direct_disarm - give up the operation of a range
 * @window: an open window
 * @range:  number of the range
 *
 * Returns 0; EINVAL; EBADF: the range is not armed; EBUSY: a work request has its bytes.
 */
int pavodv_direct_disarm(const struct pavodv_direct *window, uint32_t range);

/**
 * pavodv_direct_export - a dma-buf of an armed range, for other drivers
 * @window: an open window
 * @range:  number of the range
 * @fd:     set; the caller closes it
 *
 * A driver gets a mapping while the bus side has its turn, else EBUSY, and the turn does not end
 * before it has given that back.
 *
 * Returns 0; EINVAL; EBADF: the range is not armed; EMFILE; EOPNOTSUPP: the kernel has none.
 */
int pavodv_direct_export(const struct pavodv_direct *window, uint32_t range,
			 int *fd);

/**
 * pavodv_direct_address - a byte of a range, as work requests name it
 * @window: an open window
 * @range:  number of the range
 * @offset: in it
 */
static inline uint64_t pavodv_direct_address(const struct pavodv_direct *window,
					     uint32_t range, uint32_t offset)
{
	return window->base + (uint64_t)range * window->range_size + offset;
}

/**
 * pavodv_direct_post - arm a range and post a list of work requests that name it
 * @window: an open window
 * @range:  number of the range
 * @total:  bytes of the operation
 * @flags:  PAVO_DIRECT_*
 * @qp:     a queue pair of the same context
 * @wr:     as of ibv_post_send()
 * @bad_wr: set on errors to the request that could not be posted; to @wr where none was
 *
 * One system call does both: it arms the range, then the module takes the doorbells of the ring
 * and that of the list. So no request finds the range without a buffer. An error means that the
 * range is not armed, and that no request was posted.
 *
 * Returns 0, an error of pavodv_direct_arm() or of ibv_post_send(), or EINVAL: @qp is of another
 * context.
 */
int pavodv_direct_post(const struct pavodv_direct *window, uint32_t range,
		       uint32_t total, uint32_t flags, struct ibv_qp *qp,
		       struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

#ifdef __cplusplus
}
#endif

#endif /* PAVO_DV_DIRECT_H */
