/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* jiffies.h - ticks of the virtual clock; the 64-bit ones stand still. */
#ifndef PAVO_SHIM_JIFFIES_H
#define PAVO_SHIM_JIFFIES_H

#include <linux/types.h>

#define HZ 100
#define jiffies ((unsigned long)(ktime_get_ns() / (1000000000 / HZ)))

u64 ktime_get_ns(void);

static inline u64 get_jiffies_64(void)
{
	return 0;
}

#endif /* PAVO_SHIM_JIFFIES_H */
