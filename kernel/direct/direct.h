/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct.h - interface of direct/: direct windows (sources.md#direct).
 *
 * Owns windows, their ranges and buffers, and the three interfaces of the bus side, which is a
 * device or a process: file, mapping and dma-buf. The requester is the link side.
 *
 * A key refers to a window as a region that work requests claim (memory/claim.h). Its list of pages
 * has the pages of each range's buffer, or a page that no process can access. Pages are freed a
 * grace period after the key, when the last file and mapping is gone.
 */
#ifndef PAVO_DIRECT_H
#define PAVO_DIRECT_H

#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "part.h"

struct file;
struct pavo_dev;
struct pavo_direct;

/* For the methods: process context, may sleep. Errors as in pavo-abi-direct.h. */

/**
 * pavo_direct_open - create a window.
 * @ibpd: its protection domain, which stays until the window is closed; of a process, or of a
 *        kernel consumer
 * @args: arguments of the process or consumer
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

/**
 * pavo_direct_start_ios - arm ranges, and start an I/O for each.
 * @window: the window
 * @args:   one for each
 * @files:  their files; NULL: those of the descriptors in @args
 * @n:      1 to PAVO_DIRECT_IOS
 *
 * Return: 0, or an errno and no range is armed. An I/O that fails does so in its work request.
 */
int pavo_direct_start_ios(struct pavo_direct *window,
			  const struct pavo_direct_io_args *args,
			  struct file *const *files, u32 n);

/** pavo_direct_count_bytes - count bytes that were written or read by mmap or dma-buf. */
int pavo_direct_count_bytes(struct pavo_direct *window,
			    const struct pavo_direct_count_args *args);

/** pavo_direct_disarm - disarm a range, and discard its data. */
int pavo_direct_disarm(struct pavo_direct *window, u32 range);

/** pavo_direct_export - export an armed range as a dma-buf. Return: file or error pointer. */
struct file *pavo_direct_export(struct pavo_direct *window, u32 range);

/** Windows as a part of the module (part.h), and their methods. */
extern const struct pavo_part pavo_direct_part;
extern const struct uapi_definition pavo_direct_defs[];

#endif /* PAVO_DIRECT_H */
