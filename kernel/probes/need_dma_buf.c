/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Needed for regions that are dma-bufs.
 * DMA_BUF: dma-bufs (CONFIG_DMA_SHARED_BUFFER)
 */
#include <linux/kconfig.h>

#if !IS_ENABLED(CONFIG_DMA_SHARED_BUFFER)
#error "CONFIG_DMA_SHARED_BUFFER is off"
#endif
