/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct.h - interface of direct/: direct windows (sources.md#direct).
 *
 * Owns windows, their ranges and buffers, and the three interfaces of the bus side, which is a
 * device or a process: file, mapping and dma-buf. The requester is the link side.
 *
 * A key refers to a window as a region (memory/memory.h) with PAVO_ACCESS_DIRECT. Its list of pages
 * has the pages of each range's buffer, or a page that no process can access. Pages are freed a
 * grace period after the key, when the last file and mapping is gone.
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
 * pavo_direct_open - create a window.
 * @ibpd: its protection domain, which stays until the window is closed
 * @args: arguments of the process
 * @resp: set, except for the file descriptor
 *
 * Return: the window, or an error pointer.
 */
struct pavo_direct *pavo_direct_open(struct ib_pd *ibpd,
				     const struct pavo_direct_open_args *args,
				     struct pavo_direct_open_resp *resp);

/** pavo_direct_close - close a window: destroy its key and mappings, and wake all waiters. */
void pavo_direct_close(struct pavo_direct *window);

/** pavo_direct_file - open a file of the window. Return: the file, or an error pointer. */
struct file *pavo_direct_file(struct pavo_direct *window);

/** pavo_direct_arm_range - arm a range. */
int pavo_direct_arm_range(struct pavo_direct *window,
			  const struct pavo_direct_arm_args *args);

/** pavo_direct_count_bytes - count bytes that were written or read by mmap or dma-buf. */
int pavo_direct_count_bytes(struct pavo_direct *window,
			    const struct pavo_direct_count_args *args);

/** pavo_direct_disarm - disarm a range, and discard its data. */
int pavo_direct_disarm(struct pavo_direct *window, u32 range);

/** pavo_direct_export - export an armed range as a dma-buf. Return: file or error pointer. */
struct file *pavo_direct_export(struct pavo_direct *window, u32 range);

/** pavo_direct_show - print the windows of an adapter and their armed ranges. Sleeps. */
void pavo_direct_show(struct seq_file *file, struct pavo_dev *dev);

/* For the requester: RCU read side, any context. The range of @va belongs to @region's window. */

/**
 * struct pavo_direct_user - a work request that refers to a range.
 * @key_state: key state of its queue pair
 * @wqe:     its number
 * @claimed: it has claimed the range before. If the range has another owner now, or none, it was
 *           disarmed meanwhile, and does not belong to the work request any more
 */
struct pavo_direct_user {
	struct pavo_key_state *key_state;
	u32 wqe;
	bool claimed;
};

/**
 * pavo_direct_claim - claim a range for a work request, which begins.
 * @user:   the work request
 * @region: with PAVO_ACCESS_DIRECT
 * @va:     first byte, inside @region
 * @len:    bytes, not 0
 * @read:   it is a read
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: the bus side has not written all bytes; the work of the queue
 * pair runs when it has. PAVO_ST_STATE: the range is not armed for it, or another work request has
 * claimed it, or it was disarmed; PAVO_ST_RANGE: it is armed for other bytes.
 */
enum pavo_status pavo_direct_claim(const struct pavo_direct_user *user,
				   const struct pavo_region *region, u64 va,
				   u32 len, bool read);

/**
 * pavo_direct_load_begin - begin to store the next bytes of a read.
 * @user:    the work request
 * @region:  the window
 * @va:      their address in the work request
 * @missing: of the side, which waits after PAVO_ST_WAIT
 * @to:      set: address to which the caller copies the bytes
 *
 * Return: PAVO_ST_OK: call pavo_direct_load_end() in this RCU section; PAVO_ST_WAIT: the bus side
 * has not drained the bytes before; PAVO_ST_STATE, PAVO_ST_RANGE: as pavo_direct_claim().
 */
enum pavo_status pavo_direct_load_begin(const struct pavo_direct_user *user,
					const struct pavo_region *region,
					u64 va, struct pavo_missing *missing,
					u64 *to);

/** pavo_direct_load_end - end pavo_direct_load_begin(): @len bytes were copied; 0: it failed. */
void pavo_direct_load_end(const struct pavo_region *region, u64 va, u32 len);

/**
 * pavo_direct_drained - check whether the bus side has drained all bytes of a read.
 * @user:    the work request
 * @region:  the window
 * @va:      inside @region
 * @missing: of the side, which waits after PAVO_ST_WAIT
 *
 * Return: PAVO_ST_OK, or as pavo_direct_load_begin().
 */
enum pavo_status pavo_direct_drained(const struct pavo_direct_user *user,
				     const struct pavo_region *region, u64 va,
				     struct pavo_missing *missing);

/**
 * pavo_direct_release - release the range of a work request that completes or is flushed. A range
 * that is not complete is disarmed.
 * @user:   the work request
 * @region: the window
 * @va:     inside @region
 */
void pavo_direct_release(const struct pavo_direct_user *user,
			 const struct pavo_region *region, u64 va);

#endif /* PAVO_DIRECT_H */
