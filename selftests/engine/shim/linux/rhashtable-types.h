/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rhashtable-types.h - for files of the module in user space; see linux/list.h. */
#ifndef PAVO_ENGINE_LINUX_RHASHTABLE_TYPES_H
#define PAVO_ENGINE_LINUX_RHASHTABLE_TYPES_H

#include <linux/list.h>

#endif /* PAVO_ENGINE_LINUX_RHASHTABLE_TYPES_H */
