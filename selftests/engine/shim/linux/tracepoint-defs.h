/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* tracepoint-defs.h - for files of the module in user space; see linux/tracepoint.h. */
#ifndef PAVO_ENGINE_LINUX_TRACEPOINT_DEFS_H
#define PAVO_ENGINE_LINUX_TRACEPOINT_DEFS_H

#include <linux/tracepoint.h>

#endif /* PAVO_ENGINE_LINUX_TRACEPOINT_DEFS_H */
