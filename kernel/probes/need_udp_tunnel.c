/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Needed for the sockets of its packets.
 * UDP_TUNNEL: UDP tunnels (CONFIG_NET_UDP_TUNNEL)
 */
#include <linux/kconfig.h>

#if !IS_ENABLED(CONFIG_NET_UDP_TUNNEL)
#error "CONFIG_NET_UDP_TUNNEL is off"
#endif
