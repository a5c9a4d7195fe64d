/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * VMAP_UNLOCKED: a caller without the dma-buf's lock maps it by a function of its own
 * VMAP_ANY: dma_buf_vmap() does not need the dma-buf's lock
 */
#include <linux/dma-buf.h>

int probe(struct dma_buf *buf, struct iosys_map *map)
{
#ifdef PAVO_HAS_VMAP_UNLOCKED
	return dma_buf_vmap_unlocked(buf, map);
#else
	return dma_buf_vmap(buf, map);
#endif
}
