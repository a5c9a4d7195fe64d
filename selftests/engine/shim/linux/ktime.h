/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ktime.h - for files of the module in user space; see linux/hrtimer.h. */
#ifndef PAVO_ENGINE_LINUX_KTIME_H
#define PAVO_ENGINE_LINUX_KTIME_H

#include <linux/hrtimer.h>

#endif /* PAVO_ENGINE_LINUX_KTIME_H */
