/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* memremap.h - memory of devices: a process of the engine has persistent memory alone. */
#ifndef PAVO_SHIM_MEMREMAP_H
#define PAVO_SHIM_MEMREMAP_H

#include <linux/types.h>

struct page;

bool is_zone_device_page(const struct page *page);

#define is_pci_p2pdma_page(page) ((void)(page), false)

#endif /* PAVO_SHIM_MEMREMAP_H */
