/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo-abi-direct.h - direct windows (sources.md#direct): addresses where an I/O device, or a
 * process, writes the payload of RDMA writes and reads that of read responses. Included by
 * pavo-abi.h.
 */
#ifndef PAVO_ABI_DIRECT_H
#define PAVO_ABI_DIRECT_H

#include <linux/types.h>

/*
 * A direct window has consecutive ranges of equal size, and a pool of buffers of that size. A
 * range that is armed for one operation has a buffer of the pool, any of them, until the
 * operation is over. Work requests name ranges by the L_Key of the window and the address of
 * the range, base + index * size. There is no R_Key: peers cannot name a window.
 *
 * Write (device to link): PAVO_METHOD_DIRECT_ARM gives the range a buffer and a length. The I/O
 * device fills it. The last byte closes the range, and a work request that waits for it is sent.
 * The buffer returns to the pool when the peer has acknowledged the bytes.
 *
 * Read (link to device): a range is armed, then an RDMA read is posted to it. Each response packet
 * is handed over at the beginning of the range, and the next one only when its bytes are drained.
 * With PAVO_DIRECT_WHOLE each of them is at its offset, and all are handed over at once. The work
 * request completes when the last byte is drained.
 *
 * By PAVO_METHOD_DIRECT_IO the module itself moves the bytes of a range: it reads a file into the
 * range, or writes the range to a file when the whole response is there, and its completion passes
 * the range on. A process waits for nothing but the completion of the work request. Nothing else
 * can access the bytes meanwhile.
 *
 * There are three other interfaces to write and drain bytes. Only the number of bytes counts: a
 * byte that is written twice counts twice.
 *   file    pwrite() and pread() on the window's file at (range * range_size + offset in the
 *           message): the adapter counts. Also splice(), sendfile(), io_uring.
 *   mmap    of the file at range * range_size: loads and stores, or O_DIRECT of a disk; then
 *           PAVO_METHOD_DIRECT_COUNT. An access to a range that the bus side does not own raises
 *           SIGBUS.
 *   dma-buf of one range (PAVO_METHOD_DIRECT_EXPORT), for other drivers; likewise counted by call.
 *           A driver can map it while the bus side owns the range (else EBUSY; EIO: the window is
 *           closed), and the ownership does not change while a mapping exists
 *
 * Errors of the file: EBADF: the range is not armed, or for the other direction; ENOSPC: a write
 * beyond the armed length (nothing was written); EBUSY: these are the last bytes, and a device or
 * driver had the range for a second more (they do not count); EAGAIN: nothing to read yet, on a
 * nonblocking file (others wait); ENODATA: these bytes were drained already, or the message ends
 * before; EINVAL: more than one range; EIO: the window is closed. poll(): POLLIN: a range has bytes
 * to be drained; POLLOUT: the pool has a buffer; POLLHUP: the window is closed.
 */

#define PAVO_DIRECT_RANGES 1024u /* of a window at most; and buffers */
#define PAVO_DIRECT_RANGE_SIZE 65536u /* at most; a multiple of the page size */
#define PAVO_DIRECT_NO_BUFFER (~0u)
#define PAVO_DIRECT_IOS 64u /* of a call at most */

enum pavo_direct_method {
	PAVO_METHOD_DIRECT_OPEN = 0x1000,
	PAVO_METHOD_DIRECT_CLOSE,
	PAVO_METHOD_DIRECT_ARM,
	PAVO_METHOD_DIRECT_COUNT,
	PAVO_METHOD_DIRECT_DISARM,
	PAVO_METHOD_DIRECT_EXPORT,
	PAVO_METHOD_DIRECT_IO,
};

enum pavo_direct_attr {
	PAVO_ATTR_DIRECT_HANDLE = 0x1000,
	PAVO_ATTR_DIRECT_PD, /* handle of the protection domain */
	PAVO_ATTR_DIRECT_OPEN_ARGS, /* in: struct pavo_direct_open_args */
	PAVO_ATTR_DIRECT_OPEN_RESP, /* out: struct pavo_direct_open_resp */
	PAVO_ATTR_DIRECT_ARM_ARGS, /* in: struct pavo_direct_arm_args */
	PAVO_ATTR_DIRECT_COUNT_ARGS, /* in: struct pavo_direct_count_args */
	PAVO_ATTR_DIRECT_RANGE, /* in: __u32, index of a range */
	PAVO_ATTR_DIRECT_FD, /* out: __s32, file descriptor of a dma-buf */
	/*
	 * in, optional, of ARM and IO: __aligned_u64, a doorbell as in the ring of the context. If
	 * the range could be armed, the module takes the doorbells of the ring and then this one.
	 * EINVAL: it names no queue pair of this context that may send; nothing is armed.
	 */
	PAVO_ATTR_DIRECT_DOORBELL,
	PAVO_ATTR_DIRECT_IO_ARGS, /* in: 1 to PAVO_DIRECT_IOS of struct pavo_direct_io_args */
};

/**
 * struct pavo_direct_open_args - a new window.
 * @base:       address of its first byte, as work requests name it; need not be aligned
 * @ranges:     number of ranges, 1 to PAVO_DIRECT_RANGES
 * @range_size: bytes of a range and of a buffer
 * @buffers:    of the pool, 1 to PAVO_DIRECT_RANGES
 * @flags:      0
 *
 * Errors: EINVAL, EMFILE; ENOMEM, also if RLIMIT_MEMLOCK is less than the buffers.
 */
struct pavo_direct_open_args {
	__aligned_u64 base;
	__u32 ranges;
	__u32 range_size;
	__u32 buffers;
	__u32 flags;
};

/**
 * struct pavo_direct_open_resp - the window.
 * @base:      as given
 * @length:    ranges * range_size
 * @registers: offset of the registers in the window's file, for mmap() to read them
 * @registers_size: bytes of that mapping
 * @lkey:      names the window in work requests
 * @fd:        the window's file; the caller closes it
 * @reserved:  0
 */
struct pavo_direct_open_resp {
	__aligned_u64 base;
	__aligned_u64 length;
	__aligned_u64 registers;
	__u32 registers_size;
	__u32 lkey;
	__s32 fd;
	__u32 reserved;
};

/* pavo_direct_arm_args.flags */
#define PAVO_DIRECT_READ 0x1u /* for read responses; without: for writes */
#define PAVO_DIRECT_WHOLE 0x2u /* with READ: hand over all responses at once */
#define PAVO_DIRECT_WAIT \
	0x4u /* the caller will wait for a buffer: count that */
#define PAVO_DIRECT_FALLBACK 0x8u /* the caller will do without: count that */

/**
 * struct pavo_direct_arm_args - arm a range.
 * @range:    its index
 * @total:    bytes of the operation, 1 to range_size
 * @flags:    PAVO_DIRECT_*
 * @reserved: 0
 *
 * Errors: EINVAL; EBUSY: it is armed; EAGAIN: the pool has no buffer (poll the file for POLLOUT);
 * EIO: the window is closed.
 */
struct pavo_direct_arm_args {
	__u32 range;
	__u32 total;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct pavo_direct_io_args - arm a range, and have the module move its bytes.
 * @range:  its index
 * @total:  bytes of the operation and of the I/O, 1 to range_size
 * @flags:  PAVO_DIRECT_READ: the response is written to the file; without: the file is read, and
 *          sent. PAVO_DIRECT_WAIT, PAVO_DIRECT_FALLBACK
 * @fd:     a regular file or a block device, opened for that. With O_DIRECT its driver accesses the
 *          pages of the range, and @offset and @total are multiples of what it demands
 * @offset: in the file
 *
 * All ranges of a call are armed, or none. An I/O that fails, or is shorter than @total, fails the
 * work request (PAVO_VE_DIRECT_IO), and sends nothing; the register has the errno. An I/O in flight
 * is not cancelled: if the range is given up meanwhile its buffer stays in quarantine until then.
 *
 * Errors: as of pavo_direct_arm_args; EBADF: @fd is not open, or not for that; EOPNOTSUPP: it is
 * another kind of file; EDQUOT: the user has its share of I/Os in flight; ENOMEM.
 */
struct pavo_direct_io_args {
	__u32 range;
	__u32 total;
	__u32 flags;
	__s32 fd;
	__aligned_u64 offset;
};

/**
 * struct pavo_direct_count_args - count bytes that were written or drained by mmap or dma-buf.
 * @range: index of the range
 * @bytes: their number; the call that reaches the total passes the range to the link side
 *
 * Errors: EINVAL; EBADF: the bus side does not own the range; ENOSPC: more than the total (or
 * than the response); EBUSY: a device may still access it, or a driver has it mapped by a dma-buf
 * (the call waits a second for that): the bus side keeps the range, and these bytes do not count.
 */
struct pavo_direct_count_args {
	__u32 range;
	__u32 bytes;
};

/* Types of operations, in a register. */
enum pavo_direct_type {
	PAVO_DIRECT_TYPE_READ = 0,
	PAVO_DIRECT_TYPE_WRITE = 1,
};

/**
 * struct pavo_direct_register - the state of a range (sources.md#direct-register). The adapter
 * updates it after a transition is complete.
 * @total:      bytes of the operation
 * @count:      write: bytes that the bus side has written
 * @response:   read: bytes of the response in the range
 * @drained:    read: bytes of it that the bus side has drained
 * @buffer:     index of its buffer, or PAVO_DIRECT_NO_BUFFER
 * @bus_valid:  the bus side owns the range
 * @link_valid: the link side owns the range
 * @type:       enum pavo_direct_type
 * @error:      errno of the I/O of this operation (PAVO_METHOD_DIRECT_IO), if it failed; EIO if it
 *              was short; 0: none
 * @uses:       number of times that the range was armed
 * @done:       bytes of the operation that have crossed the range so far
 * @sequence:   odd while the adapter writes the register; even, and another number, after that. A
 *              reader whose copy began at an odd number, or ended at another one, reads again
 */
struct pavo_direct_register {
	__u32 total;
	__u32 count;
	__u32 response;
	__u32 drained;
	__u32 buffer;
	__u8 bus_valid;
	__u8 link_valid;
	__u8 type;
	__u8 error;
	__u32 uses;
	__u32 done;
	__u32 sequence;
};

#endif /* PAVO_ABI_DIRECT_H */
