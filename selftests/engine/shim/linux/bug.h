/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* bug.h - for files of the module in user space; see linux/kernel.h. */
#ifndef PAVO_ENGINE_LINUX_BUG_H
#define PAVO_ENGINE_LINUX_BUG_H

#include <linux/kernel.h>

#endif /* PAVO_ENGINE_LINUX_BUG_H */
