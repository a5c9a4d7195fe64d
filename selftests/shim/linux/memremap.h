/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* memremap.h - memory of devices, which a process of the engine has none of. */
#ifndef PAVO_SHIM_MEMREMAP_H
#define PAVO_SHIM_MEMREMAP_H

#define is_pci_p2pdma_page(page) ((void)(page), false)

#endif /* PAVO_SHIM_MEMREMAP_H */
