/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ATOMIC_WRITE: consumers in the kernel have names for atomic write
 */
#include <rdma/ib_verbs.h>

u64 probe[] = { IB_DEVICE_ATOMIC_WRITE, IB_WR_ATOMIC_WRITE,
		IB_WC_ATOMIC_WRITE };
