/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * range.h - a range of a direct window: the side that owns it, and the bytes transferred
 * (sources.md#direct-register). Also finds the range of an address.
 *
 * Pure: callers hold the lock of the window.
 */
#ifndef PAVO_DIRECT_RANGE_H
#define PAVO_DIRECT_RANGE_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>

/** enum pavo_direct_state - states of a range. */
enum pavo_direct_state {
	PAVO_DIRECT_IDLE, /* not armed, without a buffer */
	PAVO_DIRECT_FILLING, /* write: the bus side writes data */
	PAVO_DIRECT_CLOSING, /* write: all data is written; pages are being unmapped */
	PAVO_DIRECT_INPUT, /* write: an I/O of the module writes data */
	PAVO_DIRECT_FULL, /* write: a work request may claim the range */
	PAVO_DIRECT_SENDING, /* write: claimed, until the work request completes */
	PAVO_DIRECT_REQUESTED, /* read: waits for a response */
	PAVO_DIRECT_LOADING, /* read: the link side stores the data of a response */
	PAVO_DIRECT_LOADED, /* read: the bus side reads the data */
	PAVO_DIRECT_EMPTYING, /* read: all data is read; pages are being unmapped */
	PAVO_DIRECT_OUTPUT, /* read: an I/O of the module reads the data */
	PAVO_DIRECT_DRAINED, /* read: waits for the next response, or the completion */
	PAVO_DIRECT_FAILED, /* an I/O of the module failed, so the work request will fail */
	PAVO_DIRECT_ENDING, /* disarmed; pages are being unmapped */
	PAVO_DIRECT_STATES,
};

/**
 * struct pavo_direct_range - state of a range.
 * @state:    enum pavo_direct_state
 * @read:     from the link to the bus side
 * @whole:    read: all responses are handed over at once
 * @io:       the module moves the data by an I/O; no process, driver or device has access
 * @error:    errno of that I/O, if it failed
 * @total:    bytes of the operation
 * @admitted: bytes that are copied, or being copied, by the bus side
 * @count:    write: bytes that were written; read: bytes of this response that were read
 * @response: read: bytes of the response in the buffer
 * @done:     read: bytes of the responses before it
 * @uses:     number of times that it was armed
 * @buffer:   number of its buffer, or PAVO_DIRECT_NO_BUFFER
 */
struct pavo_direct_range {
	u8 state;
	bool read;
	bool whole;
	bool io;
	u8 error;
	u32 total;
	u32 admitted;
	u32 count;
	u32 response;
	u32 done;
	u32 uses;
	u32 buffer;
};

/**
 * struct pavo_direct_place - position in a window.
 * @range:  number of the range
 * @offset: offset in it, bytes
 */
struct pavo_direct_place {
	u32 range;
	u32 offset;
};

/**
 * struct pavo_direct_shape - the ranges of a window.
 * @base:   address of the first byte
 * @ranges: number of ranges
 * @size:   bytes of a range
 */
struct pavo_direct_shape {
	u64 base;
	u32 ranges;
	u32 size;
};

/**
 * pavo_direct_find - find the range of an address (sources.md#direct-translation).
 * @shape: the ranges of the window
 * @at:    the address
 * @len:   bytes from there on
 * @place: set
 *
 * Return: 0; -ERANGE: the bytes are not in one range of the window.
 */
int pavo_direct_find(const struct pavo_direct_shape *shape, u64 at, u64 len,
		     struct pavo_direct_place *place);

/** pavo_direct_get_address - return the address of the first byte of a range. */
static inline u64 pavo_direct_get_address(const struct pavo_direct_shape *shape,
					  u32 range)
{
	return shape->base + (u64)range * shape->size;
}

/** pavo_direct_bus_valid - true if the bus side owns the range (sources.md#direct-register). */
bool pavo_direct_bus_valid(const struct pavo_direct_range *range);
/**
 * pavo_direct_may_touch - true if processes and drivers may access the data of the buffer.
 * @range: the range
 * @write: to write
 *
 * False after the last byte was counted, although the hand-over may fail.
 */
bool pavo_direct_may_touch(const struct pavo_direct_range *range, bool write);
/** pavo_direct_link_valid - true if the link side owns the range. */
bool pavo_direct_link_valid(const struct pavo_direct_range *range);
/** pavo_direct_state_name - return the name of a state, for debugfs. */
const char *pavo_direct_state_name(u8 state);
/** pavo_direct_transition - change the state. -EINVAL: @next cannot follow the present state. */
int pavo_direct_transition(struct pavo_direct_range *range,
			   enum pavo_direct_state next);

/**
 * pavo_direct_arm - begin an operation. The range has a buffer already.
 * @range: IDLE
 * @total: bytes
 * @flags: PAVO_DIRECT_READ, PAVO_DIRECT_WHOLE
 * @io:    the module will move the data; of a read, when all of it is there
 */
void pavo_direct_arm(struct pavo_direct_range *range, u32 total, u32 flags,
		     bool io);

/**
 * pavo_direct_admit - admit a copy of the bus side.
 * @range:  the range
 * @read:   the bus side reads
 * @offset: in the message, bytes
 * @len:    bytes; set to fewer if a read has fewer there
 *
 * Return: 0; -EBADF: the bus side does not own the range, or the direction is wrong; -ENOSPC:
 * beyond the end of the message; -EAGAIN: the bytes have not arrived yet; -ENODATA: they were read
 * before.
 */
int pavo_direct_admit(struct pavo_direct_range *range, bool read, u32 offset,
		      u32 *len);

/**
 * pavo_direct_count - count bytes that the bus side has copied.
 * @range:    the range
 * @admitted: bytes that were admitted
 * @len:      bytes of them that were copied
 *
 * Return: true: these were the last bytes, so the caller hands the range over. The state is CLOSING
 * or EMPTYING then.
 */
bool pavo_direct_count(struct pavo_direct_range *range, u32 admitted, u32 len);

/** pavo_direct_end_io - end INPUT or OUTPUT: the I/O moved all, or failed with @err. */
void pavo_direct_end_io(struct pavo_direct_range *range, int err);

/**
 * pavo_direct_load - end LOADING: a response is in the buffer. The state may be OUTPUT: then the
 * caller starts the I/O.
 * @range: the range
 * @len:   bytes of the response; 0: it failed
 */
void pavo_direct_load(struct pavo_direct_range *range, u32 len);

/** pavo_direct_fill_register - fill the register that processes read. */
void pavo_direct_fill_register(const struct pavo_direct_range *range,
			       struct pavo_direct_register *reg);

#endif /* PAVO_DIRECT_RANGE_H */
