// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mcast.c - multicast groups, and their members.
 *
 * Owns dev->mcast. Called by verbs/qp_verbs.c (attach, detach), by demux.c for each packet to QPN
 * 0xffffff.
 *
 * Groups and members are written under RTNL, which joining the group of the IP layer needs anyway,
 * and read under RCU.
 */
#include <linux/capability.h>
#include <linux/jhash.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include "pavo_trace.h"
#include "qp/mcast.h"
#include "qp/qp.h"

/**
 * struct pavo_mcast_group - a group that has members.
 * @node: in its bucket
 * @gid: IPv4 groups as ::ffff:a.b.c.d
 * @members: list of struct pavo_mcast_member
 * @count: number of members; 0 only while a group is created
 * @rcu: to free it
 */
struct pavo_mcast_group {
	struct hlist_node node;
	struct in6_addr gid;
	struct list_head members;
	u32 count;
	struct rcu_head rcu;
};

struct pavo_mcast_member {
	struct list_head node;
	struct pavo_qp *qp;
	struct rcu_head rcu;
};

static struct hlist_head *find_bucket(struct pavo_dev *dev,
				      const struct in6_addr *gid)
{
	u32 hash = jhash(gid, sizeof(*gid), 0);

	return &dev->mcast.groups[hash % ARRAY_SIZE(dev->mcast.groups)];
}

/* Find the group of @gid. Under RTNL, or RCU. */
static struct pavo_mcast_group *find_group(struct pavo_dev *dev,
					   const struct in6_addr *gid)
{
	struct pavo_mcast_group *group;

	hlist_for_each_entry_rcu(group, find_bucket(dev, gid), node,
				 lockdep_rtnl_is_held()) {
		if (ipv6_addr_equal(&group->gid, gid))
			return group;
	}
	return NULL;
}

static struct pavo_mcast_member *find_member(struct pavo_mcast_group *group,
					     const struct pavo_qp *qp)
{
	struct pavo_mcast_member *member;

	list_for_each_entry(member, &group->members, node) {
		if (member->qp == qp)
			return member;
	}
	return NULL;
}

/* Create a group, and make the interface join it. */
static struct pavo_mcast_group *create_group(struct pavo_dev *dev,
					     const struct in6_addr *gid)
{
	struct pavo_mcast_group *group;
	int err;

	if (dev->mcast.count >= PAVO_MAX_MCAST_GRP)
		return ERR_PTR(-ENOSPC);
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->gid = *gid;
	INIT_LIST_HEAD(&group->members);
	err = pavo_net_join(&dev->port, gid);
	if (err) {
		kfree(group);
		return ERR_PTR(err);
	}
	dev->mcast.count++;
	hlist_add_head_rcu(&group->node, find_bucket(dev, gid));
	return group;
}

static void destroy_group(struct pavo_dev *dev, struct pavo_mcast_group *group)
{
	hlist_del_rcu(&group->node);
	dev->mcast.count--;
	pavo_net_leave(&dev->port, &group->gid);
	kfree_rcu(group, rcu);
}

/* Return how many members belong to the user of @qp. */
static u32 count_members_of_user(const struct pavo_mcast_group *group,
				 const struct pavo_qp *qp)
{
	struct pavo_mcast_member *member;
	u32 n = 0;

	list_for_each_entry(member, &group->members, node)
		n += member->qp->user == qp->user;
	return n;
}

/*
 * Charge a member to the user of @qp, and a group if it is the user's first member of that. The
 * members of a group are shared among users, too.
 */
static int charge_member(struct pavo_mcast_group *group, struct pavo_qp *qp)
{
	const kuid_t account = pavo_user_get_uid(qp->user);
	struct pavo_dev *dev = qp->dev;
	u32 own = count_members_of_user(group, qp);
	int err;

	if (group->count >= PAVO_MAX_MCAST_QP_ATTACH)
		return -ENOSPC;
	if (qp->user && own >= pavo_share_of(PAVO_MAX_MCAST_QP_ATTACH, -1) &&
	    !capable(CAP_SYS_RESOURCE))
		return -EDQUOT;
	if (pavo_object_take(dev, PAVO_OBJ_ATTACH, account))
		return -ENOSPC;
	if (own)
		return 0;
	err = pavo_share_take(&dev->mcast.shares, account,
			      pavo_share_of(PAVO_MAX_MCAST_GRP, -1));
	if (err)
		pavo_object_give(dev, PAVO_OBJ_ATTACH, account);
	return err;
}

/* Undo charge_member(). @qp is no member any more. */
static void uncharge_member(struct pavo_mcast_group *group, struct pavo_qp *qp)
{
	const kuid_t account = pavo_user_get_uid(qp->user);

	pavo_object_give(qp->dev, PAVO_OBJ_ATTACH, account);
	if (!count_members_of_user(group, qp))
		pavo_share_give(&qp->dev->mcast.shares, account);
}

static int add_member(struct pavo_mcast_group *group, struct pavo_qp *qp)
{
	struct pavo_mcast_member *member;
	int err;

	if (find_member(group, qp))
		return -EEXIST;
	err = charge_member(group, qp);
	if (err)
		return err;
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member) {
		uncharge_member(group, qp);
		return -ENOMEM;
	}
	member->qp = qp;
	list_add_tail_rcu(&member->node, &group->members);
	group->count++;
	return 0;
}

int pavo_mcast_attach(struct pavo_qp *qp, const struct in6_addr *gid)
{
	struct pavo_mcast_group *group;
	int err;

	rtnl_lock();
	group = find_group(qp->dev, gid);
	if (!group)
		group = create_group(qp->dev, gid);
	if (IS_ERR(group)) {
		err = PTR_ERR(group);
	} else {
		err = add_member(group, qp);
		if (!group->count)
			destroy_group(qp->dev, group);
	}
	rtnl_unlock();
	return err;
}

int pavo_mcast_detach(struct pavo_qp *qp, const struct in6_addr *gid)
{
	struct pavo_mcast_member *member = NULL;
	struct pavo_mcast_group *group;

	rtnl_lock();
	group = find_group(qp->dev, gid);
	if (group)
		member = find_member(group, qp);
	if (member) {
		list_del_rcu(&member->node);
		kfree_rcu(member, rcu);
		uncharge_member(group, qp);
		if (!--group->count)
			destroy_group(qp->dev, group);
	}
	rtnl_unlock();
	return member ? 0 : -EINVAL;
}

u32 pavo_mcast_for_each(struct pavo_dev *dev, const struct in6_addr *gid,
			void (*take)(struct pavo_qp *, const struct pavo_rx *),
			const struct pavo_rx *rx)
{
	struct pavo_mcast_member *member;
	struct pavo_mcast_group *group;
	u32 members = 0;

	group = find_group(dev, gid);
	if (!group)
		return 0;
	list_for_each_entry_rcu(member, &group->members, node) {
		take(member->qp, rx);
		members++;
	}
	return members;
}
