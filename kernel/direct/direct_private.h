/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct_private.h - what the files of direct/ share; no other folder includes it.
 */
#ifndef PAVO_DIRECT_PRIVATE_H
#define PAVO_DIRECT_PRIVATE_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "adapter.h"
#include "direct/direct.h"
#include "direct/range.h"
#include "memory/memory.h"
#include "stats.h"

#define PAVO_DIRECT_NO_RANGE (~0u)

/**
 * struct pavo_direct_buffer - a buffer of the pool.
 * @range:   the range that has it, or PAVO_DIRECT_NO_RANGE
 * @pins:    copies between it and a file that are under way
 * @exports: dma-bufs that name it. Only the range of the first may have it meanwhile
 * @own:     that range
 * @maps:    mappings of those that drivers have; none begins but in the turn of the bus side
 */
struct pavo_direct_buffer {
	u32 range;
	u32 pins;
	u32 exports;
	u32 own;
	u32 maps;
};

/**
 * struct pavo_direct_slot - a range, and what waits for it.
 * @range:   its state
 * @key_state:  queue pair whose work request has it; NULL: none yet
 * @wqe:     number of that work request
 * @missing: the side of @key_state that waits until it is drained, or NULL
 * @mapped:  pages of its buffer may be in a process's page table
 */
struct pavo_direct_slot {
	struct pavo_direct_range range;
	struct pavo_key_state *key_state;
	u32 wqe;
	struct pavo_missing *missing;
	bool mapped;
};

/**
 * struct pavo_direct - a direct window.
 * @refs:     the object of the process, files, dma-bufs
 * @list:     in the adapter's list
 * @number:   for people
 * @dev:      the adapter; not to be used when @closed
 * @mr:       the key
 * @shape:    ranges
 * @mm:       the process that made it, whose RLIMIT_MEMLOCK pays for the buffers
 * @npages:   of a range or buffer
 * @nbuffers: of the pool
 * @lock:     protects all that follows but the constant arrays
 * @turns:    held while pages are put into page tables, and taken out. Taken before @lock
 * @closed:   the process's object is gone
 * @wait:     woken by each change that a process may wait for
 * @end:      takes mappings of ranges away that were given up in softirq
 * @look:     wakes processes that wait for a buffer which is in quarantine: no call tells when
 *            others put its pages
 * @mapping:  all mappings of the window's files
 * @registers: page that processes may read
 * @pages:    of the buffers; constant
 * @nowhere:  page in the place of those of ranges without a buffer
 * @current_pages: of the ranges, at present; the region's list
 * @exports:  dma-bufs of all buffers
 * @buffers:  the pool
 * @slots:    the ranges
 */
struct pavo_direct {
	struct kref refs;
	struct list_head list;
	u32 number;
	struct pavo_dev *dev;
	struct pavo_mr *mr;
	struct mm_struct *mm;
	struct pavo_direct_shape shape;
	u32 npages;
	u32 nbuffers;
	spinlock_t lock; /* states and the pool */
	struct mutex turns; /* page tables */
	bool closed;
	wait_queue_head_t wait;
	struct work_struct end;
	struct delayed_work look;
	struct address_space mapping;
	struct pavo_direct_register *registers;
	struct page **pages;
	struct page *nowhere;
	struct page **current_pages;
	u32 exports;
	struct pavo_direct_buffer *buffers;
	struct pavo_direct_slot *slots;
};

static inline u32 pavo_direct_registers_size(const struct pavo_direct *window)
{
	return PAGE_ALIGN(window->shape.ranges *
			  sizeof(struct pavo_direct_register));
}

static inline u64 pavo_direct_length(const struct pavo_direct *window)
{
	return (u64)window->shape.ranges * window->shape.size;
}

/** pavo_direct_page - a page of the buffer that a range has. Locked, or the buffer is pinned. */
static inline struct page *pavo_direct_page(const struct pavo_direct *window,
					    u32 buffer, u32 at)
{
	return window->pages[(size_t)buffer * window->npages + at];
}

/* direct_window.c */
void pavo_direct_put(struct pavo_direct *window);

/* pool.c; locked */

/* Give the range a buffer. False: the pool has none. */
bool pavo_direct_take_buffer(struct pavo_direct *window, u32 range);
/* Take its buffer away. */
void pavo_direct_give_buffer(struct pavo_direct *window, u32 range);
/* Is there a buffer that a range may have? */
bool pavo_direct_has_buffer(const struct pavo_direct *window);
/* Does a page of the buffer belong to others, too: a page table, a device, a driver, a packet? */
bool pavo_direct_is_used(const struct pavo_direct *window, u32 buffer);
/* How many free buffers are used so, or exported, or pinned. */
u32 pavo_direct_quarantined(const struct pavo_direct *window);

/* bus.c */

/* Show the range as it is, and wake processes that wait for a change. Locked. */
void pavo_direct_publish(struct pavo_direct *window, u32 range);
/* Let the queue pair that waits for the range go on. Locked. */
void pavo_direct_wake(struct pavo_direct_slot *slot);
/*
 * End the turn of the bus side, whose last @bytes were counted. -EBUSY: a device may still be at
 * work in it, or a driver has it mapped, and the bytes do not count. Sleeps.
 */
int pavo_direct_end_turn(struct pavo_direct *window, u32 range, u32 bytes);
/* Take the mappings of ranges that were given up away, and their buffers. Sleeps. */
void pavo_direct_end_ranges(struct pavo_direct *window);

#endif /* PAVO_DIRECT_PRIVATE_H */
