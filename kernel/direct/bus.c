// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * bus.c - the bus side of a direct window in process context: arm, count, give up, and the end of
 * its turn.
 *
 * When a turn ends, pages leave the page tables first, so that a late store of a process faults and
 * changes nothing that is sent, or sent again. A device that has the page still could, and a driver
 * that has the range mapped as a dma-buf, so the turn ends only when the pages are the window's
 * alone. The state of the range keeps others from getting at them meanwhile.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include "direct/direct_private.h"
#include "memory/key_state.h"

/*
 * How long the end of a turn waits for a device that completed, and then puts its pages, or for a
 * driver that gives its mapping back. Not in jiffies, which stand still while the tick of a virtual
 * machine is late.
 */
#define DEVICE_WAIT_MS 1000
#define DEVICE_LOOK_US 100

void pavo_direct_publish(struct pavo_direct *window, u32 range)
{
	struct pavo_direct_register reg;

	pavo_direct_notify(&window->slots[range].range, &reg);
	window->registers[range] = reg;
	wake_up_interruptible_all(&window->wait);
}

void pavo_direct_wake(struct pavo_direct_slot *slot)
{
	if (slot->missing) {
		/* Pairs with the acquire in pavo_side_waits(). */
		smp_store_release(&slot->missing->state, PAVO_MISSING_NONE);
		slot->missing = NULL;
	}
	if (slot->key_state)
		pavo_key_state_continue(slot->key_state,
					raw_smp_processor_id());
}

/* Take the pages of a range out of all page tables. The turns are held. */
static void unmap_range(struct pavo_direct *window, u32 range)
{
	struct pavo_direct_slot *slot = &window->slots[range];

	lockdep_assert_held(&window->turns);
	if (!slot->mapped)
		return;
	unmap_mapping_range(&window->mapping,
			    (loff_t)range * window->shape.size,
			    window->shape.size, 1);
	slot->mapped = false;
}

static bool is_held(struct pavo_direct *window, u32 buffer)
{
	bool held;

	spin_lock_bh(&window->lock);
	held = pavo_direct_is_used(window, buffer);
	spin_unlock_bh(&window->lock);
	return held;
}

/* Wait until the pages are the window's alone, or nothing tells that they will be. */
static bool wait_for_device(struct pavo_direct *window, u32 buffer)
{
	const ktime_t end = ktime_add_ms(ktime_get(), DEVICE_WAIT_MS);

	while (is_held(window, buffer)) {
		if (ktime_after(ktime_get(), end) ||
		    fatal_signal_pending(current))
			return false;
		usleep_range(DEVICE_LOOK_US, 2 * DEVICE_LOOK_US);
	}
	return true;
}

int pavo_direct_end_turn(struct pavo_direct *window, u32 range, u32 bytes)
{
	struct pavo_direct_slot *slot = &window->slots[range];
	bool free = true;
	u32 buffer, uses;
	int err = 0;

	spin_lock_bh(&window->lock);
	buffer = slot->range.buffer;
	uses = slot->range.uses;
	spin_unlock_bh(&window->lock);
	/* The state lets no process or driver map it anew. */
	mutex_lock(&window->turns);
	unmap_range(window, range);
	mutex_unlock(&window->turns);
	if (buffer != PAVO_DIRECT_NO_BUFFER)
		free = wait_for_device(window, buffer);

	spin_lock_bh(&window->lock);
	if (slot->range.uses != uses ||
	    (slot->range.state != PAVO_DIRECT_CLOSING &&
	     slot->range.state != PAVO_DIRECT_EMPTYING)) {
		err = -EBADF;
	} else if (!free) {
		slot->range.count -= bytes;
		slot->range.admitted -= bytes;
		pavo_direct_transition(&slot->range,
				       slot->range.read ? PAVO_DIRECT_LOADED :
							  PAVO_DIRECT_FILLING);
		if (!window->closed)
			pavo_count(window->dev, direct_busy);
		err = -EBUSY;
	} else {
		pavo_direct_transition(&slot->range,
				       slot->range.read ? PAVO_DIRECT_DRAINED :
							  PAVO_DIRECT_FULL);
		pavo_direct_publish(window, range);
		pavo_direct_wake(slot);
	}
	spin_unlock_bh(&window->lock);
	return err;
}

/* Count attempts that found no buffer, by what the caller will do. Locked; not closed. */
static void count_no_buffer(struct pavo_direct *window, u32 flags)
{
	struct pavo_dev *dev = window->dev;

	if (flags & PAVO_DIRECT_WAIT)
		pavo_count(dev, direct_waits);
	if (flags & PAVO_DIRECT_FALLBACK)
		pavo_count(dev, direct_bounced);
}

/* Does the caller ask for a range, a length and flags that there are? */
static bool is_valid_arm(const struct pavo_direct *window,
			 const struct pavo_direct_arm_args *args)
{
	const u32 known = PAVO_DIRECT_READ | PAVO_DIRECT_WHOLE |
			  PAVO_DIRECT_WAIT | PAVO_DIRECT_FALLBACK;
	const u32 both = PAVO_DIRECT_WAIT | PAVO_DIRECT_FALLBACK;

	if (args->range >= window->shape.ranges || !args->total ||
	    args->total > window->shape.size || args->flags & ~known ||
	    args->reserved || (args->flags & both) == both)
		return false;
	return !(args->flags & PAVO_DIRECT_WHOLE) ||
	       args->flags & PAVO_DIRECT_READ;
}

int pavo_direct_arm_range(struct pavo_direct *window,
			  const struct pavo_direct_arm_args *args)
{
	struct pavo_direct_slot *slot;
	int err = 0;

	if (!is_valid_arm(window, args))
		return -EINVAL;
	slot = &window->slots[args->range];
	spin_lock_bh(&window->lock);
	if (window->closed) {
		err = -EIO;
	} else if (slot->range.state != PAVO_DIRECT_IDLE) {
		err = -EBUSY;
	} else if (!pavo_direct_take_buffer(window, args->range)) {
		err = -EAGAIN;
		count_no_buffer(window, args->flags);
	} else {
		/* The buffer is there: now the range is valid. */
		pavo_direct_arm(&slot->range, args->total, args->flags);
		pavo_direct_publish(window, args->range);
	}
	spin_unlock_bh(&window->lock);
	return err;
}

/* Count bytes that lie behind those which were admitted before. Locked. */
static int count_next(struct pavo_direct_range *range, u32 bytes, bool *last)
{
	u32 at = range->admitted + (range->read ? range->done : 0);
	u32 len = bytes;
	int err = pavo_direct_admit(range, range->read, at, &len);

	/* A reader of the file would wait for them, or be told that they are gone. */
	if (err == -EAGAIN || err == -ENODATA)
		return range->state == PAVO_DIRECT_LOADED ? -ENOSPC : -EBADF;
	if (!err && len != bytes) {
		range->admitted -= len;
		return -ENOSPC;
	}
	if (!err)
		*last = pavo_direct_count(range, len, len);
	return err;
}

int pavo_direct_count_bytes(struct pavo_direct *window,
			    const struct pavo_direct_count_args *args)
{
	bool last = false;
	int err;

	if (args->range >= window->shape.ranges || !args->bytes)
		return -EINVAL;
	spin_lock_bh(&window->lock);
	if (window->closed)
		err = -EIO;
	else
		err = count_next(&window->slots[args->range].range, args->bytes,
				 &last);
	if (err && !window->closed)
		pavo_count(window->dev, direct_refused);
	if (!err && !last)
		pavo_direct_publish(window, args->range);
	spin_unlock_bh(&window->lock);
	return last ? pavo_direct_end_turn(window, args->range, args->bytes) :
		      err;
}

void pavo_direct_end_ranges(struct pavo_direct *window)
{
	struct pavo_direct_slot *slot;
	u32 i;

	mutex_lock(&window->turns);
	for (i = 0; i < window->shape.ranges; i++) {
		slot = &window->slots[i];
		if (READ_ONCE(slot->range.state) != PAVO_DIRECT_ENDING)
			continue;
		unmap_range(window, i);
		spin_lock_bh(&window->lock);
		pavo_direct_give_buffer(window, i);
		pavo_direct_transition(&slot->range, PAVO_DIRECT_IDLE);
		pavo_direct_publish(window, i);
		spin_unlock_bh(&window->lock);
	}
	mutex_unlock(&window->turns);
}

int pavo_direct_disarm(struct pavo_direct *window, u32 range)
{
	struct pavo_direct_slot *slot;
	int err = 0;

	if (range >= window->shape.ranges)
		return -EINVAL;
	slot = &window->slots[range];
	spin_lock_bh(&window->lock);
	switch (slot->range.state) {
	case PAVO_DIRECT_IDLE:
		err = -EBADF;
		break;
	case PAVO_DIRECT_SENDING:
	case PAVO_DIRECT_ENDING:
	case PAVO_DIRECT_LOADING:
	case PAVO_DIRECT_CLOSING:
	case PAVO_DIRECT_EMPTYING:
		err = -EBUSY;
		break;
	default:
		pavo_direct_transition(&slot->range, PAVO_DIRECT_ENDING);
		pavo_direct_wake(slot);
		slot->key_state = NULL;
	}
	spin_unlock_bh(&window->lock);
	if (!err)
		pavo_direct_end_ranges(window);
	return err;
}
