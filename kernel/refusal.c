// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * refusal.c - the reason why the last `rdma link add` of a network namespace failed.
 *
 * rdma core returns a driver's errno to the caller, but no text. So each reason has an errno of its
 * own, and the text is in the log and in /sys/class/pavo/refusal, where `pavo status` reads it. One
 * reason is stored for each namespace, until an adapter is added there. Writer and reader use the
 * namespace of the calling process, which exists during the call, while an interface may leave its
 * namespace at any time. So no process sees names of another namespace.
 */
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <rdma/ib_verbs.h>
#include "compat.h"
#include "refusal.h"

/**
 * struct refusal - the last failure in a namespace.
 * @why:    the reason; NULL: none
 * @err:    the errno that was returned; negative
 * @when:   seconds since the machine booted
 * @device: name of the adapter that was requested
 * @netdev: name of the interface at that time
 */
struct refusal {
	const char *why;
	int err;
	time64_t when;
	char device[IB_DEVICE_NAME_MAX];
	char netdev[IFNAMSIZ];
};

static unsigned int net_id;
static DEFINE_SPINLOCK(refusals_lock); /* all of them, held for a copy */

static struct refusal *find_caller_refusal(void)
{
	return net_generic(current->nsproxy->net_ns, net_id);
}

int pavo_refuse(const char *name, const struct net_device *ndev, int err,
		const char *why)
{
	struct refusal *refusal = find_caller_refusal();

	pr_err_ratelimited("%s: %s\n", ndev->name, why);
	spin_lock(&refusals_lock);
	refusal->why = why;
	refusal->err = err;
	refusal->when = ktime_get_boottime_seconds();
	strscpy(refusal->device, name, sizeof(refusal->device));
	strscpy(refusal->netdev, ndev->name, sizeof(refusal->netdev));
	spin_unlock(&refusals_lock);
	return err;
}

void pavo_refusal_forget(void)
{
	spin_lock(&refusals_lock);
	find_caller_refusal()->why = NULL;
	spin_unlock(&refusals_lock);
}

/* Names are escaped, so that a name with a line break cannot add a line to the file. */
ssize_t pavo_refusal_show(char *buf)
{
	struct refusal last;

	spin_lock(&refusals_lock);
	last = *find_caller_refusal();
	spin_unlock(&refusals_lock);
	if (!last.why)
		return 0;
	return sysfs_emit(buf,
			  "device %*pE\nnetdev %*pE\nerrno %d\nage %lld\n"
			  "reason %s\n",
			  (int)strlen(last.device), last.device,
			  (int)strlen(last.netdev), last.netdev, -last.err,
			  ktime_get_boottime_seconds() - last.when, last.why);
}

static struct pernet_operations net_ops = {
	.id = &net_id,
	.size = sizeof(struct refusal),
};

int pavo_refusal_init(void)
{
	return register_pernet_subsys(&net_ops);
}

void pavo_refusal_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}
