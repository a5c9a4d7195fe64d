/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo_dv_direct.h - direct windows: addresses where an I/O device, or a process, writes the
 * payload of RDMA writes and reads that of read responses. See pavodv_direct(3), and
 * <rdma/pavo-abi-direct.h> for the rules.
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
 * @range_size: bytes of a range and of a buffer, a multiple of the page size, at most
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
 * @base:           address of its first byte in work requests
 * @length:         ranges * range_size
 * @memory:         the mapping of its consecutive ranges
 * @registers:      the mapping of its registers, one for each range, to be read by
 *                  pavodv_direct_read_register()
 * @registers_size: bytes of that mapping
 * @ranges:         number of ranges
 * @range_size:     bytes of one
 * @buffers:        of the pool
 * @lkey:           names the window in work requests
 * @handle:         its handle in uverbs
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
 * Returns 0; EINVAL: a value of @attr is out of bounds; ENOMEM, also if the process may not lock
 * as much memory as the buffers are (RLIMIT_MEMLOCK); EMFILE, ENFILE; EIO: the device was removed;
 * EOPNOTSUPP: the object is not pavo's, or the module has no direct windows.
 */
int pavodv_direct_open(struct ibv_pd *pd, const struct pavodv_direct_attr *attr,
		       struct pavodv_direct *window);

/**
 * pavodv_direct_close - close a window in any state of its ranges
 * @window: the window; work requests that name it complete with an error after this
 *
 * Returns 0, or the error of the call; the window is unmapped and its file closed in both cases.
 */
int pavodv_direct_close(struct pavodv_direct *window);

/**
 * pavodv_direct_arm - arm a range with a buffer, for one operation
 * @window: an open window
 * @range:  its index
 * @total:  bytes of the operation, 1 to range_size
 * @flags:  PAVO_DIRECT_*
 *
 * Returns 0; EINVAL; EBUSY: the range is armed; EAGAIN: the pool has no buffer, so wait for
 * POLLOUT of the window's file, or do without; EIO: the window is closed.
 */
int pavodv_direct_arm(const struct pavodv_direct *window, uint32_t range,
		      uint32_t total, uint32_t flags);

/**
 * pavodv_direct_count - count bytes that were written or drained by the mapping or by a dma-buf
 * @window: an open window
 * @range:  index of the range
 * @bytes:  their number; the last ones pass the range to the link side
 *
 * Returns 0; EINVAL; EBADF: the bus side does not own the range; ENOSPC: more than are left;
 * EBUSY: a device may still access the range, or a driver has it mapped by a dma-buf. The bus
 * side then keeps the range, and these bytes do not count.
 */
int pavodv_direct_count(const struct pavodv_direct *window, uint32_t range,
			uint32_t bytes);

/**
 * pavodv_direct_disarm - abort the operation of a range
 * @window: an open window
 * @range:  index of the range
 *
 * Returns 0; EINVAL; EBADF: the range is not armed; EBUSY: a work request uses its bytes.
 */
int pavodv_direct_disarm(const struct pavodv_direct *window, uint32_t range);

/**
 * pavodv_direct_export - make a dma-buf of an armed range, for other drivers
 * @window: an open window
 * @range:  index of the range
 * @fd:     set; the caller closes it
 *
 * A driver gets a mapping while the bus side owns the range, else EBUSY, and the bus side owns the
 * range until the driver has ended the mapping.
 *
 * Returns 0; EINVAL; EBADF: the range is not armed; EMFILE; EOPNOTSUPP: the kernel has none.
 */
int pavodv_direct_export(const struct pavodv_direct *window, uint32_t range,
			 int *fd);

/**
 * pavodv_direct_read_register - read the state of a range as of one moment, without a system call
 * @window: an open window
 * @range:  index of the range
 * @state:  set
 *
 * Returns 0; EINVAL: no such range.
 */
int pavodv_direct_read_register(const struct pavodv_direct *window,
				uint32_t range,
				struct pavo_direct_register *state);

/**
 * pavodv_direct_address - the address of a byte of a range in work requests
 * @window: an open window
 * @range:  index of the range
 * @offset: bytes from the range's beginning
 */
static inline uint64_t pavodv_direct_address(const struct pavodv_direct *window,
					     uint32_t range, uint32_t offset)
{
	return window->base + (uint64_t)range * window->range_size + offset;
}

/**
 * pavodv_direct_post - arm a range and post a list of work requests that name it
 * @window: an open window
 * @range:  index of the range
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

/**
 * pavodv_direct_io - arm ranges, have the module move their bytes, and post the requests
 * @window: an open window
 * @ios:    one for each range: PAVO_DIRECT_READ: the response is written to the file; without: the
 *          file is read and sent
 * @n:      1 to PAVO_DIRECT_IOS
 * @qp:     a queue pair of the same context, if there is @wr
 * @wr:     as of ibv_post_send(), requests that name the ranges; NULL: they are posted by themselves
 * @bad_wr: as of pavodv_direct_post()
 *
 * One system call does it all, and returns before the bytes are there, unless the file has them at
 * once. The last byte sends the request, without a process. An I/O that fails, or that is short,
 * fails its request (IBV_WC_LOC_QP_OP_ERR, vendor_err PAVO_VE_DIRECT_IO), and the register of the
 * range has the errno. An error of the call means that no range is armed and no request was posted.
 *
 * Returns 0, an error of pavodv_direct_post(), or one of struct pavo_direct_io_args.
 */
int pavodv_direct_io(const struct pavodv_direct *window,
		     const struct pavo_direct_io_args *ios, uint32_t n,
		     struct ibv_qp *qp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr);

#ifdef __cplusplus
}
#endif

#endif /* PAVO_DV_DIRECT_H */
