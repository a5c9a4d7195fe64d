/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vmalloc.h - for files of the module in user space; see linux/slab.h. */
#ifndef PAVO_ENGINE_LINUX_VMALLOC_H
#define PAVO_ENGINE_LINUX_VMALLOC_H

#include <linux/slab.h>

#endif /* PAVO_ENGINE_LINUX_VMALLOC_H */
