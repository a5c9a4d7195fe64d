// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * main.c - load and unload of the module, `rdma link add`, and events of the network interfaces.
 *
 * Owns the life of struct pavo_dev. Called by the kernel (init, exit), by rdma core (newlink,
 * dealloc_driver) and by the network stack (notifier).
 *
 * Locks: adapters_lock protects both lists, changes of the table of ports (net/port.c), and the
 * references that detach_adapter() drops. RTNL is taken before it.
 */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <rdma/rdma_netlink.h>
#include "debugfs.h"
#include "demux.h"
#include "deferred_free.h"
#include "memory/memory.h"
#include "net/net.h"
#include "id_alloc.h"
#include "parts.h"
#include "qp/qp.h"
#include "refusal.h"
#include "verbs/verbs.h"

MODULE_DESCRIPTION("Software RDMA adapter (RoCEv2)");
MODULE_AUTHOR("pavo developers");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(PAVO_VERSION);
MODULE_ALIAS_RDMA_LINK("pavo");

static DEFINE_MUTEX(adapters_lock);
static LIST_HEAD(live_adapters); /* from alloc_adapter() to dealloc_adapter() */
static LIST_HEAD(dead_adapters); /* from dealloc_adapter() to reap_adapters() */

void pavo_show_adapters(struct seq_file *file,
			void (*show)(struct seq_file *, struct pavo_dev *))
{
	struct pavo_dev *dev;

	mutex_lock(&adapters_lock);
	list_for_each_entry(dev, &live_adapters, list)
		show(file, dev);
	mutex_unlock(&adapters_lock);
}

/*
 * Drop the references to the interface and to the sockets of its namespace, once. If the interface
 * is unregistered, this must not wait for the removal of the adapter: interface and namespace may
 * have been freed by then.
 */
static void detach_adapter(struct pavo_dev *dev)
{
	struct net_device *ndev;
	bool attached;

	mutex_lock(&adapters_lock);
	attached = dev->attached;
	dev->attached = false;
	ndev = rcu_dereference_protected(dev->port.ndev,
					 lockdep_is_held(&adapters_lock));
	RCU_INIT_POINTER(dev->port.ndev, NULL);
	pavo_parent_unlink(&dev->parent);
	mutex_unlock(&adapters_lock);
	if (!attached)
		return;
	netdev_put(ndev, &dev->port.ndev_tracker);
	pavo_net_put(dev->port.net);
}

/*
 * Free dead adapters. rdma core decides when an adapter ends, but does not report when
 * dealloc_adapter() has returned. It calls dealloc_adapter() with unregistration_lock held, so the
 * reaper takes that lock before it frees the adapter. After that no CPU executes dealloc_adapter(),
 * and the module can be unloaded.
 *
 * The device of a dead adapter in sysfs is the parent of the devices that rdma core has made for it
 * in other namespaces. A namespace that ends removes these itself, and needs the parent until then,
 * so wait for that first.
 */
static void reap_adapters(struct work_struct *work)
{
	struct pavo_dev *dev, *next;
	LIST_HEAD(dead);

	mutex_lock(&adapters_lock);
	list_splice_init(&dead_adapters, &dead);
	mutex_unlock(&adapters_lock);
	net_ns_barrier();
	list_for_each_entry_safe(dev, next, &dead, list) {
		pavo_parent_destroy(&dev->parent);
		mutex_lock(&dev->ib.unregistration_lock);
		mutex_unlock(&dev->ib.unregistration_lock);
		put_device(&dev->ib.dev);
	}
}

static DECLARE_WORK(reap_work, reap_adapters);

/* Destroy an adapter, registered or not: ops.dealloc_driver. */
static void dealloc_adapter(struct ib_device *ibdev)
{
	struct pavo_dev *dev = to_pavo_dev(ibdev);

	mutex_lock(&adapters_lock);
	pavo_port_forget(&dev->port);
	mutex_unlock(&adapters_lock);
	detach_adapter(dev);
	/* wait until no packet uses the tables */
	synchronize_rcu();

	pavo_parts_stop(dev);
	if (dev->wq)
		destroy_workqueue(dev->wq);
	if (dev->end_wq)
		destroy_workqueue(dev->end_wq);
	pavo_demux_forget(dev);
	pavo_ids_destroy(&dev->qps);
	pavo_ids_destroy(&dev->srqs);
	pavo_ids_destroy(&dev->counters);
	pavo_key_table_destroy(&dev->keys);
	pavo_objects_end(dev);
	mutex_lock(&adapters_lock);
	pavo_parts_remove(dev);
	mutex_unlock(&adapters_lock);
	free_percpu(dev->stats.pcpu);

	get_device(&ibdev->dev);
	mutex_lock(&adapters_lock);
	list_move_tail(&dev->list, &dead_adapters);
	mutex_unlock(&adapters_lock);
	schedule_work(&reap_work);
}

static const struct ib_device_ops pavo_main_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = PAVO_ABI_VERSION,
	.dealloc_driver = dealloc_adapter,
};

static struct pavo_dev *alloc_adapter(void)
{
	const unsigned int bound = WQ_MEM_RECLAIM | PAVO_WQ_PERCPU;
	const gfp_t numbers = XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH |
			      XA_FLAGS_ACCOUNT;
	struct pavo_dev *dev;
	int err;

	dev = ib_alloc_device(pavo_dev, ib);
	if (!dev)
		return NULL;
	xa_init_flags(&dev->qps, numbers);
	xa_init_flags(&dev->srqs, numbers);
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC1);
	err = pavo_key_table_init(&dev->keys);
	pavo_objects_init(dev);
	pavo_rkm_init(&dev->rkm);
	pavo_policy_init(dev);
	pavo_demux_prepare(dev);
	err = pavo_parts_add(dev) ?: err;
	dev->port.ib = &dev->ib;
	dev->port.stats = &dev->stats;
	INIT_HLIST_NODE(&dev->port.node);
	mutex_lock(&adapters_lock);
	list_add_tail(&dev->list, &live_adapters);
	mutex_unlock(&adapters_lock);
	ib_set_device_ops(&dev->ib, &pavo_main_ops);

	dev->stats.dev = dev;
	dev->stats.pcpu = alloc_percpu(struct pavo_pcpu_stats);
	/*
	 * Bound to CPUs: packets that another CPU sends would overtake those sent before. Of normal
	 * priority: work for one process must not starve others.
	 */
	dev->wq = alloc_workqueue("pavo", bound, 0);
	dev->end_wq =
		alloc_workqueue("pavo_end", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (err || !dev->stats.pcpu || !dev->wq || !dev->end_wq ||
	    pavo_parent_create(&dev->parent)) {
		ib_dealloc_device(&dev->ib);
		return NULL;
	}
	dev->ib.dev.parent = dev->parent.dev;
	return dev;
}

static bool link_is_up(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev);
}

/* Make @dev the adapter of @ndev, unless that is being unregistered. */
static int attach_adapter(struct pavo_dev *dev, struct net_device *ndev,
			  struct net *net, const char **why)
{
	const char *refusal;
	int err = 0;

	rtnl_lock();
	mutex_lock(&adapters_lock);
	refusal = pavo_parts_refuse(ndev);
	if (ndev->reg_state != NETREG_REGISTERED ||
	    !net_eq(dev_net(ndev), net)) {
		*why = "the interface is being unregistered";
		err = -ENODEV;
	} else if (pavo_port_find(ndev)) {
		*why = "the interface has an adapter already";
		err = -EBUSY;
	} else if (refusal) {
		*why = refusal;
		err = -ELOOP;
	} else {
		*why = "no link to the interface in sysfs";
		err = pavo_parent_link(&dev->parent, ndev);
	}
	if (!err) {
		netdev_hold(ndev, &dev->port.ndev_tracker, GFP_KERNEL);
		rcu_assign_pointer(dev->port.ndev, ndev);
		dev->port.net = net;
		dev->attached = true;
		dev->port_up = link_is_up(ndev);
		pavo_port_publish(&dev->port, ndev);
	}
	mutex_unlock(&adapters_lock);
	rtnl_unlock();
	return err;
}

/* Interfaces that can never carry an adapter. */
static int check_netdev(struct net_device *ndev, const char **why)
{
	if (ndev->flags & IFF_LOOPBACK) {
		*why = "the loopback interface cannot carry an adapter";
		return -EOPNOTSUPP;
	}
	if (ndev->type != ARPHRD_ETHER) {
		*why = "not an Ethernet interface";
		return -EMEDIUMTYPE;
	}
	if (is_vlan_dev(ndev)) {
		*why = "a VLAN's addresses are GIDs of an adapter on the interface below";
		return -EXDEV;
	}
	return 0;
}

static int get_sockets(struct net *net, const char **why)
{
	int err = pavo_net_get(net);

	*why = err == -EADDRINUSE ?
		       "UDP port 4791 is already bound in this network namespace (by rdma_rxe?)" :
		       "cannot make UDP sockets";
	return err;
}

/*
 * Register an attached adapter. The caller has a reference, since an administrator can remove the
 * device as soon as it is registered.
 */
static int register_adapter(struct pavo_dev *dev, struct net_device *ndev,
			    const char *name, const char **why)
{
	bool gone;
	int err;

	*why = "rdma core cannot register the adapter";
	pavo_verbs_setup(dev, ndev);
	pavo_parts_setup(dev);
	/*
	 * rdma core makes all devices in the initial namespace. If they are not visible in the
	 * interface's namespace (exclusive mode), move this one there.
	 */
	if (!rdma_dev_access_netns(&dev->ib, dev_net(ndev)))
		write_pnet(&dev->ib.coredev.rdma_net, dev_net(ndev));
	err = ib_device_set_netdev(&dev->ib, ndev, PAVO_PORT);
	if (err)
		return err;
	pavo_name_is_users(&dev->ib);
	err = ib_register_device(&dev->ib, name, NULL);
	if (err == -ENFILE) {
		*why = "an RDMA device has that name, here or in another namespace";
		return -EEXIST;
	}
	if (err)
		return err;

	/* The interface may have been unregistered before the adapter was registered. */
	rtnl_lock();
	gone = dev->gone;
	rtnl_unlock();
	if (gone)
		ib_unregister_device(&dev->ib);
	return 0;
}

/* Make an adapter of an interface that can carry one. @why: the reason if it fails. */
static int make_adapter(const char *name, struct net_device *ndev,
			const char **why)
{
	struct net *net = dev_net(ndev);
	struct pavo_dev *dev;
	int err;

	*why = "no memory for an adapter";
	dev = alloc_adapter();
	if (!dev)
		return -ENOMEM;
	err = get_sockets(net, why);
	if (err)
		goto err_dealloc;
	err = attach_adapter(dev, ndev, net, why);
	if (err) {
		pavo_net_put(net);
		goto err_dealloc;
	}

	get_device(&dev->ib.dev);
	err = register_adapter(dev, ndev, name, why);
	if (err)
		ib_dealloc_device(&dev->ib);
	put_device(&dev->ib.dev);
	return err;

err_dealloc:
	ib_dealloc_device(&dev->ib);
	return err;
}

/* rdma link add NAME type pavo netdev NDEV */
static int add_link(const char *name, struct net_device *ndev)
{
	const char *why;
	int err;

	err = check_netdev(ndev, &why);
	if (!err)
		err = make_adapter(name, ndev, &why);
	if (err)
		return pavo_refuse(name, ndev, err, why);
	pavo_refusal_forget();
	return 0;
}

static struct rdma_link_ops pavo_link_ops = {
	.type = "pavo",
	.newlink = add_link,
};

static void change_link(struct pavo_dev *dev, const struct net_device *ndev)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = PAVO_PORT,
	};
	bool up = link_is_up(ndev);

	WRITE_ONCE(dev->link_known, false);
	if (dev->port_up == up)
		return;
	dev->port_up = up;
	event.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&event);
}

/* The interface is unregistered: detach at once, and queue the adapter's removal. RTNL is held. */
static void leave_netdev(struct pavo_dev *dev)
{
	pavo_net_leave_all(&dev->port);
	detach_adapter(dev);
	dev->gone = true;
	if (!ib_device_try_get(&dev->ib))
		return;
	ib_unregister_device_queued(&dev->ib);
	ib_device_put(&dev->ib);
}

static void rename_netdev(struct pavo_dev *dev, struct net_device *ndev)
{
	mutex_lock(&adapters_lock);
	if (dev->attached && pavo_parent_link(&dev->parent, ndev))
		pr_warn_ratelimited("%s: no link in sysfs\n", ndev->name);
	mutex_unlock(&adapters_lock);
}

/*
 * Handle an event of an interface, under RTNL. A changed MTU needs no action, since it is looked up
 * when it is used; rdma core updates the addresses in the GID table.
 */
static int handle_netdev_event(struct notifier_block *nb, unsigned long event,
			       void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct pavo_port *port;
	struct pavo_dev *dev;

	rcu_read_lock();
	port = pavo_port_find(ndev);
	dev = port ? pavo_port_to_dev(port) : NULL;
	if (dev && !kobject_get_unless_zero(&dev->ib.dev.kobj))
		dev = NULL;
	rcu_read_unlock();
	if (!dev)
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_UNREGISTER:
		leave_netdev(dev);
		break;
	case NETDEV_CHANGENAME:
		rename_netdev(dev, ndev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		if (ib_device_try_get(&dev->ib)) {
			change_link(dev, ndev);
			ib_device_put(&dev->ib);
		}
		break;
	}
	put_device(&dev->ib.dev);
	return NOTIFY_OK;
}

static struct notifier_block pavo_netdev_notifier = {
	.notifier_call = handle_netdev_event,
};

static struct pavo_dev *get_any_adapter(void)
{
	struct pavo_dev *dev;

	mutex_lock(&adapters_lock);
	dev = list_first_entry_or_null(&live_adapters, struct pavo_dev, list);
	if (dev)
		get_device(&dev->ib.dev);
	mutex_unlock(&adapters_lock);
	return dev;
}

/*
 * Remove all adapters, and wait for those that another process is removing. Not by
 * ib_unregister_driver(): pavo has no driver id of its own, so that would also remove the devices
 * of other drivers without one.
 */
static void remove_adapters(void)
{
	struct pavo_dev *dev;

	while ((dev = get_any_adapter())) {
		ib_unregister_device(&dev->ib);
		put_device(&dev->ib.dev);
	}
	flush_work(&reap_work);
}

static const struct pavo_net_calls net_calls = {
	.receive = pavo_demux_receive,
	.local = pavo_demux_local,
	.conn = pavo_qp_conn,
	.may_read = pavo_qp_may_read,
};

static int __init pavo_init(void)
{
	int err;

	err = pavo_deferred_free_init();
	if (err)
		return err;
	err = pavo_pager_init();
	if (err)
		goto err_deferred_free;
	err = pavo_pin_init();
	if (err)
		goto err_pager;
	err = pavo_parts_init();
	if (err)
		goto err_pin;
	err = pavo_net_init(&net_calls);
	if (err)
		goto err_parts;
	err = pavo_refusal_init();
	if (err)
		goto err_net;
	err = pavo_parent_init();
	if (err)
		goto err_refusal;
	err = pavo_workers_init();
	if (err)
		goto err_parent;
	err = register_netdevice_notifier(&pavo_netdev_notifier);
	if (err)
		goto err_workers;
	pavo_debugfs_init();
	rdma_link_register(&pavo_link_ops);
	return 0;

err_workers:
	pavo_workers_exit();
err_parent:
	pavo_parent_exit();
err_refusal:
	pavo_refusal_exit();
err_net:
	pavo_net_exit();
err_parts:
	pavo_parts_exit();
err_pin:
	pavo_pin_exit();
err_pager:
	pavo_pager_exit();
err_deferred_free:
	pavo_deferred_free_exit();
	return err;
}

static void __exit pavo_exit(void)
{
	/* waits for calls of add_link(), and allows no new ones */
	rdma_link_unregister(&pavo_link_ops);
	unregister_netdevice_notifier(&pavo_netdev_notifier);
	remove_adapters();
	pavo_workers_exit();
	pavo_debugfs_exit();
	/* wait for RCU callbacks, which are functions of this module */
	rcu_barrier();
	pavo_parent_exit();
	pavo_refusal_exit();
	pavo_net_exit();
	pavo_deferred_free_exit();
	pavo_parts_exit();
	pavo_pin_exit();
	pavo_pager_exit();
}

module_init(pavo_init);
module_exit(pavo_exit);
