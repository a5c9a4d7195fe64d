/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* libnvdimm.h - the way from the caches of a CPU to persistent memory. */
#ifndef PAVO_SHIM_LIBNVDIMM_H
#define PAVO_SHIM_LIBNVDIMM_H

#include <linux/types.h>

void arch_wb_cache_pmem(void *addr, size_t size);
void pmem_wmb(void);

#endif /* PAVO_SHIM_LIBNVDIMM_H */
