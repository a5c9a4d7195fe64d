/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kobject.h - for files of the module in user space; see linux/device.h. */
#ifndef PAVO_ENGINE_LINUX_KOBJECT_H
#define PAVO_ENGINE_LINUX_KOBJECT_H

#include <linux/device.h>

#endif /* PAVO_ENGINE_LINUX_KOBJECT_H */
