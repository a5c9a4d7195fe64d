/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ODP_FLUSH: capabilities for flushes and atomic writes of on-demand regions have names
 */
#include <rdma/ib_verbs.h>

u32 probe = IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE;
