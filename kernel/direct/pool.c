// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pool.c - assigns the buffers of a direct window to ranges.
 *
 * Ranges and buffers are numbered separately, and a range gets any buffer (sources.md#direct-pool).
 * A buffer without a range is in one of these lists:
 *   free        a range may have it
 *   exported    of the one range that may have it as long as its dma-buf exists
 *   quarantine  others still use its pages: a device that has not finished, a packet in a queue of
 *               this machine, a copy, an I/O, or a driver with a mapping of its dma-buf
 *
 * Copies, I/Os and mappings are counted, and move the buffer when they end. The other users have
 * page references, of which the last is put without notice: pavo_direct_check_quarantine() looks
 * for that when no buffer is free. On some kernels O_DIRECT takes plain references, which
 * page_maybe_dma_pinned() does not report.
 */
#include <linux/kernel.h>
#include <linux/poll.h>
#include "direct/direct_private.h"

/* Buffers that one section of the lock checks. */
#define CHECKS_AT_ONCE 16
/* Interval in which the quarantine is checked while a process waits for a buffer. */
#define CHECK_INTERVAL msecs_to_jiffies(10)

bool pavo_direct_is_used(const struct pavo_direct *window, u32 buffer)
{
	u32 i;

	/* First, because a driver may take references before it unmaps. */
	if (window->buffers[buffer].maps)
		return true;
	for (i = 0; i < window->npages; i++) {
		if (page_ref_count(pavo_direct_find_page(window, buffer, i)) >
		    1)
			return true;
	}
	return false;
}

static u32 get_buffer_number(const struct pavo_direct *window,
			     const struct pavo_direct_buffer *buffer)
{
	return buffer - window->buffers;
}

/* True if a copy, an I/O or others use a buffer without a range. */
static bool is_quarantined(const struct pavo_direct *window,
			   const struct pavo_direct_buffer *buffer)
{
	return buffer->pins ||
	       pavo_direct_is_used(window, get_buffer_number(window, buffer));
}

static void add_free_buffer(struct pavo_direct *window,
			    struct pavo_direct_buffer *buffer)
{
	list_add(&buffer->node, &window->free_buffers);
	/* A poll sleeps only while there is none. */
	if (!window->nfree++)
		wake_up_interruptible_poll(&window->wait,
					   EPOLLOUT | EPOLLWRNORM);
}

static void add_to_quarantine(struct pavo_direct *window,
			      struct pavo_direct_buffer *buffer)
{
	list_add_tail(&buffer->node, &window->quarantine);
	if (!window->closed && wq_has_sleeper(&window->wait))
		pavo_direct_check_quarantine_later(window);
}

/* Add a buffer without a range to the list where it belongs. */
static void add_buffer(struct pavo_direct *window,
		       struct pavo_direct_buffer *buffer)
{
	if (buffer->exports)
		list_add(&buffer->node, &window->slots[buffer->own].exported);
	else if (is_quarantined(window, buffer))
		add_to_quarantine(window, buffer);
	else
		add_free_buffer(window, buffer);
}

void pavo_direct_init_pool(struct pavo_direct *window)
{
	u32 i;

	for (i = window->nbuffers; i-- > 0;) {
		window->buffers[i].range = PAVO_DIRECT_NO_RANGE;
		add_free_buffer(window, &window->buffers[i]);
	}
}

void pavo_direct_settle_buffer(struct pavo_direct *window, u32 buffer)
{
	struct pavo_direct_buffer *settled = &window->buffers[buffer];

	if (settled->range != PAVO_DIRECT_NO_RANGE)
		return;
	/* It is not in the list of free ones. */
	list_del(&settled->node);
	add_buffer(window, settled);
}

/* Remove a buffer that was exported for the range from its list; NULL: none is free. */
static struct pavo_direct_buffer *take_exported(struct pavo_direct *window,
						u32 range)
{
	struct list_head *exported = &window->slots[range].exported;
	struct pavo_direct_buffer *buffer;
	u32 left = CHECKS_AT_ONCE;

	list_for_each_entry(buffer, exported, node) {
		if (!left--)
			break;
		if (is_quarantined(window, buffer))
			continue;
		list_del(&buffer->node);
		return buffer;
	}
	return NULL;
}

/* Remove a free buffer from its list; NULL: none. */
static struct pavo_direct_buffer *take_free(struct pavo_direct *window)
{
	struct pavo_direct_buffer *buffer;
	u32 left = CHECKS_AT_ONCE;

	while (window->nfree && left--) {
		buffer = list_first_entry(&window->free_buffers,
					  struct pavo_direct_buffer, node);
		list_del(&buffer->node);
		window->nfree--;
		/* Memory management may have a reference for a moment. */
		if (!is_quarantined(window, buffer))
			return buffer;
		add_to_quarantine(window, buffer);
	}
	return NULL;
}

int pavo_direct_take_buffer(struct pavo_direct *window, u32 range)
{
	size_t first = (size_t)range * window->npages;
	struct pavo_direct_buffer *buffer;
	u32 number, i;

	buffer = take_exported(window, range) ?: take_free(window);
	if (!buffer)
		return -EAGAIN;
	number = get_buffer_number(window, buffer);
	buffer->range = range;
	window->nbusy++;
	window->slots[range].range.buffer = number;
	for (i = 0; i < window->npages; i++)
		WRITE_ONCE(window->current_pages[first + i],
			   pavo_direct_find_page(window, number, i));
	return 0;
}

void pavo_direct_give_buffer(struct pavo_direct *window, u32 range)
{
	size_t first = (size_t)range * window->npages;
	struct pavo_direct_slot *slot = &window->slots[range];
	struct pavo_direct_buffer *buffer;
	u32 i;

	if (slot->range.buffer == PAVO_DIRECT_NO_BUFFER)
		return;
	for (i = 0; i < window->npages; i++)
		WRITE_ONCE(window->current_pages[first + i], window->nowhere);
	buffer = &window->buffers[slot->range.buffer];
	buffer->range = PAVO_DIRECT_NO_RANGE;
	slot->range.buffer = PAVO_DIRECT_NO_BUFFER;
	window->nbusy--;
	add_buffer(window, buffer);
}

/* Check the buffers that are in quarantine longest. Those in use go to the end of the list. */
static void check_some_buffers(struct pavo_direct *window)
{
	struct pavo_direct_buffer *buffer;
	u32 i;

	for (i = 0; i < CHECKS_AT_ONCE && !list_empty(&window->quarantine);
	     i++) {
		buffer = list_first_entry(&window->quarantine,
					  struct pavo_direct_buffer, node);
		if (is_quarantined(window, buffer)) {
			list_move_tail(&buffer->node, &window->quarantine);
			continue;
		}
		list_del(&buffer->node);
		add_free_buffer(window, buffer);
	}
}

void pavo_direct_check_quarantine_later(struct pavo_direct *window)
{
	queue_delayed_work(window->dev->end_wq, &window->check, CHECK_INTERVAL);
}

bool pavo_direct_check_quarantine(struct pavo_direct *window)
{
	bool found, more;
	u32 looked = 0;

	do {
		spin_lock_bh(&window->lock);
		check_some_buffers(window);
		found = window->nfree;
		more = !list_empty(&window->quarantine);
		spin_unlock_bh(&window->lock);
		looked += CHECKS_AT_ONCE;
		cond_resched();
	} while (more && looked < window->nbuffers);
	return found;
}

u32 pavo_direct_quarantined(const struct pavo_direct *window)
{
	return window->nbuffers - window->nbusy - window->nfree;
}
