/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mutex.h - for files of the module in user space; see linux/spinlock.h. */
#ifndef PAVO_ENGINE_LINUX_MUTEX_H
#define PAVO_ENGINE_LINUX_MUTEX_H

#include <linux/spinlock.h>

#define mutex_destroy(mutex) ((void)(mutex))

#endif /* PAVO_ENGINE_LINUX_MUTEX_H */
