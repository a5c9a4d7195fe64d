// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * limits.c - limits of the objects of an adapter.
 *
 * Module parameters lower them (modprobe pavo max_mr=10000), for a node whose users share its
 * memory. Called by verbs/, qp/ and memory/ when they make or destroy an object. ibv_devinfo shows
 * the limits.
 */
#include <linux/moduleparam.h>
#include "adapter.h"

/* Least limit: kernel consumers (QP 1, rdma_cm) need some objects. */
#define PAVO_LEAST 8

static unsigned int limit[PAVO_OBJ_COUNT] = {
	[PAVO_OBJ_QP] = PAVO_MAX_QP,
	[PAVO_OBJ_CQ] = PAVO_MAX_CQ,
	[PAVO_OBJ_PD] = PAVO_MAX_PD,
	[PAVO_OBJ_AH] = PAVO_MAX_AH,
	[PAVO_OBJ_MR] = PAVO_MAX_MR,
	[PAVO_OBJ_MW] = PAVO_MAX_MW,
	[PAVO_OBJ_SRQ] = PAVO_MAX_SRQ,
	[PAVO_OBJ_XRCD] = PAVO_MAX_XRCD,
	[PAVO_OBJ_ATTACH] = PAVO_MAX_TOTAL_MCAST_QP_ATTACH,
};

static const struct {
	const char *name;
	unsigned int most;
} known[PAVO_OBJ_COUNT] = {
	[PAVO_OBJ_QP] = { "max_qp", PAVO_MAX_QP },
	[PAVO_OBJ_CQ] = { "max_cq", PAVO_MAX_CQ },
	[PAVO_OBJ_PD] = { "max_pd", PAVO_MAX_PD },
	[PAVO_OBJ_AH] = { "max_ah", PAVO_MAX_AH },
	[PAVO_OBJ_MR] = { "max_mr", PAVO_MAX_MR },
	[PAVO_OBJ_MW] = { "max_mw", PAVO_MAX_MW },
	[PAVO_OBJ_SRQ] = { "max_srq", PAVO_MAX_SRQ },
	[PAVO_OBJ_XRCD] = { "max_xrcd", PAVO_MAX_XRCD },
	[PAVO_OBJ_ATTACH] = { "max_total_mcast_qp_attach",
			      PAVO_MAX_TOTAL_MCAST_QP_ATTACH },
};

module_param_named(max_qp, limit[PAVO_OBJ_QP], uint, 0444);
MODULE_PARM_DESC(max_qp, "queue pairs of an adapter, QP 1 among them");
module_param_named(max_cq, limit[PAVO_OBJ_CQ], uint, 0444);
MODULE_PARM_DESC(max_cq, "completion queues of an adapter");
module_param_named(max_pd, limit[PAVO_OBJ_PD], uint, 0444);
MODULE_PARM_DESC(max_pd, "protection domains of an adapter");
module_param_named(max_ah, limit[PAVO_OBJ_AH], uint, 0444);
MODULE_PARM_DESC(max_ah, "address handles of an adapter");
module_param_named(max_mr, limit[PAVO_OBJ_MR], uint, 0444);
MODULE_PARM_DESC(max_mr, "memory regions of an adapter");
module_param_named(max_mw, limit[PAVO_OBJ_MW], uint, 0444);
MODULE_PARM_DESC(max_mw, "memory windows of an adapter");
module_param_named(max_srq, limit[PAVO_OBJ_SRQ], uint, 0444);
MODULE_PARM_DESC(max_srq, "shared receive queues of an adapter");
module_param_named(max_xrcd, limit[PAVO_OBJ_XRCD], uint, 0444);
MODULE_PARM_DESC(max_xrcd, "XRC domains of an adapter");
module_param_named(max_total_mcast_qp_attach, limit[PAVO_OBJ_ATTACH], uint,
		   0444);
MODULE_PARM_DESC(max_total_mcast_qp_attach,
		 "queue pairs in multicast groups of an adapter, all together");

/**
 * pavo_limits_check - check the limits among the module's parameters.
 *
 * Return: 0; -EINVAL, and the log names the parameter and its range.
 */
int pavo_limits_check(void)
{
	int i;

	for (i = 0; i < PAVO_OBJ_COUNT; i++) {
		if (limit[i] >= PAVO_LEAST && limit[i] <= known[i].most)
			continue;
		pr_err("%s=%u is not possible: give %u to %u\n", known[i].name,
		       limit[i], PAVO_LEAST, known[i].most);
		return -EINVAL;
	}
	return 0;
}

/** pavo_limit - return the limit of a kind of object. */
int pavo_limit(enum pavo_object object)
{
	return limit[object];
}

/** pavo_objects_init - initialize the shares of users in a new adapter. */
void pavo_objects_init(struct pavo_dev *dev)
{
	int i;

	for (i = 0; i < PAVO_OBJ_COUNT; i++)
		pavo_shares_init(&dev->shares[i]);
	pavo_shares_init(&dev->mcast.shares);
}

/** pavo_objects_end - destroy the shares of an adapter that has no objects any more. */
void pavo_objects_end(struct pavo_dev *dev)
{
	int i;

	for (i = 0; i < PAVO_OBJ_COUNT; i++)
		pavo_shares_destroy(&dev->shares[i]);
	pavo_shares_destroy(&dev->mcast.shares);
}

/**
 * pavo_object_take - charge an object to an adapter and a user.
 * @dev: the adapter
 * @object: kind of object
 * @account: the user; INVALID_UID: the kernel
 *
 * Context: as pavo_share_take().
 * Return: 0; -ENOMEM: the limit of the adapter, or the share of the user, is used up.
 */
int pavo_object_take(struct pavo_dev *dev, enum pavo_object object,
		     kuid_t account)
{
	struct pavo_shares *shares = &dev->shares[object];

	if (pavo_share_take(shares, account, pavo_share_of(limit[object], -1)))
		return -ENOMEM;
	if (atomic_add_unless(&dev->used[object], 1, limit[object]))
		return 0;
	pavo_share_give(shares, account);
	return -ENOMEM;
}

/** pavo_object_give - uncharge an object of @account. */
void pavo_object_give(struct pavo_dev *dev, enum pavo_object object,
		      kuid_t account)
{
	atomic_dec(&dev->used[object]);
	pavo_share_give(&dev->shares[object], account);
}
