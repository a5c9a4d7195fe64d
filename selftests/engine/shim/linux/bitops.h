/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* bitops.h - for files of the module in user space; see linux/atomic.h. */
#ifndef PAVO_ENGINE_LINUX_BITOPS_H
#define PAVO_ENGINE_LINUX_BITOPS_H

#include <linux/atomic.h>

#endif /* PAVO_ENGINE_LINUX_BITOPS_H */
