// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * limits.c - limits of the objects of an adapter.
 *
 * Module parameters lower them (modprobe pavo max_mr=10000), for a node whose users share its
 * memory. Called by verbs/, qp/ and memory/ when they make or destroy an object. ibv_devinfo shows
 * the limits.
 */
#include "adapter.h"
#include "parameter.h"

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
	[PAVO_OBJ_COMP_CNTR] = PAVO_MAX_COMP_CNTR,
	[PAVO_OBJ_ATTACH] = PAVO_MAX_TOTAL_MCAST_QP_ATTACH,
};

pavo_range_param(max_qp, limit[PAVO_OBJ_QP], PAVO_LEAST, PAVO_MAX_QP, 0444);
MODULE_PARM_DESC(max_qp, "queue pairs of an adapter, QP 1 among them");
pavo_range_param(max_cq, limit[PAVO_OBJ_CQ], PAVO_LEAST, PAVO_MAX_CQ, 0444);
MODULE_PARM_DESC(max_cq, "completion queues of an adapter");
pavo_range_param(max_pd, limit[PAVO_OBJ_PD], PAVO_LEAST, PAVO_MAX_PD, 0444);
MODULE_PARM_DESC(max_pd, "protection domains of an adapter");
pavo_range_param(max_ah, limit[PAVO_OBJ_AH], PAVO_LEAST, PAVO_MAX_AH, 0444);
MODULE_PARM_DESC(max_ah, "address handles of an adapter");
pavo_range_param(max_mr, limit[PAVO_OBJ_MR], PAVO_LEAST, PAVO_MAX_MR, 0444);
MODULE_PARM_DESC(max_mr, "memory regions of an adapter");
pavo_range_param(max_mw, limit[PAVO_OBJ_MW], PAVO_LEAST, PAVO_MAX_MW, 0444);
MODULE_PARM_DESC(max_mw, "memory windows of an adapter");
pavo_range_param(max_srq, limit[PAVO_OBJ_SRQ], PAVO_LEAST, PAVO_MAX_SRQ, 0444);
MODULE_PARM_DESC(max_srq, "shared receive queues of an adapter");
pavo_range_param(max_xrcd, limit[PAVO_OBJ_XRCD], PAVO_LEAST, PAVO_MAX_XRCD,
		 0444);
MODULE_PARM_DESC(max_xrcd, "XRC domains of an adapter");
pavo_range_param(max_comp_cntr, limit[PAVO_OBJ_COMP_CNTR], PAVO_LEAST,
		 PAVO_MAX_COMP_CNTR, 0444);
MODULE_PARM_DESC(max_comp_cntr, "completion counters of an adapter");
pavo_range_param(max_total_mcast_qp_attach, limit[PAVO_OBJ_ATTACH], PAVO_LEAST,
		 PAVO_MAX_TOTAL_MCAST_QP_ATTACH, 0444);
MODULE_PARM_DESC(max_total_mcast_qp_attach,
		 "queue pairs in multicast groups of an adapter, all together");

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
