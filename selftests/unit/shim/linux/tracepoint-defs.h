/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* tracepoint-defs.h - stands for the kernel's header. */
#ifndef SHIM_LINUX_TRACEPOINT_DEFS_H
#define SHIM_LINUX_TRACEPOINT_DEFS_H

#define DECLARE_TRACEPOINT(name) struct tracepoint_##name

#endif
