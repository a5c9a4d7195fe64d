/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ioport.h - ranges of physical memory, of which the engine has persistent ones. */
#ifndef PAVO_SHIM_IOPORT_H
#define PAVO_SHIM_IOPORT_H

#include <linux/types.h>

#define IORESOURCE_MEM 0x200

enum {
	IORES_DESC_PERSISTENT_MEMORY = 4,
	IORES_DESC_PERSISTENT_MEMORY_LEGACY,
};

enum {
	REGION_INTERSECTS,
	REGION_DISJOINT,
	REGION_MIXED,
};

int region_intersects(phys_addr_t start, size_t size, unsigned long flags,
		      unsigned long desc);

#endif /* PAVO_SHIM_IOPORT_H */
