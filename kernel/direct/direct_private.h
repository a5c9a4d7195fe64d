/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct_private.h - what the files of direct/ share; no other folder includes it.
 */
#ifndef PAVO_DIRECT_PRIVATE_H
#define PAVO_DIRECT_PRIVATE_H

#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "accounting.h"
#include "adapter.h"
#include "direct/direct.h"
#include "direct/range.h"
#include "memory/claim.h"
#include "memory/memory.h"
#include "stats.h"

struct pavo_direct_io;

#define PAVO_DIRECT_NO_RANGE (~0u)

/**
 * struct pavo_directs - direct windows of an adapter.
 * @mutex:   protects the list
 * @windows: list of struct pavo_direct
 * @made:    how many there were, for their numbers
 */
struct pavo_directs {
	struct mutex mutex; /* windows */
	struct list_head windows;
	u32 made;
};

/**
 * struct pavo_direct_buffer - a buffer of the pool.
 * @node:    without a range: in a list of the pool (pool.c)
 * @range:   the range that has it, or PAVO_DIRECT_NO_RANGE
 * @pins:    copies between it and a file that are in progress, and I/Os in flight
 * @exports: dma-bufs of it. Only the range of the first one may have it meanwhile
 * @own:     that range
 * @maps:    mappings of these dma-bufs by drivers; none begins unless the bus side owns the range
 */
struct pavo_direct_buffer {
	struct list_head node;
	u32 range;
	u32 pins;
	u32 exports;
	u32 own;
	u32 maps;
};

/**
 * struct pavo_direct_slot - a range, and the queue pair that waits for it.
 * @range:   its state
 * @key_state: of the queue pair whose work request has claimed it; NULL: none yet
 * @wqe:     number of that work request
 * @missing: of the side that waits until it is drained, or NULL
 * @io:      the I/O that begins when the payload is there, or NULL
 * @exported: buffers without a range that were exported for this one
 * @wait:    processes that wait for its payload
 * @mapped:  pages of its buffer may be in a process's page table
 * @loaded:  it was LOADED when it was published
 */
struct pavo_direct_slot {
	struct pavo_direct_range range;
	struct pavo_key_state *key_state;
	u32 wqe;
	struct pavo_missing *missing;
	struct pavo_direct_io *io;
	struct list_head exported;
	wait_queue_head_t wait;
	bool mapped;
	bool loaded;
};

/**
 * struct pavo_direct - a direct window.
 * @refs:     references of the uverbs object, files, dma-bufs and I/Os
 * @free:     frees it, if an I/O had the last reference
 * @list:     in the adapter's list
 * @number:   id, for debugfs
 * @dev:      the adapter; must not be used when @closed
 * @mr:       the key
 * @shape:    base, number and size of the ranges
 * @user:     I/Os are charged to it
 * @mm:       of the process that made it; the buffers are charged to its RLIMIT_MEMLOCK
 * @npages:   pages of a range or buffer
 * @nbuffers: buffers of the pool
 * @lock:     protects all members below except the constant arrays
 * @map_mutex: held while pages are inserted into page tables, and removed. Taken before @lock
 * @closed:   the uverbs object was destroyed
 * @wait:     polls of the window's files
 * @ending:   ranges in ENDING
 * @end:      unmaps those that were disarmed in softirq
 * @check:    checks the buffers in quarantine while a process waits for one: no callback reports
 *            that others have put their pages
 * @mapping:  all mappings of the window's files
 * @registers: pages that processes may read
 * @pages:    of the buffers; constant
 * @nowhere:  page that stands for those of ranges without a buffer
 * @current_pages: present pages of the ranges; the list of the region
 * @buffers:  the pool
 * @free_buffers: its buffers that a range may have
 * @quarantine: its buffers without a range that others may still use
 * @nfree:    number of @free_buffers
 * @nbusy:    buffers that ranges have
 * @slots:    the ranges
 * @nloaded:  ranges that have bytes for readers
 */
struct pavo_direct {
	struct kref refs;
	struct work_struct free;
	struct list_head list;
	u32 number;
	struct pavo_dev *dev;
	struct pavo_mr *mr;
	struct pavo_user *user;
	struct mm_struct *mm;
	struct pavo_direct_shape shape;
	u32 npages;
	u32 nbuffers;
	spinlock_t lock; /* states and the pool */
	struct mutex map_mutex; /* page tables */
	bool closed;
	wait_queue_head_t wait;
	DECLARE_BITMAP(ending, PAVO_DIRECT_RANGES);
	struct work_struct end;
	struct delayed_work check;
	struct address_space mapping;
	struct pavo_direct_register *registers;
	struct page **pages;
	struct page *nowhere;
	struct page **current_pages;
	struct pavo_direct_buffer *buffers;
	struct list_head free_buffers;
	struct list_head quarantine;
	u32 nfree;
	u32 nbusy;
	struct pavo_direct_slot *slots;
	u32 nloaded;
};

static inline u32
pavo_direct_get_registers_size(const struct pavo_direct *window)
{
	return PAGE_ALIGN(window->shape.ranges *
			  sizeof(struct pavo_direct_register));
}

static inline u64 pavo_direct_get_length(const struct pavo_direct *window)
{
	return (u64)window->shape.ranges * window->shape.size;
}

/** pavo_direct_find_page - return page @at of a buffer. Locked, or the buffer is pinned. */
static inline struct page *
pavo_direct_find_page(const struct pavo_direct *window, u32 buffer, u32 at)
{
	return window->pages[(size_t)buffer * window->npages + at];
}

/* link.c */
extern const struct pavo_claim_ops pavo_direct_claims;

/* direct_window.c */
void pavo_direct_put(struct pavo_direct *window);
/* Free a window without references. Sleeps. */
void pavo_direct_free(struct pavo_direct *window);

/* pool.c */

/* Add all buffers to the pool of a new window. */
void pavo_direct_init_pool(struct pavo_direct *window);
/* Assign a buffer to a range. Locked. Return: 0; -EAGAIN: none is known to be free. */
int pavo_direct_take_buffer(struct pavo_direct *window, u32 range);
/* Return the buffer of a range to the pool. Locked. */
void pavo_direct_give_buffer(struct pavo_direct *window, u32 range);
/* A pin, an export or a mapping of the buffer has ended. Locked. */
void pavo_direct_settle_buffer(struct pavo_direct *window, u32 buffer);
/* True if a page table, device, driver or packet refers to a page of the buffer. Locked. */
bool pavo_direct_is_used(const struct pavo_direct *window, u32 buffer);
/* Return the number of buffers without a range that no other range may have. Locked. */
u32 pavo_direct_quarantined(const struct pavo_direct *window);
/*
 * Check all buffers in quarantine. Not locked; the lock is held for a few buffers at a time.
 * Return: true if the pool has a free buffer.
 */
bool pavo_direct_check_quarantine(struct pavo_direct *window);
/* Do that in a moment. The window is not closed. */
void pavo_direct_check_quarantine_later(struct pavo_direct *window);

/* io.c */

int pavo_direct_ios_init(void);
void pavo_direct_ios_exit(void);
/* I/Os of the whole machine, also those of closed windows. */
u32 pavo_direct_count_ios(void);
/* As pavo_direct_put(), in any context but a hard interrupt. */
void pavo_direct_put_later(struct pavo_direct *window);
/* The payload of a range is there: start its I/O. Locked. */
void pavo_direct_begin_drain(struct pavo_direct *window, u32 range);
/* End an I/O that has not begun. Locked. */
void pavo_direct_drop_io(struct pavo_direct_slot *slot);

/* bus.c */

/* Check range, length and flags of the caller. */
bool pavo_direct_is_valid_arm(const struct pavo_direct *window,
			      const struct pavo_direct_arm_args *args);
/*
 * Arm a range, whose arguments are valid. Locked. @io: the module will move its bytes. Return: 0;
 * -EIO: the window is closed; -EBUSY: the range is armed; -EAGAIN: no buffer is known to be free,
 * so the caller calls pavo_direct_check_quarantine() and tries once more.
 */
int pavo_direct_arm_locked(struct pavo_direct *window,
			   const struct pavo_direct_arm_args *args, bool io);
/* Count an attempt that found no buffer, by the caller's flags. Locked. */
void pavo_direct_count_no_buffer(struct pavo_direct *window, u32 flags);
/* Make a range idle that was armed in the same section of the lock. Locked. */
void pavo_direct_revoke(struct pavo_direct *window, u32 range);
/* Disarm a range; pavo_direct_end_ranges() makes it idle. Locked. */
void pavo_direct_begin_ending(struct pavo_direct *window, u32 range);

/* Update the register of a range after a transition, and wake those who wait for it. Locked. */
void pavo_direct_publish(struct pavo_direct *window, u32 range);
/* Wake the queue pair that waits for the range. Locked. */
void pavo_direct_wake(struct pavo_direct_slot *slot);
/*
 * Hand a range over from the bus side to the link side, after its last @bytes were counted. Sleeps,
 * for a second at most, but with @waits alone.
 * Return: 0; -EBUSY: a device may still access it, or a driver has it mapped, so the bytes do not
 * count; -EAGAIN: likewise, at once; -EBADF: the range was disarmed.
 */
int pavo_direct_hand_over(struct pavo_direct *window, u32 range, u32 bytes,
			  bool waits);
/* Unmap ranges that were disarmed, and return their buffers to the pool. Sleeps. */
void pavo_direct_end_ranges(struct pavo_direct *window);

#endif /* PAVO_DIRECT_PRIVATE_H */
