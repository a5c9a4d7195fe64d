/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* if_vlan.h - there are no VLANs. */
#ifndef PAVO_SHIM_IF_VLAN_H
#define PAVO_SHIM_IF_VLAN_H

#include <linux/skbuff.h>

#define is_vlan_dev(ndev) ((void)(ndev), false)
#define vlan_dev_vlan_proto(ndev) ((void)(ndev), 0)
#define vlan_dev_vlan_id(ndev) ((void)(ndev), 0)
#define __vlan_hwaccel_put_tag(skb, proto, id) \
	((void)(skb), (void)(proto), (void)(id))
#define skb_vlan_tag_present(skb) ((void)(skb), false)
#define skb_vlan_tag_get_id(skb) ((void)(skb), 0)

#endif /* PAVO_SHIM_IF_VLAN_H */
