/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* log2.h - for files of the module in user space; see linux/kernel.h. */
#ifndef PAVO_ENGINE_LINUX_LOG2_H
#define PAVO_ENGINE_LINUX_LOG2_H

#include <linux/kernel.h>

#endif /* PAVO_ENGINE_LINUX_LOG2_H */
