/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pin.h - pinned memory of processes, held once for all who use it; included by
 * translate.h.
 */
#ifndef PAVO_PIN_H
#define PAVO_PIN_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>

/** struct pavo_pin_key - what pins have in common that may be the same. */
struct pavo_pin_key {
	const void *owner;
	struct page *first;
	unsigned long npages;
};

/**
 * struct pavo_pin - a run of a process's pages, pinned.
 * @node:     in the table of all pins of this machine
 * @key:      who shares it, and what it is
 * @parts:    processes that use it; it counts as pinned memory of the first
 * @writable: pinned for writing
 * @tag:      the owner's
 * @pages:    @key.npages of them; constant
 */
struct pavo_pin {
	struct rhlist_head node;
	struct pavo_pin_key key;
	struct list_head parts;
	bool writable;
	void *tag;
	struct page *pages[];
};

int pavo_pin_init(void);
void pavo_pin_exit(void);

/**
 * pavo_pin - pin [@start, @start + @length) of the calling process.
 * @owner: pins are shared among those that name the same: an mm, or a job
 *
 * Where these very pages are pinned for @owner already, by another address or
 * through another adapter, they are not pinned and not counted again: it is the
 * pages that are compared, not where they are mapped. New ones are counted as
 * pinned memory of the process, and as that of another who uses them when it does not
 * any more. RLIMIT_MEMLOCK is for all that a process uses so, whosesoever memory it is
 * counted as; each pin once, however often it was asked for. Pages are pinned
 * first, since only then is it known whether they are new: for a moment each thread
 * may have as much as the limit pinned beside what is counted.
 *
 * Return: one more use of the pin; -EPERM: may lock no memory at all; -ENOMEM:
 * more than its limit, or none left; -EFAULT: not all of it is memory that can
 * be used so; -EINTR.
 *
 * Context: process; sleeps.
 */
struct pavo_pin *pavo_pin(const void *owner, u64 start, u64 length,
			  bool writable);

/** pavo_unpin - one use less by the process @mm; no packet touches the pages after the last. */
void pavo_unpin(struct pavo_pin *pin, const struct mm_struct *mm);

/** struct pavo_pin_totals - all pins of this machine. */
struct pavo_pin_totals {
	u64 pins;
	u64 pages;
	u64 uses;
};

void pavo_pin_totals(struct pavo_pin_totals *totals);

#endif /* PAVO_PIN_H */
