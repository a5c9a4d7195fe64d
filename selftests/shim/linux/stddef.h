/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stddef.h - the kernel's <linux/stddef.h>, which has NULL and offsetof, for
 * the pure C files of the module when they are built in user space. The
 * system's has something else that the uapi headers need.
 */
#ifndef PAVO_SHIM_STDDEF_H
#define PAVO_SHIM_STDDEF_H

#include_next <linux/stddef.h>
#include <stddef.h>

#endif /* PAVO_SHIM_STDDEF_H */
