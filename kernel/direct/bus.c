// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * bus.c - the bus side of a direct window in process context: arms and disarms ranges, counts
 * bytes, and hands ranges over to the link side.
 *
 * A hand-over removes the pages from page tables first, so that a later store of a process faults
 * and does not change data that is sent or retransmitted. A device that still has a page, or a
 * driver that has the range mapped as a dma-buf, could change the data, so the hand-over waits
 * until only the window uses the pages. The state of the range prevents new uses meanwhile.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include "direct/direct_private.h"
#include "memory/key_state.h"

/*
 * Time that a hand-over waits for a device that has completed to put its pages, or for a driver to
 * unmap. Not in jiffies, which do not advance while the tick of a virtual machine is delayed.
 */
#define DEVICE_WAIT_MS 1000
#define DEVICE_LOOK_US 100

/* Write a register, so that a process which reads it meanwhile notices that. Locked. */
static void write_register(struct pavo_direct_register *to,
			   struct pavo_direct_register *from)
{
	from->sequence = to->sequence + 1;
	WRITE_ONCE(to->sequence, from->sequence);
	/* Before the values, for readers that find one of them. */
	smp_wmb();
	*to = *from;
	/* Pairs with the acquire of readers (pavodv_direct_read_register()). */
	smp_store_release(&to->sequence, from->sequence + 1);
}

/* Count the ranges with bytes for readers, and wake polls when there is one more. */
static void count_loaded(struct pavo_direct *window,
			 struct pavo_direct_slot *slot)
{
	bool loaded = slot->range.state == PAVO_DIRECT_LOADED;

	if (loaded == slot->loaded)
		return;
	slot->loaded = loaded;
	window->nloaded += loaded ? 1 : -1;
	if (loaded && wq_has_sleeper(&window->wait))
		wake_up_interruptible_poll(&window->wait,
					   EPOLLIN | EPOLLRDNORM);
}

void pavo_direct_publish(struct pavo_direct *window, u32 range)
{
	struct pavo_direct_slot *slot = &window->slots[range];
	struct pavo_direct_register reg;

	pavo_direct_fill_register(&slot->range, &reg);
	write_register(&window->registers[range], &reg);
	count_loaded(window, slot);
	if (wq_has_sleeper(&slot->wait))
		wake_up_interruptible_all(&slot->wait);
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

/* Remove the pages of a range from all page tables. map_mutex is held. */
static void unmap_range(struct pavo_direct *window, u32 range)
{
	struct pavo_direct_slot *slot = &window->slots[range];

	lockdep_assert_held(&window->map_mutex);
	if (!slot->mapped)
		return;
	unmap_mapping_range(&window->mapping,
			    (loff_t)range * window->shape.size,
			    window->shape.size, 1);
	slot->mapped = false;
}

static bool is_buffer_used(struct pavo_direct *window, u32 buffer)
{
	bool held;

	spin_lock_bh(&window->lock);
	held = pavo_direct_is_used(window, buffer);
	spin_unlock_bh(&window->lock);
	return held;
}

/*
 * Wait until only the window uses the pages. -EBUSY: timeout, or the process is being killed;
 * -EAGAIN: the caller does not wait.
 */
static int wait_for_device(struct pavo_direct *window, u32 buffer, bool waits)
{
	const ktime_t end = ktime_add_ms(ktime_get(), DEVICE_WAIT_MS);

	while (is_buffer_used(window, buffer)) {
		if (!waits)
			return -EAGAIN;
		if (ktime_after(ktime_get(), end) ||
		    fatal_signal_pending(current))
			return -EBUSY;
		usleep_range(DEVICE_LOOK_US, 2 * DEVICE_LOOK_US);
	}
	return 0;
}

/* Remove the pages of the range from page tables. -EAGAIN: that waits for others. */
static int close_range(struct pavo_direct *window, u32 range, bool waits)
{
	if (waits)
		mutex_lock(&window->map_mutex);
	else if (!mutex_trylock(&window->map_mutex))
		return -EAGAIN;
	unmap_range(window, range);
	mutex_unlock(&window->map_mutex);
	return 0;
}

int pavo_direct_hand_over(struct pavo_direct *window, u32 range, u32 bytes,
			  bool waits)
{
	struct pavo_direct_slot *slot = &window->slots[range];
	u32 buffer, uses;
	int err = 0;

	spin_lock_bh(&window->lock);
	buffer = slot->range.buffer;
	uses = slot->range.uses;
	spin_unlock_bh(&window->lock);
	/* In this state no process or driver can map it again. */
	err = close_range(window, range, waits);
	if (!err && buffer != PAVO_DIRECT_NO_BUFFER)
		err = wait_for_device(window, buffer, waits);

	spin_lock_bh(&window->lock);
	if (slot->range.uses != uses ||
	    (slot->range.state != PAVO_DIRECT_CLOSING &&
	     slot->range.state != PAVO_DIRECT_EMPTYING)) {
		err = -EBADF;
	} else if (err) {
		slot->range.count -= bytes;
		slot->range.admitted -= bytes;
		pavo_direct_transition(&slot->range,
				       slot->range.read ? PAVO_DIRECT_LOADED :
							  PAVO_DIRECT_FILLING);
		pavo_direct_publish(window, range);
		if (!window->closed)
			pavo_count(window->dev, direct_busy);
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

void pavo_direct_count_no_buffer(struct pavo_direct *window, u32 flags)
{
	if (window->closed)
		return;
	if (flags & PAVO_DIRECT_WAIT)
		pavo_count(window->dev, direct_waits);
	if (flags & PAVO_DIRECT_FALLBACK)
		pavo_count(window->dev, direct_bounced);
}

bool pavo_direct_is_valid_arm(const struct pavo_direct *window,
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

int pavo_direct_arm_locked(struct pavo_direct *window,
			   const struct pavo_direct_arm_args *args, bool io)
{
	struct pavo_direct_range *range = &window->slots[args->range].range;
	int err;

	if (window->closed)
		return -EIO;
	if (range->state != PAVO_DIRECT_IDLE)
		return -EBUSY;
	err = pavo_direct_take_buffer(window, args->range);
	if (err)
		return err;
	pavo_direct_arm(range, args->total, args->flags, io);
	pavo_direct_publish(window, args->range);
	return 0;
}

void pavo_direct_revoke(struct pavo_direct *window, u32 range)
{
	pavo_direct_give_buffer(window, range);
	pavo_direct_transition(&window->slots[range].range, PAVO_DIRECT_IDLE);
	pavo_direct_publish(window, range);
}

int pavo_direct_arm_range(struct pavo_direct *window,
			  const struct pavo_direct_arm_args *args)
{
	bool again = true;
	int err;

	if (!pavo_direct_is_valid_arm(window, args))
		return -EINVAL;
	for (;;) {
		spin_lock_bh(&window->lock);
		err = pavo_direct_arm_locked(window, args, false);
		if (err == -EAGAIN && !again)
			pavo_direct_count_no_buffer(window, args->flags);
		spin_unlock_bh(&window->lock);
		if (err != -EAGAIN || !again)
			return err;
		pavo_direct_check_quarantine(window);
		again = false;
	}
}

/* Count the bytes behind those that were admitted before. Locked. */
static int count_next(struct pavo_direct_range *range, u32 bytes, bool *last)
{
	u32 at = range->admitted + (range->read ? range->done : 0);
	u32 len = bytes;
	int err = pavo_direct_admit(range, range->read, at, &len);

	/* The errnos are for readers of the file. */
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
	if (!err)
		pavo_direct_publish(window, args->range);
	spin_unlock_bh(&window->lock);
	if (!last)
		return err;
	return pavo_direct_hand_over(window, args->range, args->bytes, true);
}

void pavo_direct_begin_ending(struct pavo_direct *window, u32 range)
{
	pavo_direct_transition(&window->slots[range].range, PAVO_DIRECT_ENDING);
	pavo_direct_publish(window, range);
	set_bit(range, window->ending);
}

void pavo_direct_end_ranges(struct pavo_direct *window)
{
	u32 i;

	mutex_lock(&window->map_mutex);
	for_each_set_bit(i, window->ending, window->shape.ranges) {
		unmap_range(window, i);
		spin_lock_bh(&window->lock);
		clear_bit(i, window->ending);
		pavo_direct_give_buffer(window, i);
		pavo_direct_transition(&window->slots[i].range,
				       PAVO_DIRECT_IDLE);
		pavo_direct_publish(window, i);
		spin_unlock_bh(&window->lock);
	}
	mutex_unlock(&window->map_mutex);
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
		pavo_direct_begin_ending(window, range);
		pavo_direct_drop_io(slot);
		pavo_direct_wake(slot);
		slot->key_state = NULL;
	}
	spin_unlock_bh(&window->lock);
	if (!err)
		pavo_direct_end_ranges(window);
	return err;
}
