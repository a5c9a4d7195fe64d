// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * netif_methods.c - interfaces over windows by methods of the uverbs file. Called by rdma core.
 *
 * An interface is no object of the file: it outlives the process that made it, as an address or a
 * route does. rdma core waits for these methods before an adapter ends.
 */
#include <linux/rtnetlink.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "adapter.h"
#include "netif/netif_private.h"

#define UVERBS_MODULE_NAME pavo
#include <rdma/uverbs_named_ioctl.h>

/* The adapter of a call. Return: -EPERM: the caller may not change interfaces of its namespace. */
static struct pavo_dev *get_adapter(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct pavo_dev *adapter;

	if (IS_ERR(uctx))
		return ERR_CAST(uctx);
	adapter = to_pavo_dev(uctx->device);
	return pavo_port_admin(&adapter->port) ? adapter : ERR_PTR(-EPERM);
}

/* The interface that a call names exactly. RTNL is held. Return: NULL: none. */
static struct pavo_netif *find_named_netif(struct pavo_dev *adapter,
					   u32 ifindex)
{
	struct pavo_netif *netif = pavo_netif_find(adapter, ifindex);

	return netif && netif->dev->ifindex == ifindex ? netif : NULL;
}

/* Describe the first interface from @from on. Return: 0; -ENOENT: there is none. */
static int query_netif(struct pavo_dev *adapter, u32 from,
		       struct pavo_interface_info *info)
{
	struct pavo_netif *netif;

	rtnl_lock();
	netif = pavo_netif_find(adapter, from);
	if (netif)
		pavo_netif_describe(netif, info);
	rtnl_unlock();
	return netif ? 0 : -ENOENT;
}

/* The nodes of a call. Return: their number; a negative errno. */
static int get_nodes(struct uverbs_attr_bundle *attrs,
		     const struct pavo_interface_node **nodes)
{
	int length;

	*nodes = NULL;
	if (!uverbs_attr_is_valid(attrs, PAVO_ATTR_INTERFACE_NODES))
		return 0;
	length = uverbs_attr_get_len(attrs, PAVO_ATTR_INTERFACE_NODES);
	if (length < 0 || length % sizeof(**nodes))
		return -EINVAL;
	*nodes = uverbs_attr_get_alloced_ptr(attrs, PAVO_ATTR_INTERFACE_NODES);
	if (IS_ERR(*nodes))
		return PTR_ERR(*nodes);
	return length / sizeof(**nodes);
}

static int
UVERBS_HANDLER(PAVO_METHOD_INTERFACE_ADD)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_dev *adapter = get_adapter(attrs);
	const struct pavo_interface_node *nodes;
	struct pavo_interface_args args;
	struct pavo_interface_info info;
	int err, n;

	if (IS_ERR(adapter))
		return PTR_ERR(adapter);
	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_INTERFACE_ARGS);
	if (err)
		return err;
	n = get_nodes(attrs, &nodes);
	if (n < 0)
		return n;
	err = pavo_netif_add(adapter, &args, nodes, n, &info);
	if (err)
		return err;
	return uverbs_copy_to(attrs, PAVO_ATTR_INTERFACE_INFO, &info,
			      sizeof(info));
}

static int
UVERBS_HANDLER(PAVO_METHOD_INTERFACE_DELETE)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_dev *adapter = get_adapter(attrs);
	struct pavo_netif *netif;
	u32 ifindex;
	int err;

	if (IS_ERR(adapter))
		return PTR_ERR(adapter);
	err = uverbs_copy_from(&ifindex, attrs, PAVO_ATTR_INTERFACE_INDEX);
	if (err)
		return err;
	rtnl_lock();
	netif = find_named_netif(adapter, ifindex);
	if (netif)
		pavo_netif_delete(netif->dev, NULL);
	rtnl_unlock();
	return netif ? 0 : -ENOENT;
}

static int
UVERBS_HANDLER(PAVO_METHOD_INTERFACE_NODE)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_dev *adapter = get_adapter(attrs);
	struct pavo_interface_node node;
	struct pavo_netif *netif;
	u32 ifindex;
	int err;

	if (IS_ERR(adapter))
		return PTR_ERR(adapter);
	err = uverbs_copy_from(&ifindex, attrs, PAVO_ATTR_INTERFACE_INDEX);
	if (!err)
		err = uverbs_copy_from(&node, attrs, PAVO_ATTR_INTERFACE_NODE);
	if (err)
		return err;
	rtnl_lock();
	netif = find_named_netif(adapter, ifindex);
	err = netif ? pavo_netif_set_node(netif, &node) : -ENOENT;
	rtnl_unlock();
	return err;
}

static int
UVERBS_HANDLER(PAVO_METHOD_INTERFACE_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_dev *adapter = get_adapter(attrs);
	struct pavo_interface_info info;
	u32 from;
	int err;

	if (IS_ERR(adapter))
		return PTR_ERR(adapter);
	err = uverbs_copy_from(&from, attrs, PAVO_ATTR_INTERFACE_INDEX);
	if (!err)
		err = query_netif(adapter, from, &info);
	if (err)
		return err;
	return uverbs_copy_to_struct_or_zero(attrs, PAVO_ATTR_INTERFACE_INFO,
					     &info, sizeof(info));
}

#define INDEX                                                                \
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_INTERFACE_INDEX, UVERBS_ATTR_TYPE(u32), \
			   UA_MANDATORY)
#define INFO                                                               \
	UVERBS_ATTR_PTR_OUT(PAVO_ATTR_INTERFACE_INFO,                      \
			    UVERBS_ATTR_STRUCT(struct pavo_interface_info, \
					       name),                      \
			    UA_MANDATORY)

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_INTERFACE_ADD,
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_INTERFACE_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_interface_args),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(
		PAVO_ATTR_INTERFACE_NODES,
		UVERBS_ATTR_SIZE(sizeof(struct pavo_interface_node),
				 PAVO_INTERFACE_NODES *
					 sizeof(struct pavo_interface_node)),
		UA_OPTIONAL, UA_ALLOC_AND_COPY),
	INFO);

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_INTERFACE_DELETE, INDEX);

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_INTERFACE_NODE, INDEX,
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_INTERFACE_NODE,
			   UVERBS_ATTR_TYPE(struct pavo_interface_node),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_INTERFACE_QUERY, INDEX, INFO);

DECLARE_UVERBS_GLOBAL_METHODS(PAVO_OBJECT_INTERFACE,
			      &UVERBS_METHOD(PAVO_METHOD_INTERFACE_ADD),
			      &UVERBS_METHOD(PAVO_METHOD_INTERFACE_DELETE),
			      &UVERBS_METHOD(PAVO_METHOD_INTERFACE_NODE),
			      &UVERBS_METHOD(PAVO_METHOD_INTERFACE_QUERY));

const struct uapi_definition pavo_netif_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_INTERFACE),
	{},
};
