/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* siphash.h - for files of the module in user space: nothing of it is used. */
#ifndef PAVO_ENGINE_LINUX_SIPHASH_H
#define PAVO_ENGINE_LINUX_SIPHASH_H

#include <linux/kernel.h>

#endif /* PAVO_ENGINE_LINUX_SIPHASH_H */
