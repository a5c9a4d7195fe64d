/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * IPV6_STUB: the kernel calls IPv6, which may be a module, by ipv6_stub
 * IPV6_DIRECT: IPv6 is built in or absent
 */
#ifdef PAVO_HAS_IPV6_STUB
#include <net/ipv6_stubs.h>

struct dst_entry *probe(struct net *net, struct flowi6 *fl)
{
	return ipv6_stub->ipv6_dst_lookup_flow(net, NULL, fl, NULL);
}

struct net_device *probe_dev(struct net *net, const struct in6_addr *addr)
{
	return ipv6_stub->ipv6_dev_find(net, addr, NULL);
}
#elif IS_BUILTIN(CONFIG_IPV6)
#include <net/addrconf.h>
#include <net/ipv6.h>

struct dst_entry *probe(struct net *net, struct flowi6 *fl)
{
	return ip6_dst_lookup_flow(net, NULL, fl, NULL);
}

struct net_device *probe_dev(struct net *net, const struct in6_addr *addr)
{
	return ipv6_dev_find(net, addr, NULL);
}
#elif IS_MODULE(CONFIG_IPV6)
#error "IPv6 is a module, and there is no ipv6_stub"
#endif
