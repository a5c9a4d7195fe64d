/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pma.h - performance management, which shows the port's counters in sysfs. Used by: device.c.
 */
#ifndef PAVO_PMA_H
#define PAVO_PMA_H

#include <linux/types.h>

struct ib_device;
struct ib_grh;
struct ib_mad;
struct ib_wc;

/**
 * pavo_process_mad - answer a performance management MAD of this kernel.
 * @ibdev: the adapter
 * @flags: not used
 * @port: not used
 * @in_wc: not NULL: the MAD came by a queue pair, and is not answered
 * @in_grh: not used
 * @in: the MAD
 * @out: the answer
 * @out_size: not used
 * @out_pkey_index: not used
 *
 * Return: IB_MAD_RESULT_*.
 */
int pavo_process_mad(struct ib_device *ibdev, int flags, u32 port,
		     const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		     const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey_index);

#endif /* PAVO_PMA_H */
