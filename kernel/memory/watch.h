/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * watch.h - telling a process that its memory is not what it was: for those who
 * keep memory registered after use and must know when it was unmapped, replaced,
 * protected or marked copy-on-write. Only where the kernel can tell (MMU notifiers).
 */
#ifndef PAVO_WATCH_H
#define PAVO_WATCH_H

#include <linux/types.h>

struct ib_ucontext;
struct pavo_mmap_info;
struct pavo_watch;

/**
 * pavo_watch_open - Return: a watch of @slots slots, none in use, whose words are to
 * be mapped by @info; -EINVAL; -ENOMEM. Context: process.
 */
struct pavo_watch *pavo_watch_open(struct ib_ucontext *uctx, u32 slots,
				   struct pavo_mmap_info *info);

/** pavo_watch_close - no word is 0 any more. Sleeps. */
void pavo_watch_close(struct pavo_watch *watch);

/**
 * pavo_watch_set - let @slot watch memory of the calling process: its word is 0 from
 * now on, and no longer as soon as any page of the range is not what it was.
 * @start:  what is watched are whole pages
 * @length: 0: the slot watches nothing any more
 *
 * Return: 0; -EINVAL: no such slot or range; -ENOMEM. Sleeps.
 */
int pavo_watch_set(struct pavo_watch *watch, u32 slot, u64 start, u64 length);

#endif /* PAVO_WATCH_H */
