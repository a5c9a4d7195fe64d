// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * range.c - state machine of a range of a direct window; see range.h.
 *
 * The table has the two valid bits of the source document for each state, and the states that may
 * follow.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include "direct/range.h"

/**
 * struct direct_state - a row of the table.
 * @name: for debugfs
 * @bus:  the bus side owns the range (PCI Valid)
 * @link: the link side owns the range (BR Valid)
 * @next: states that may follow
 */
struct direct_state {
	const char *name;
	bool bus;
	bool link;
	u16 next;
};

#define TO(state) (1u << PAVO_DIRECT_##state)

/* CLOSING and EMPTYING have the bits of the state before, because the hand-over is not complete. */
static const struct direct_state states[PAVO_DIRECT_STATES] = {
	[PAVO_DIRECT_IDLE] = { "idle", false, false,
			       TO(FILLING) | TO(INPUT) | TO(REQUESTED) },
	[PAVO_DIRECT_FILLING] = { "filling", true, false,
				  TO(CLOSING) | TO(ENDING) },
	[PAVO_DIRECT_CLOSING] = { "closing", true, false,
				  TO(FULL) | TO(FILLING) | TO(ENDING) },
	[PAVO_DIRECT_INPUT] = { "input", true, false,
				TO(FULL) | TO(FAILED) | TO(ENDING) | TO(IDLE) },
	[PAVO_DIRECT_FULL] = { "full", false, true, TO(SENDING) | TO(ENDING) },
	[PAVO_DIRECT_SENDING] = { "sending", false, true, TO(IDLE) },
	[PAVO_DIRECT_REQUESTED] = { "requested", false, true,
				    TO(LOADING) | TO(ENDING) | TO(IDLE) },
	[PAVO_DIRECT_LOADING] = { "loading", false, true,
				  TO(LOADED) | TO(OUTPUT) | TO(REQUESTED) |
					  TO(ENDING) },
	[PAVO_DIRECT_LOADED] = { "loaded", true, false,
				 TO(EMPTYING) | TO(ENDING) },
	[PAVO_DIRECT_EMPTYING] = { "emptying", true, false,
				   TO(DRAINED) | TO(LOADED) | TO(ENDING) },
	[PAVO_DIRECT_OUTPUT] = { "output", true, false,
				 TO(DRAINED) | TO(FAILED) | TO(ENDING) },
	[PAVO_DIRECT_FAILED] = { "failed", false, false,
				 TO(IDLE) | TO(ENDING) },
	[PAVO_DIRECT_DRAINED] = { "drained", false, false,
				  TO(LOADING) | TO(IDLE) | TO(ENDING) },
	[PAVO_DIRECT_ENDING] = { "ending", false, false, TO(IDLE) },
};

int pavo_direct_find(const struct pavo_direct_shape *shape, u64 at, u64 len,
		     struct pavo_direct_place *place)
{
	u64 offset = at - shape->base, range;
	u32 rest;

	/* The offset of an address below the base wraps, and is behind the end. */
	range = div_u64_rem(offset, shape->size, &rest);
	if (range >= shape->ranges || len > shape->size - rest)
		return -ERANGE;
	*place = (struct pavo_direct_place){ .range = range, .offset = rest };
	return 0;
}

bool pavo_direct_bus_valid(const struct pavo_direct_range *range)
{
	return states[range->state].bus;
}

bool pavo_direct_may_touch(const struct pavo_direct_range *range, bool write)
{
	return range->state == PAVO_DIRECT_FILLING ||
	       (range->state == PAVO_DIRECT_LOADED && !write);
}

bool pavo_direct_link_valid(const struct pavo_direct_range *range)
{
	return states[range->state].link;
}

const char *pavo_direct_state_name(u8 state)
{
	return state < PAVO_DIRECT_STATES ? states[state].name : "?";
}

int pavo_direct_transition(struct pavo_direct_range *range,
			   enum pavo_direct_state next)
{
	if (!(states[range->state].next & 1u << next))
		return -EINVAL;
	range->state = next;
	return 0;
}

void pavo_direct_arm(struct pavo_direct_range *range, u32 total, u32 flags,
		     bool io)
{
	enum pavo_direct_state first = io ? PAVO_DIRECT_INPUT :
					    PAVO_DIRECT_FILLING;

	range->read = flags & PAVO_DIRECT_READ;
	range->whole = io || flags & PAVO_DIRECT_WHOLE;
	range->io = io;
	range->error = 0;
	range->total = total;
	range->admitted = 0;
	range->count = 0;
	range->response = 0;
	range->done = 0;
	range->uses++;
	pavo_direct_transition(range,
			       range->read ? PAVO_DIRECT_REQUESTED : first);
}

void pavo_direct_end_io(struct pavo_direct_range *range, int err)
{
	if (err) {
		/* Codes above those of user space are for the kernel alone. */
		range->error = -err < 256 ? -err : EIO;
		pavo_direct_transition(range, PAVO_DIRECT_FAILED);
		return;
	}
	range->count = range->total;
	pavo_direct_transition(range, range->read ? PAVO_DIRECT_DRAINED :
						    PAVO_DIRECT_FULL);
}

static int admit_read(struct pavo_direct_range *range, u32 offset, u32 *len)
{
	u32 end = range->done + range->response;

	if (offset >= range->total || offset < range->done)
		return -ENODATA;
	if (range->state != PAVO_DIRECT_LOADED)
		return range->state == PAVO_DIRECT_EMPTYING && offset < end ?
			       -ENODATA :
			       -EAGAIN;
	if (offset >= end)
		return -EAGAIN;
	*len = min(*len, end - offset);
	if (*len > range->response - range->admitted)
		return -ENODATA;
	range->admitted += *len;
	return 0;
}

int pavo_direct_admit(struct pavo_direct_range *range, bool read, u32 offset,
		      u32 *len)
{
	if (range->state == PAVO_DIRECT_IDLE ||
	    range->state == PAVO_DIRECT_ENDING || range->read != read ||
	    range->io)
		return -EBADF;
	if (read)
		return admit_read(range, offset, len);
	if (range->state != PAVO_DIRECT_FILLING)
		return -EBADF;
	if (offset > range->total || *len > range->total - offset ||
	    *len > range->total - range->admitted)
		return -ENOSPC;
	range->admitted += *len;
	return 0;
}

bool pavo_direct_count(struct pavo_direct_range *range, u32 admitted, u32 len)
{
	range->admitted -= admitted - len;
	range->count += len;
	if (range->count < (range->read ? range->response : range->total))
		return false;
	return !pavo_direct_transition(range, range->read ?
						      PAVO_DIRECT_EMPTYING :
						      PAVO_DIRECT_CLOSING);
}

void pavo_direct_load(struct pavo_direct_range *range, u32 len)
{
	if (range->whole) {
		range->response += len;
		if (range->response < range->total)
			pavo_direct_transition(range, PAVO_DIRECT_REQUESTED);
		else
			pavo_direct_transition(range,
					       range->io ? PAVO_DIRECT_OUTPUT :
							   PAVO_DIRECT_LOADED);
		return;
	}
	range->done += range->response;
	range->response = len;
	range->admitted = 0;
	range->count = 0;
	pavo_direct_transition(range, len ? PAVO_DIRECT_LOADED :
					    PAVO_DIRECT_REQUESTED);
}

void pavo_direct_fill_register(const struct pavo_direct_range *range,
			       struct pavo_direct_register *reg)
{
	*reg = (struct pavo_direct_register){
		.total = range->total,
		.count = range->read ? 0 : range->count,
		.response = range->response,
		.drained = range->read ? range->count : 0,
		.buffer = range->buffer,
		.bus_valid = pavo_direct_bus_valid(range),
		.link_valid = pavo_direct_link_valid(range),
		.type = range->read ? PAVO_DIRECT_TYPE_READ :
				      PAVO_DIRECT_TYPE_WRITE,
		.error = range->error,
		.uses = range->uses,
		.done = range->done,
	};
}
