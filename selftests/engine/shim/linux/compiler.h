/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* compiler.h - what unit/shim has of it, and stores. */
#ifndef PAVO_ENGINE_LINUX_COMPILER_H
#define PAVO_ENGINE_LINUX_COMPILER_H

#include_next <linux/compiler.h>

#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))

#endif /* PAVO_ENGINE_LINUX_COMPILER_H */
