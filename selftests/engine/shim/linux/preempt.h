/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* preempt.h - for files of the module in user space; see linux/spinlock.h. */
#ifndef PAVO_ENGINE_LINUX_PREEMPT_H
#define PAVO_ENGINE_LINUX_PREEMPT_H

#include <linux/spinlock.h>

#endif /* PAVO_ENGINE_LINUX_PREEMPT_H */
