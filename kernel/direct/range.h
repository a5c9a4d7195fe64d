/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * range.h - a range of a direct window: whose turn it is, and how many bytes are through
 * (sources.md#direct-register). Also the way from an address to a range.
 *
 * Pure: callers hold the lock of the window.
 */
#ifndef PAVO_DIRECT_RANGE_H
#define PAVO_DIRECT_RANGE_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>

/** enum pavo_direct_state - whose turn it is, and what that side waits for. */
enum pavo_direct_state {
	PAVO_DIRECT_IDLE, /* not armed; it has no buffer */
	PAVO_DIRECT_FILLING, /* write: the bus side puts bytes in */
	PAVO_DIRECT_CLOSING, /* write: all are in; mappings of the pages are taken away */
	PAVO_DIRECT_FULL, /* write: a work request may take the bytes */
	PAVO_DIRECT_SENDING, /* write: one has; until it completes */
	PAVO_DIRECT_NOTIFY_ARMED, /* read: no response has come yet */
	PAVO_DIRECT_LOADING, /* read: the link side puts the bytes of a response in */
	PAVO_DIRECT_LOADED, /* read: the bus side takes bytes out */
	PAVO_DIRECT_EMPTYING, /* read: all are out; mappings of the pages are taken away */
	PAVO_DIRECT_DRAINED, /* read: the next response may come, or the work request complete */
	PAVO_DIRECT_ENDING, /* given up; mappings of the pages are taken away */
	PAVO_DIRECT_STATES,
};

/**
 * struct pavo_direct_range - what is known of a range.
 * @state:    enum pavo_direct_state
 * @read:     from the link to the bus side
 * @whole:    read: all responses are handed over at once
 * @total:    bytes of the operation
 * @admitted: write: bytes that were let in, and may be under way
 * @count:    write: bytes that are in; read: bytes that were taken of this response
 * @response: read: bytes of the response that lies there
 * @done:     read: bytes of the responses before it; write: all of them, once they are sent
 * @uses:     how often it was armed
 * @buffer:   number of its buffer, or PAVO_DIRECT_NO_BUFFER
 */
struct pavo_direct_range {
	u8 state;
	bool read;
	bool whole;
	u32 total;
	u32 admitted;
	u32 count;
	u32 response;
	u32 done;
	u32 uses;
	u32 buffer;
};

/**
 * struct pavo_direct_place - an address inside a window.
 * @range:  number of the range
 * @offset: in it
 */
struct pavo_direct_place {
	u32 range;
	u32 offset;
};

/**
 * struct pavo_direct_shape - ranges of a window.
 * @base:   address of the first byte
 * @ranges: number of ranges
 * @size:   bytes of one
 */
struct pavo_direct_shape {
	u64 base;
	u32 ranges;
	u32 size;
};

/**
 * pavo_direct_find - the range of an address (sources.md#direct-translation).
 * @shape: the window
 * @at:    the address
 * @len:   bytes from there on
 * @place: set
 *
 * Return: false: not all bytes are in one range of the window.
 */
bool pavo_direct_find(const struct pavo_direct_shape *shape, u64 at, u64 len,
		      struct pavo_direct_place *place);

/** pavo_direct_address - the address of the first byte of a range. */
static inline u64 pavo_direct_address(const struct pavo_direct_shape *shape,
				      u32 range)
{
	return shape->base + (u64)range * shape->size;
}

/** pavo_direct_buffer_offset - where a byte lies in a buffer that begins with a header. */
static inline u32 pavo_direct_buffer_offset(u32 offset, u32 header)
{
	return offset + header;
}

/** pavo_direct_bus_valid - has the bus side its turn (sources.md#direct-register)? */
bool pavo_direct_bus_valid(const struct pavo_direct_range *range);
/**
 * pavo_direct_may_touch - may a process or driver get at the bytes of the buffer?
 * @range: the range
 * @write: to change them
 *
 * Not once the last byte is through, though the turn may go on after all.
 */
bool pavo_direct_may_touch(const struct pavo_direct_range *range, bool write);
/** pavo_direct_link_valid - has the link side? */
bool pavo_direct_link_valid(const struct pavo_direct_range *range);
/** pavo_direct_state_name - for people. */
const char *pavo_direct_state_name(u8 state);
/** pavo_direct_transition - a change of state that its owner alone makes: is it one that there is? */
bool pavo_direct_transition(struct pavo_direct_range *range,
			    enum pavo_direct_state next);

/**
 * pavo_direct_arm - begin an operation; the range has its buffer already.
 * @range: IDLE
 * @total: bytes
 * @flags: PAVO_DIRECT_READ, PAVO_DIRECT_WHOLE
 */
void pavo_direct_arm(struct pavo_direct_range *range, u32 total, u32 flags);

/**
 * pavo_direct_admit - let @len bytes in at @offset, or have them taken out there.
 * @range:  the range
 * @read:   out
 * @offset: in the message
 * @len:    wanted; less may be admitted of a read, which is set
 *
 * Return: 0; -EBADF: it is not the turn of the bus side, or the other direction; -ENOSPC: more
 * bytes than there is room for; -EAGAIN: the bytes are not there yet; -ENODATA: they were there.
 */
int pavo_direct_admit(struct pavo_direct_range *range, bool read, u32 offset,
		      u32 *len);

/**
 * pavo_direct_count - count bytes that are through.
 * @range:    the range
 * @admitted: bytes that were admitted
 * @len:      bytes of them that are through; the others were not copied
 *
 * Return: was it the last byte, so that the turn of the bus side ends? The state is CLOSING or
 * EMPTYING then.
 */
bool pavo_direct_count(struct pavo_direct_range *range, u32 admitted, u32 len);

/** pavo_direct_load - a response of @len bytes lies there; @len 0: it does not, after all. */
void pavo_direct_load(struct pavo_direct_range *range, u32 len);

/** pavo_direct_notify - the range as processes see it. */
void pavo_direct_notify(const struct pavo_direct_range *range,
			struct pavo_direct_register *reg);

#endif /* PAVO_DIRECT_RANGE_H */
