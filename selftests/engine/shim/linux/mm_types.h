/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mm_types.h - for files of the module in user space; see linux/mm.h. */
#ifndef PAVO_ENGINE_LINUX_MM_TYPES_H
#define PAVO_ENGINE_LINUX_MM_TYPES_H

#include <linux/mm.h>

#endif /* PAVO_ENGINE_LINUX_MM_TYPES_H */
