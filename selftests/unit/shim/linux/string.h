/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * string.h - the kernel's <linux/string.h> for the pure C files of the module
 * when they are built in user space: the C library has the same functions.
 */
#ifndef PAVO_SHIM_STRING_H
#define PAVO_SHIM_STRING_H

#include <string.h>

#endif /* PAVO_SHIM_STRING_H */
