/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dst.h - the engine looks up no routes. */
#ifndef PAVO_ENGINE_NET_DST_H
#define PAVO_ENGINE_NET_DST_H

#include <linux/netdevice.h>

struct dst_entry {
	struct net_device *dev;
};

static inline void dst_release(struct dst_entry *dst)
{
}

#endif /* PAVO_ENGINE_NET_DST_H */
