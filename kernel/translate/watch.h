/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * watch.h - watches: tell a process that pages of its memory were unmapped, replaced, moved,
 * protected or marked copy-on-write. Libraries that keep memory registered after use need
 * that. Works only in kernels with MMU notifiers.
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
 * @slots: number of slots
 * @info:  set; how the process maps the words
 *
 * Return: the watch; -EINVAL; -ENOMEM. Context: process.
 */
struct pavo_watch *pavo_watch_open(struct ib_ucontext *uctx, u32 slots,
				   struct pavo_mmap_info *info);

/** pavo_watch_close - end the watch, with no word 0. Sleeps. */
void pavo_watch_close(struct pavo_watch *watch);

/**
 * pavo_watch_set - let @slot watch memory of the calling process. Its word is 0 from
 * now on, until any page of the range changes.
 * @watch:  the watch
 * @slot:   number of the slot
 * @start:  rounded down to a page, as the end is rounded up
 * @length: 0: the slot watches nothing any more
 *
 * Return: 0; -EINVAL: the slot or the range does not exist; -ENOMEM. Sleeps.
 */
int pavo_watch_set(struct pavo_watch *watch, u32 slot, u64 start, u64 length);

#endif /* PAVO_WATCH_H */
