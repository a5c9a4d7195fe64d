/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * watch.h - watches: notify a process that pages of its memory were unmapped, replaced, moved,
 * protected or marked copy-on-write. Libraries that keep memory registered after use need
 * that. Kernels without MMU notifiers have no watches.
 */
#ifndef PAVO_WATCH_H
#define PAVO_WATCH_H

#include <linux/types.h>

struct ib_ucontext;
struct pavo_mmap_info;
struct pavo_watch;

/**
 * pavo_watch_open - make a watch; none of its slots is in use.
 * @uctx:  ucontext of the process
 * @slots: slots, 1 to PAVO_WATCH_SLOTS
 * @info:  set: where the process maps the words
 *
 * Context: process.
 * Return: the watch; ERR_PTR(-EINVAL): @slots is out of range; ERR_PTR(-ENOMEM).
 */
struct pavo_watch *pavo_watch_open(struct ib_ucontext *uctx, u32 slots,
				   struct pavo_mmap_info *info);

/** pavo_watch_close - end the watch; its words are not 0 any more. Sleeps. */
void pavo_watch_close(struct pavo_watch *watch);

/**
 * pavo_watch_set - let @slot watch memory of the calling process. Its word is 0 from
 * now on, until any page of the range changes.
 * @watch:  the watch
 * @slot:   index of the slot
 * @start:  first address; rounded down to a page, as the end is rounded up
 * @length: bytes; 0: the slot watches nothing any more
 *
 * Context: process, sleeps.
 * Return: 0; -EINVAL: the slot or the range does not exist; -ENOMEM.
 */
int pavo_watch_set(struct pavo_watch *watch, u32 slot, u64 start, u64 length);

#endif /* PAVO_WATCH_H */
