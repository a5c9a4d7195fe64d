/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FLUSH: access flags and capabilities for RDMA FLUSH have names
 */
#include <rdma/ib_verbs.h>

int probe = IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT;
u64 probe_capability = IB_DEVICE_FLUSH_GLOBAL;
