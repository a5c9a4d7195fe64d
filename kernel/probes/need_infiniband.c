/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Needed for all verbs.
 * INFINIBAND: the RDMA subsystem (CONFIG_INFINIBAND)
 */
#include <linux/kconfig.h>

#if !IS_ENABLED(CONFIG_INFINIBAND)
#error "CONFIG_INFINIBAND is off"
#endif
