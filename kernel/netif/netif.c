// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * netif.c - the life of interfaces over windows.
 *
 * Called by netif_methods.c, by the network stack, and by parts.c when an adapter ends. The kind of
 * link "pavo_window" lets `ip link delete` and the end of a namespace delete an interface, but not
 * `ip link add` make one: that has no place for the job, the key and the nodes.
 */
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/rtnetlink.h>
#include "adapter.h"
#include "jobs/job.h"
#include "netif/netif_private.h"
#include "window/window.h"
#include "wire/wire.h"

/* IP packets up to that length, whose Ethernet packets fit a buffer. */
#define MTU 65520

static LIST_HEAD(interfaces); /* under RTNL */

/* ---------------------------------------------------------------- ethtool */

static const char counter_names[][ETH_GSTRING_LEN] = {
#define COUNTER_NAME(name) #name,
	PAVO_NETIF_COUNTERS(COUNTER_NAME)
#undef COUNTER_NAME
};

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	const struct pavo_netif *netif = netdev_priv(dev);

	strscpy(info->driver, KBUILD_MODNAME, sizeof(info->driver));
	strscpy(info->bus_info, netif->adapter->ib.name,
		sizeof(info->bus_info));
}

static int count_strings(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? PAVO_NETIF_COUNTS : -EOPNOTSUPP;
}

static void get_strings(struct net_device *dev, u32 set, u8 *to)
{
	if (set == ETH_SS_STATS)
		memcpy(to, counter_names, sizeof(counter_names));
}

static void get_counters(struct net_device *dev, struct ethtool_stats *stats,
			 u64 *to)
{
	struct pavo_netif *netif = netdev_priv(dev);
	u32 i;

	for (i = 0; i < PAVO_NETIF_COUNTS; i++)
		to[i] = atomic64_read(&netif->counts[i]);
}

static const struct ethtool_ops netif_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_sset_count = count_strings,
	.get_strings = get_strings,
	.get_ethtool_stats = get_counters,
};

/* ----------------------------------------------------------------- window */

static void wake_interface(void *owner)
{
	struct pavo_netif *netif = owner;

	napi_schedule(&netif->napi);
}

/* The window is dead, or was closed with the interface. */
static void lose_window(void *owner)
{
	struct pavo_netif *netif = owner;

	netif_carrier_off(netif->dev);
}

static const struct pavo_window_calls window_calls = {
	.receive = pavo_netif_receive,
	.sent = wake_interface,
	.ended = lose_window,
};

static int open_window(struct pavo_netif *netif)
{
	const struct pavo_kernel_window_args args = {
		.calls = &window_calls,
		.owner = netif,
		.send_frames = PAVO_NETIF_FRAMES,
		.nodes = netif->nodes,
		.node = netif->node,
		.sgid_index = netif->sgid_index,
		.window = netif->wanted,
	};
	struct pavo_fifo_window *window =
		pavo_kernel_window_open(netif->adapter, netif->job, &args);

	if (IS_ERR(window))
		return PTR_ERR(window);
	netif->window = window;
	return 0;
}

/* The port of the adapter has a link, or lost it. */
static void follow_port(struct ib_event_handler *handler,
			struct ib_event *event)
{
	struct pavo_netif *netif =
		container_of(handler, struct pavo_netif, events);

	if (event->event == IB_EVENT_PORT_ACTIVE)
		netif_carrier_on(netif->dev);
	else if (event->event == IB_EVENT_PORT_ERR)
		netif_carrier_off(netif->dev);
}

/* ------------------------------------------------------------- net_device */

static int init_netif(struct net_device *dev)
{
	struct pavo_netif *netif = netdev_priv(dev);
	u8 address[ETH_ALEN];
	int err;

	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!dev->tstats)
		return -ENOMEM;
	/* The interface below sends while the queue of this one is locked. */
	netdev_lockdep_set_classes(dev);
	err = open_window(netif);
	if (err) {
		free_percpu(dev->tstats);
		dev->tstats = NULL;
		return err;
	}
	pavo_ether_name(address, netif->node,
			pavo_kernel_window_id(netif->window));
	eth_hw_addr_set(dev, address);
	INIT_IB_EVENT_HANDLER(&netif->events, &netif->adapter->ib, follow_port);
	ib_register_event_handler(&netif->events);
	if (!netif->adapter->port_up)
		netif_carrier_off(dev);
	list_add_tail(&netif->list, &interfaces);
	return 0;
}

/* The interface is down. A grace period follows before it is freed. */
static void uninit_netif(struct net_device *dev)
{
	struct pavo_netif *netif = netdev_priv(dev);

	list_del(&netif->list);
	ib_unregister_event_handler(&netif->events);
	pavo_window_close(netif->window);
}

static int open_netif(struct net_device *dev)
{
	struct pavo_netif *netif = netdev_priv(dev);

	napi_enable(&netif->napi);
	pavo_bulk_start(netif);
	netif_start_queue(dev);
	return 0;
}

static int stop_netif(struct net_device *dev)
{
	struct pavo_netif *netif = netdev_priv(dev);

	netif_stop_queue(dev);
	napi_disable(&netif->napi);
	pavo_bulk_stop(netif);
	local_bh_disable();
	pavo_netif_drop(netif);
	local_bh_enable();
	return 0;
}

/* The addresses that the interface receives. Their lock is held. */
static void set_received_groups(struct net_device *dev)
{
	struct pavo_netif *netif = netdev_priv(dev);
	struct netdev_hw_addr *group;
	u64 groups = 0;

	netdev_for_each_mc_addr(group, dev)
		groups |= BIT_ULL(pavo_netif_hash(group->addr));
	WRITE_ONCE(netif->groups, groups);
}

static const struct net_device_ops netif_ops = {
	.ndo_init = init_netif,
	.ndo_uninit = uninit_netif,
	.ndo_open = open_netif,
	.ndo_stop = stop_netif,
	.ndo_start_xmit = pavo_netif_xmit,
	.ndo_set_rx_mode = set_received_groups,
	.ndo_get_stats64 = dev_get_tstats64,
	.ndo_validate_addr = eth_validate_addr,
};

/* Also the end of an interface that was not registered. Sleeps. */
static void free_netif(struct net_device *dev)
{
	struct pavo_netif *netif = netdev_priv(dev);

	pavo_bulk_free(netif);
	if (netif->job)
		pavo_job_leave(netif->job);
	kvfree(netif->peers);
	free_percpu(dev->tstats);
}

void pavo_netif_delete(struct net_device *dev, struct list_head *head)
{
	unregister_netdevice_queue(dev, head);
}

/* Without a function to set up a device, `ip link add` of this kind is refused. */
static struct rtnl_link_ops link_ops = {
	.kind = "pavo_window",
	.dellink = pavo_netif_delete,
};

static void setup_netif(struct net_device *dev)
{
	struct pavo_netif *netif = netdev_priv(dev);

	ether_setup(dev);
	netif->dev = dev;
	spin_lock_init(&netif->tx_lock);
	dev->netdev_ops = &netif_ops;
	dev->ethtool_ops = &netif_ethtool_ops;
	dev->max_mtu = MTU;
	dev->mtu = MTU;
	dev->features = NETIF_F_SG | NETIF_F_FRAGLIST;
	dev->hw_features = NETIF_F_SG;
	/* It stays beside the adapter's interface, whose end is its own. */
	pavo_keep_in_namespace(dev);
	/* Its address names this node, so packets of others cannot pass. */
	dev->priv_flags |= IFF_DONT_BRIDGE | IFF_DISABLE_NETPOLL;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	netif_napi_add(dev, &netif->napi, pavo_netif_poll);
	dev->rtnl_link_ops = &link_ops;
}

/* --------------------------------------------------------------- creation */

/* Make the calling process's user a member of the job, which may be a new one. */
static int join_job(struct pavo_netif *netif, u32 id, u64 key)
{
	struct pavo_job *job = pavo_job_join(id, key);

	if (job == ERR_PTR(-ENOENT))
		job = pavo_job_reserve(id, key, 0);
	if (IS_ERR(job))
		return PTR_ERR(job);
	netif->job = job;
	netif->jobid = id;
	return 0;
}

int pavo_netif_set_node(struct pavo_netif *netif,
			const struct pavo_interface_node *node)
{
	struct pavo_window_node_args args = { .node = node->node };
	int err = 0;

	if (node->reserved || node->node >= netif->nodes ||
	    node->node == netif->node || node->window & ~PAVO_QPN_MASK)
		return -EINVAL;
	memcpy(args.gid, node->gid, sizeof(args.gid));
	if (node->window)
		err = pavo_window_node(netif->window, &args);
	if (!err)
		WRITE_ONCE(netif->peers[node->node], node->window);
	return err;
}

static int set_nodes(struct pavo_netif *netif,
		     const struct pavo_interface_node *nodes, u32 n)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < n; i++)
		err = pavo_netif_set_node(netif, &nodes[i]);
	return err;
}

static int prepare_netif(struct pavo_netif *netif, struct pavo_dev *adapter,
			 const struct pavo_interface_args *args)
{
	int err;

	netif->adapter = adapter;
	netif->node = args->node;
	netif->sgid_index = args->sgid_index;
	netif->nodes = args->nodes;
	netif->wanted = args->window;
	netif->peers = kvcalloc(args->nodes, sizeof(*netif->peers),
				GFP_KERNEL_ACCOUNT);
	if (!netif->peers)
		return -ENOMEM;
	err = join_job(netif, args->job, args->key);
	return err ?: pavo_bulk_init(netif);
}

void pavo_netif_describe(const struct pavo_netif *netif,
			 struct pavo_interface_info *info)
{
	u32 node;

	*info = (struct pavo_interface_info){
		.ifindex = netif->dev->ifindex,
		.job = netif->jobid,
		.window = pavo_kernel_window_id(netif->window),
		.nodes = netif->nodes,
		.frame = pavo_kernel_window_payload(netif->window),
		.node = netif->node,
	};
	for (node = 0; node < netif->nodes; node++)
		info->known += !!pavo_netif_peer(netif, node);
	strscpy(info->name, netif->dev->name, sizeof(info->name));
}

/*
 * Register @dev in the namespace of the adapter's interface. RTNL is held. After an error @dev is
 * still the caller's.
 */
static int register_netif(struct net_device *dev)
{
	struct pavo_netif *netif = netdev_priv(dev);
	struct net_device *below;
	int err;

	below = rcu_dereference_protected(netif->adapter->port.ndev,
					  lockdep_rtnl_is_held());
	if (!below || below->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	dev_net_set(dev, dev_net(below));
	err = register_netdevice(dev);
	if (err)
		return err;
	dev->needs_free_netdev = true;
	dev->priv_destructor = free_netif;
	return 0;
}

/* Register the interface with its nodes. Return: as register_netif(); @gone: @dev is freed. */
static int publish_netif(struct net_device *dev,
			 const struct pavo_interface_node *nodes, u32 n,
			 struct pavo_interface_info *info, bool *gone)
{
	struct pavo_netif *netif = netdev_priv(dev);
	int err;

	rtnl_lock();
	err = register_netif(dev);
	if (!err) {
		err = set_nodes(netif, nodes, n);
		if (err)
			unregister_netdevice(dev);
		else
			pavo_netif_describe(netif, info);
		*gone = err;
	}
	rtnl_unlock();
	return err;
}

int pavo_netif_add(struct pavo_dev *adapter,
		   const struct pavo_interface_args *args,
		   const struct pavo_interface_node *nodes, u32 n,
		   struct pavo_interface_info *info)
{
	bool named = args->name[0], gone = false;
	struct net_device *dev;
	int err;

	if (!args->nodes || args->nodes > PAVO_INTERFACE_NODES ||
	    args->node >= args->nodes ||
	    strnlen(args->name, IFNAMSIZ) == IFNAMSIZ)
		return -EINVAL;
	dev = alloc_netdev(sizeof(struct pavo_netif),
			   named ? args->name : "pavo%d",
			   named ? NET_NAME_USER : NET_NAME_ENUM, setup_netif);
	if (!dev)
		return -ENOMEM;
	err = prepare_netif(netdev_priv(dev), adapter, args);
	if (!err)
		err = publish_netif(dev, nodes, n, info, &gone);
	if (err && !gone) {
		/* A window that was open for a moment may have received. */
		synchronize_net();
		free_netif(dev);
		free_netdev(dev);
	}
	return err;
}

struct pavo_netif *pavo_netif_find(struct pavo_dev *adapter, u32 from)
{
	struct pavo_netif *netif, *first = NULL;

	ASSERT_RTNL();
	list_for_each_entry(netif, &interfaces, list)
		if (netif->adapter == adapter && netif->dev->ifindex >= from &&
		    (!first || netif->dev->ifindex < first->dev->ifindex))
			first = netif;
	return first;
}

/* ------------------------------------------------------------------- part */

/* The adapter ends: so do its interfaces. */
static void stop_interfaces(struct pavo_dev *adapter)
{
	struct pavo_netif *netif;
	LIST_HEAD(ended);

	rtnl_lock();
	list_for_each_entry(netif, &interfaces, list)
		if (netif->adapter == adapter)
			unregister_netdevice_queue(netif->dev, &ended);
	unregister_netdevice_many(&ended);
	rtnl_unlock();
}

static bool is_netif(const struct net_device *dev)
{
	return dev->netdev_ops == &netif_ops;
}

static int find_netif_below(struct net_device *dev,
			    struct netdev_nested_priv *priv)
{
	return is_netif(dev);
}

/* An adapter on such an interface, or on one above it, could carry itself. */
static const char *refuse_netif(struct net_device *dev)
{
	struct netdev_nested_priv priv = {};
	bool found;

	rcu_read_lock();
	found = is_netif(dev) ||
		netdev_walk_all_lower_dev_rcu(dev, find_netif_below, &priv);
	rcu_read_unlock();
	return found ? "an interface over a window cannot carry an adapter" :
		       NULL;
}

static int find_port_above(struct net_device *dev,
			   struct netdev_nested_priv *priv)
{
	return !!pavo_port_find(dev);
}

/* Would an adapter on @above, or on what is above that, carry an interface over a window? */
static bool would_carry_netif(struct net_device *above, struct net_device *dev)
{
	struct netdev_nested_priv priv = {};
	bool would;

	rcu_read_lock();
	would = refuse_netif(dev) &&
		(pavo_port_find(above) ||
		 netdev_walk_all_upper_dev_rcu(above, find_port_above, &priv));
	rcu_read_unlock();
	return would;
}

/* An interface is to become part of another one, such as a bond or a bridge. RTNL is held. */
static int check_upper(struct notifier_block *nb, unsigned long event,
		       void *ptr)
{
	const struct netdev_notifier_changeupper_info *info = ptr;

	if (event != NETDEV_PRECHANGEUPPER || !info->linking ||
	    !would_carry_netif(info->upper_dev,
			       netdev_notifier_info_to_dev(ptr)))
		return NOTIFY_DONE;
	NL_SET_ERR_MSG_MOD(netdev_notifier_info_to_extack(&info->info),
			   "an adapter would carry an interface over a window");
	return notifier_from_errno(-ELOOP);
}

static struct notifier_block netdev_notifier = {
	.notifier_call = check_upper,
};

static int init_interfaces(void)
{
	int err = register_netdevice_notifier(&netdev_notifier);

	if (err)
		return err;
	err = rtnl_link_register(&link_ops);
	if (err)
		unregister_netdevice_notifier(&netdev_notifier);
	return err;
}

static void exit_interfaces(void)
{
	rtnl_link_unregister(&link_ops);
	unregister_netdevice_notifier(&netdev_notifier);
}

const struct pavo_part pavo_netif_part = {
	.init = init_interfaces,
	.exit = exit_interfaces,
	.stop = stop_interfaces,
	.refuse = refuse_netif,
};
