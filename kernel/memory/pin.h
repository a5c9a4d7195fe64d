/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pin.h - pinned memory of processes, pinned once for all of its uses; included by
 * memory.h.
 */
#ifndef PAVO_PIN_H
#define PAVO_PIN_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>

/**
 * struct pavo_pin_key - hash key of pins: equal in pins of the same pages for the same owner.
 * @owner:  an mm, or an object that several processes share
 * @first:  first page; NULL: no pages
 * @npages: pages
 * @hash:   keyed hash of the list of pages
 */
struct pavo_pin_key {
	const void *owner;
	struct page *first;
	unsigned long npages;
	u64 hash;
};

/**
 * struct pavo_pin - pinned pages of a process, of one range.
 * @node:     in the table of all pins of this machine
 * @key:      owner, first page, number and hash of pages
 * @parts:    shares of processes that use it; the first process is charged for the pages
 * @writable: pinned for writing
 * @tag:      for the owner's use
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
 * @owner:    an mm, or an object that several processes share; pins are shared within one owner
 * @start:    address of the first byte
 * @length:   bytes
 * @writable: pin for writing
 *
 * If the same pages are pinned for @owner already, at another address or through another
 * adapter, that pin is shared and counted once. Pages are compared, not addresses.
 *
 * A new pin is charged to the calling process (mm->pinned_vm). When that process stops using
 * it, the charge moves to another process that uses it. RLIMIT_MEMLOCK of a process bounds all
 * pins that it uses, each once, whichever process is charged.
 *
 * Pages are pinned before the look-up of an existing pin. So for a moment a thread may have
 * as much as the limit pinned beyond what is counted.
 *
 * Return: the pin, with one more use by the process; -EPERM: it may lock no memory; -ENOMEM:
 * over the limit, or no memory; -EREMOTEIO: the first page that cannot be pinned lies in a PCI
 * device, whose driver a pin would keep bound; -EFAULT: part of the range cannot be pinned with
 * these rights; -EOPNOTSUPP: likewise, a file without a page cache (DAX); -EINTR.
 *
 * Context: process; sleeps.
 */
struct pavo_pin *pavo_pin(const void *owner, u64 start, u64 length,
			  bool writable);

/** pavo_unpin - end a use by the process @mm. No packet may have pages of it after the last. */
void pavo_unpin(struct pavo_pin *pin, const struct mm_struct *mm);

/**
 * struct pavo_pin_totals - totals of all pins of this machine.
 * @pins:  pins
 * @pages: pages in them
 * @uses:  uses of them, by regions and by owners that are no mm
 * @compared: pages of pins that were compared with pages of other ones
 */
struct pavo_pin_totals {
	u64 pins;
	u64 pages;
	u64 uses;
	u64 compared;
};

void pavo_pin_totals(struct pavo_pin_totals *totals);

#endif /* PAVO_PIN_H */
