/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* io.h - physical addresses, which are those of the process. */
#ifndef PAVO_SHIM_IO_H
#define PAVO_SHIM_IO_H

#include <linux/types.h>

#define page_to_phys(page) ((phys_addr_t)(uintptr_t)(page))

#endif /* PAVO_SHIM_IO_H */
