/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dst.h - the one route of the engine, with the number of its references. */
#ifndef PAVO_ENGINE_NET_DST_H
#define PAVO_ENGINE_NET_DST_H

struct dst_entry {
	int references;
};

static inline void dst_release(struct dst_entry *dst)
{
	if (dst)
		dst->references--;
}

#endif /* PAVO_ENGINE_NET_DST_H */
