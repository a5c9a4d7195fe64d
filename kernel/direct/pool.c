// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pool.c - assigns the buffers of a direct window to ranges.
 *
 * Ranges and buffers are numbered separately, and a range gets any buffer (sources.md#direct-pool).
 * A free buffer is in quarantine as long as others use its pages: a device that has not finished, a
 * packet in a queue of this machine, or a driver with a mapping of its dma-buf. Mappings are
 * counted; the other users have page references. On some kernels O_DIRECT takes plain references,
 * which page_maybe_dma_pinned() does not report.
 */
#include <linux/kernel.h>
#include <linux/prandom.h>
#include "direct/direct_private.h"

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

/* True if @range may get that buffer. */
static bool range_may_have(const struct pavo_direct *window, u32 number,
			   u32 range)
{
	const struct pavo_direct_buffer *buffer = &window->buffers[number];

	if (buffer->range != PAVO_DIRECT_NO_RANGE || buffer->pins)
		return false;
	if (buffer->exports && buffer->own != range)
		return false;
	return !pavo_direct_is_used(window, number);
}

/* Choose a free buffer that was exported for @range, or PAVO_DIRECT_NO_BUFFER. */
static u32 choose_exported(const struct pavo_direct *window, u32 range)
{
	u32 i;

	for (i = 0; window->exports && i < window->nbuffers; i++) {
		if (window->buffers[i].exports &&
		    range_may_have(window, i, range))
			return i;
	}
	return PAVO_DIRECT_NO_BUFFER;
}

/* Choose any free buffer for @range, or PAVO_DIRECT_NO_BUFFER. */
static u32 choose_any(struct pavo_direct *window, u32 range)
{
	const u32 n = window->nbuffers;
	u32 start = reciprocal_scale(prandom_u32_state(&window->random), n);
	u32 i, number;

	for (i = 0; i < n; i++) {
		number = start + i < n ? start + i : start + i - n;
		if (range_may_have(window, number, range))
			return number;
	}
	return PAVO_DIRECT_NO_BUFFER;
}

int pavo_direct_take_buffer(struct pavo_direct *window, u32 range)
{
	size_t first = (size_t)range * window->npages;
	u32 number = choose_exported(window, range), i;

	if (number == PAVO_DIRECT_NO_BUFFER)
		number = choose_any(window, range);
	if (number == PAVO_DIRECT_NO_BUFFER)
		return -EAGAIN;
	window->buffers[number].range = range;
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
	u32 i;

	if (slot->range.buffer == PAVO_DIRECT_NO_BUFFER)
		return;
	for (i = 0; i < window->npages; i++)
		WRITE_ONCE(window->current_pages[first + i], window->nowhere);
	window->buffers[slot->range.buffer].range = PAVO_DIRECT_NO_RANGE;
	slot->range.buffer = PAVO_DIRECT_NO_BUFFER;
}

bool pavo_direct_has_buffer(const struct pavo_direct *window)
{
	u32 i;

	for (i = 0; i < window->nbuffers; i++) {
		if (range_may_have(window, i, PAVO_DIRECT_NO_RANGE))
			return true;
	}
	return false;
}

u32 pavo_direct_quarantined(const struct pavo_direct *window)
{
	u32 i, n = 0;

	for (i = 0; i < window->nbuffers; i++) {
		if (window->buffers[i].range == PAVO_DIRECT_NO_RANGE &&
		    !range_may_have(window, i, PAVO_DIRECT_NO_RANGE))
			n++;
	}
	return n;
}
