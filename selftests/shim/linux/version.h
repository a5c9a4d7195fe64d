/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* version.h - the kernel that compat.h is to see: one whose interfaces the engine has. */
#ifndef PAVO_SHIM_VERSION_H
#define PAVO_SHIM_VERSION_H

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE KERNEL_VERSION(7, 2, 0)

#endif /* PAVO_SHIM_VERSION_H */
