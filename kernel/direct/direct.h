/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct.h - the door of direct/: direct windows (sources.md#direct).
 *
 * Owns: windows, their ranges and buffers, and the three faces by which the bus side, a device or
 * a process, gets at them. The requester is the link side.
 *
 * A window is found by its key, as a region (memory/memory.h) with PAVO_ACCESS_DIRECT. Its list
 * of pages names the buffer that each range has, or a page that no process sees. Pages are freed
 * a grace period after the key, and with the last file and mapping.
 */
#ifndef PAVO_DIRECT_H
#define PAVO_DIRECT_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>
#include "status.h"

struct file;
struct pavo_dev;
struct pavo_direct;
struct pavo_key_state;
struct pavo_missing;
struct pavo_region;
struct seq_file;

/* For verbs/: process context, may sleep. Errors as in pavo-abi-direct.h. */

/**
 * pavo_direct_open - make a window.
 * @ibpd: its protection domain, which is kept until the window is closed
 * @args: what the process asks for
 * @resp: set, but for the file descriptor
 */
struct pavo_direct *pavo_direct_open(struct ib_pd *ibpd,
				     const struct pavo_direct_open_args *args,
				     struct pavo_direct_open_resp *resp);

/** pavo_direct_close - end a window: its key, its mappings, and all that waits for it. */
void pavo_direct_close(struct pavo_direct *window);

/** pavo_direct_file - a file of the window, or an error. */
struct file *pavo_direct_file(struct pavo_direct *window);

/** pavo_direct_arm_range - arm a range. */
int pavo_direct_arm_range(struct pavo_direct *window,
			  const struct pavo_direct_arm_args *args);

/** pavo_direct_count_bytes - bytes went in or out by mmap or dma-buf. */
int pavo_direct_count_bytes(struct pavo_direct *window,
			    const struct pavo_direct_count_args *args);

/** pavo_direct_disarm - give a range up. */
int pavo_direct_disarm(struct pavo_direct *window, u32 range);

/** pavo_direct_export - the file of a dma-buf of an armed range, or an error. */
struct file *pavo_direct_export(struct pavo_direct *window, u32 range);

/** pavo_direct_show - windows of an adapter and their armed ranges, for people. Sleeps. */
void pavo_direct_show(struct seq_file *file, struct pavo_dev *dev);

/* For the requester: RCU read side, any context. The range of @va belongs to @region's window. */

/**
 * struct pavo_direct_user - a work request that names a range.
 * @key_state:  its queue pair
 * @wqe:     its number
 * @claimed: it has claimed the range before. If the range is another's meanwhile, or has none, its
 *           turn was given up: the turn that is there now is not the work request's
 */
struct pavo_direct_user {
	struct pavo_key_state *key_state;
	u32 wqe;
	bool claimed;
};

/**
 * pavo_direct_claim - a work request begins that names @len bytes from @va on.
 * @user:   the work request
 * @region: with PAVO_ACCESS_DIRECT
 * @va:     inside @region
 * @len:    bytes, not 0
 * @read:   it is a read
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: not all bytes are there; the work of the queue pair runs when
 * they are. PAVO_ST_STATE: the range is not armed for it, or another work request has it, or its
 * turn was given up; PAVO_ST_RANGE: these are not the bytes that it is armed for.
 */
enum pavo_status pavo_direct_claim(const struct pavo_direct_user *user,
				   const struct pavo_region *region, u64 va,
				   u32 len, bool read);

/**
 * pavo_direct_load_begin - the next bytes of a read have come.
 * @user:    the work request
 * @region:  the window
 * @va:      where they belong by the work request
 * @missing: of the side; it waits if that is said
 * @to:      set: where the bytes are to be put
 *
 * Return: PAVO_ST_OK: call pavo_direct_load_end(), in this RCU section; PAVO_ST_WAIT: those before
 * them are not drained; PAVO_ST_STATE.
 */
enum pavo_status pavo_direct_load_begin(const struct pavo_direct_user *user,
					const struct pavo_region *region,
					u64 va, struct pavo_missing *missing,
					u64 *to);

/** pavo_direct_load_end - @len bytes were put there; 0: it failed. */
void pavo_direct_load_end(const struct pavo_region *region, u64 va, u32 len);

/** pavo_direct_drained - PAVO_ST_OK if what was loaded is drained, as pavo_direct_load_begin(). */
enum pavo_status pavo_direct_drained(const struct pavo_direct_user *user,
				     const struct pavo_region *region, u64 va,
				     struct pavo_missing *missing);

/**
 * pavo_direct_release - a work request completes, or is flushed: its range is free, or given up.
 * @user:   the work request
 * @region: the window
 * @va:     inside @region
 */
void pavo_direct_release(const struct pavo_direct_user *user,
			 const struct pavo_region *region, u64 va);

#endif /* PAVO_DIRECT_H */
