// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * window_group.c - groups of windows: members, bindings, and the packets for them.
 *
 * Called by window_methods.c and close.c in process context, and by demux.c for each packet to a
 * group, which bounds the copies that a CPU makes in a tick.
 *
 * Groups, members and bindings are changed under RTNL, which joining the group of the IP layer
 * needs anyway, and read under RCU. A CPU locks a binding's rCxt, then checks that the binding has
 * not ended. Members place a packet one after the other from the same skb.
 */
#include <linux/nospec.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include "jobs/job.h"
#include "part.h"
#include "window/binding.h"
#include "window/rdma.h"

/* Memberships of all windows of an adapter. Each has up to PAVO_GROUP_RCXTS bindings. */
#define MOST_MEMBERSHIPS 1024

/**
 * struct pavo_window_group - windows of a job that are in a group.
 * @node:    in its bucket
 * @number:  number of the group
 * @key:     window key of the job
 * @gid:     address of the group
 * @members: list of struct group_membership
 * @count:   number of members; 0 only while a group is created
 * @rcu:     frees it
 */
struct pavo_window_group {
	struct hlist_node node;
	u32 number;
	u64 key;
	struct in6_addr gid;
	struct list_head members;
	u32 count;
	struct rcu_head rcu;
};

/**
 * struct group_binding - memory of a member for a group rCxt.
 * @rcxt: its operation. @rcxt.window is NULL when the binding has ended
 * @seen: of that operation
 * @rcu:  frees it
 */
struct group_binding {
	struct pavo_rcxt rcxt;
	struct pavo_seen seen;
	struct rcu_head rcu;
};

/**
 * struct group_membership - a window in a group.
 * @node:     in the group's list
 * @own:      in the window's list
 * @group:    the group
 * @window:   the window, which is freed after a grace period
 * @bindings: by group rCxt; NULL: none
 * @rcu:      frees it
 */
struct group_membership {
	struct list_head node;
	struct list_head own;
	struct pavo_window_group *group;
	struct pavo_fifo_window *window;
	struct group_binding __rcu *bindings[PAVO_GROUP_RCXTS];
	struct rcu_head rcu;
};

void pavo_groups_init(struct pavo_window_groups *groups)
{
	BUILD_BUG_ON(PAVO_GROUP_DESTINATION != PAVO_WINDOW_GROUP);
	pavo_shares_init(&groups->shares);
}

void pavo_groups_destroy(struct pavo_window_groups *groups)
{
	WARN_ON(groups->count);
	pavo_shares_destroy(&groups->shares);
}

static struct hlist_head *find_group_bucket(struct pavo_windows *all,
					    u32 number)
{
	return &all->groups.buckets[number % ARRAY_SIZE(all->groups.buckets)];
}

/* ---------------------------------------------------------------- members */

/* The group that windows of the job with @key have made. Under RTNL. */
static struct pavo_window_group *find_job_group(struct pavo_windows *all,
						u32 number, u64 key)
{
	struct pavo_window_group *group;

	hlist_for_each_entry(group, find_group_bucket(all, number), node) {
		if (group->number == number && group->key == key)
			return group;
	}
	return NULL;
}

static struct group_membership *
find_membership(const struct pavo_fifo_window *window, u32 number)
{
	struct group_membership *member;

	ASSERT_RTNL();
	list_for_each_entry(member, &window->groups, own) {
		if (member->group->number == number)
			return member;
	}
	return NULL;
}

/* Create a group, and make the interface join its address. */
static struct pavo_window_group *
create_window_group(struct pavo_fifo_window *window, u32 number,
		    const struct in6_addr *gid)
{
	struct pavo_window_group *group =
		kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	int err;

	if (!group)
		return ERR_PTR(-ENOMEM);
	group->number = number;
	group->key = window->key;
	group->gid = *gid;
	INIT_LIST_HEAD(&group->members);
	err = pavo_net_join(&window->dev->port, gid);
	if (err) {
		kfree(group);
		return ERR_PTR(err);
	}
	hlist_add_head_rcu(&group->node,
			   find_group_bucket(window->dev->windows, number));
	return group;
}

static void end_empty_group(struct pavo_dev *dev,
			    struct pavo_window_group *group)
{
	if (group->count)
		return;
	hlist_del_rcu(&group->node);
	pavo_net_leave(&dev->port, &group->gid);
	kfree_rcu(group, rcu);
}

/* Charge a membership to the user of the window's job. */
static int charge_membership(struct pavo_fifo_window *window)
{
	struct pavo_window_groups *groups = &window->dev->windows->groups;
	int err;

	if (groups->count >= MOST_MEMBERSHIPS ||
	    window->ngroups >= PAVO_WINDOW_GROUPS)
		return -ENOSPC;
	err = pavo_share_take(&groups->shares, pavo_job_user(window->job),
			      pavo_share_of(MOST_MEMBERSHIPS, -1));
	if (err)
		return err;
	groups->count++;
	window->ngroups++;
	return 0;
}

static void uncharge_membership(struct pavo_fifo_window *window)
{
	struct pavo_window_groups *groups = &window->dev->windows->groups;

	pavo_share_give(&groups->shares, pavo_job_user(window->job));
	groups->count--;
	window->ngroups--;
}

static int add_membership(struct pavo_fifo_window *window,
			  struct pavo_window_group *group)
{
	struct group_membership *member;
	int err;

	if (group->count >= PAVO_GROUP_WINDOWS)
		return -ENOSPC;
	err = charge_membership(window);
	if (err)
		return err;
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member) {
		uncharge_membership(window);
		return -ENOMEM;
	}
	member->group = group;
	member->window = window;
	list_add_tail(&member->own, &window->groups);
	list_add_tail_rcu(&member->node, &group->members);
	group->count++;
	return 0;
}

/* Join a group of other windows of the job, or a new one. Under RTNL. */
static int join_group(struct pavo_fifo_window *window, u32 number,
		      const struct in6_addr *gid)
{
	struct pavo_window_group *group;
	int err;

	if (READ_ONCE(window->closed))
		return -ESHUTDOWN;
	if (find_membership(window, number))
		return -EEXIST;
	group = find_job_group(window->dev->windows, number, window->key);
	if (group && !ipv6_addr_equal(&group->gid, gid))
		return -EEXIST;
	if (!group)
		group = create_window_group(window, number, gid);
	if (IS_ERR(group))
		return PTR_ERR(group);
	err = add_membership(window, group);
	end_empty_group(window->dev, group);
	return err;
}

int pavo_group_join(struct pavo_fifo_window *window,
		    const struct pavo_group_join_args *args)
{
	struct in6_addr gid;
	int err;

	memcpy(&gid, args->gid, sizeof(gid));
	if (args->reserved || args->group & ~PAVO_QPN_MASK ||
	    !(args->group & PAVO_WINDOW_GROUP) || !pavo_gid_is_group(&gid))
		return -EINVAL;
	rtnl_lock();
	err = join_group(window, args->group, &gid);
	rtnl_unlock();
	return err;
}

/* --------------------------------------------------------------- bindings */

static struct group_binding *get_own_binding(struct group_membership *member,
					     u32 rcxt)
{
	return rcu_dereference_protected(member->bindings[rcxt],
					 lockdep_rtnl_is_held());
}

/* End a binding: when this returns no CPU places data by it. */
static void end_binding(struct group_membership *member, u32 rcxt)
{
	struct group_binding *binding = get_own_binding(member, rcxt);

	if (!binding)
		return;
	RCU_INIT_POINTER(member->bindings[rcxt], NULL);
	spin_lock_bh(&binding->rcxt.lock);
	binding->rcxt.window = NULL;
	spin_unlock_bh(&binding->rcxt.lock);
	kfree_rcu(binding, rcu);
}

static void end_membership(struct group_membership *member)
{
	struct pavo_fifo_window *window = member->window;
	struct pavo_window_group *group = member->group;
	u32 rcxt;

	list_del_rcu(&member->node);
	list_del(&member->own);
	for (rcxt = 0; rcxt < PAVO_GROUP_RCXTS; rcxt++)
		end_binding(member, rcxt);
	uncharge_membership(window);
	group->count--;
	end_empty_group(window->dev, group);
	kfree_rcu(member, rcu);
}

int pavo_group_leave(struct pavo_fifo_window *window, u32 number)
{
	struct group_membership *member;

	rtnl_lock();
	member = find_membership(window, number);
	if (member)
		end_membership(member);
	rtnl_unlock();
	return member ? 0 : -EINVAL;
}

void pavo_group_leave_all(struct pavo_fifo_window *window)
{
	struct group_membership *member, *next;

	/* Kernel code joins no group, and may close its window under RTNL. */
	if (window->calls)
		return;
	rtnl_lock();
	list_for_each_entry_safe(member, next, &window->groups, own)
		end_membership(member);
	rtnl_unlock();
}

static struct group_binding *
make_binding(struct pavo_fifo_window *window,
	     const struct pavo_group_bind_args *args)
{
	struct group_binding *binding =
		kzalloc(sizeof(*binding), GFP_KERNEL_ACCOUNT);
	struct pavo_operation *op;

	if (!binding)
		return NULL;
	spin_lock_init(&binding->rcxt.lock);
	INIT_LIST_HEAD(&binding->rcxt.queued);
	binding->rcxt.window = window;
	op = &binding->rcxt.op;
	op->seen = &binding->seen;
	op->id = args->rcxt;
	op->now.tid = args->tid;
	op->group = args->group;
	op->base = args->pvo;
	op->bound_length = args->length;
	return binding;
}

/* Under RTNL. @args: @rcxt is in range. */
static int bind_memory(struct pavo_fifo_window *window,
		       const struct pavo_group_bind_args *args)
{
	struct group_membership *member = find_membership(window, args->group);
	struct group_binding *binding;

	if (READ_ONCE(window->closed))
		return -ESHUTDOWN;
	if (!member)
		return -EINVAL;
	if (get_own_binding(member, args->rcxt))
		return -EEXIST;
	binding = make_binding(window, args);
	if (!binding)
		return -ENOMEM;
	rcu_assign_pointer(member->bindings[args->rcxt], binding);
	return 0;
}

/*
 * Check the first and the last byte: a buffer is mapped as a whole. If the process unmaps it later,
 * packets find no place.
 */
static bool is_memory_of_job(const struct pavo_fifo_window *window, u64 pvo,
			     u64 length)
{
	bool mapped;

	local_bh_disable();
	rcu_read_lock();
	mapped = !pavo_job_check(window->job, pvo, 1) &&
		 !pavo_job_check(window->job, pvo + length - 1, 1);
	rcu_read_unlock();
	local_bh_enable();
	return mapped;
}

int pavo_group_bind(struct pavo_fifo_window *window,
		    const struct pavo_group_bind_args *args)
{
	struct pavo_group_bind_args own = *args;
	int err;

	if (own.rcxt >= PAVO_GROUP_RCXTS || !own.length ||
	    own.pvo + own.length < own.pvo)
		return -EINVAL;
	own.rcxt = array_index_nospec(own.rcxt, PAVO_GROUP_RCXTS);
	if (!is_memory_of_job(window, own.pvo, own.length))
		return -EFAULT;
	rtnl_lock();
	err = bind_memory(window, &own);
	rtnl_unlock();
	return err;
}

int pavo_group_unbind(struct pavo_fifo_window *window, u32 number, u32 rcxt)
{
	struct group_membership *member;
	bool bound = false;

	if (rcxt >= PAVO_GROUP_RCXTS)
		return -EINVAL;
	rcxt = array_index_nospec(rcxt, PAVO_GROUP_RCXTS);
	rtnl_lock();
	member = find_membership(window, number);
	if (member) {
		bound = get_own_binding(member, rcxt);
		end_binding(member, rcxt);
	}
	rtnl_unlock();
	return bound ? 0 : -EINVAL;
}

/* ---------------------------------------------------------------- packets */

/* Let the operation of @binding take data. Return: 0; -ENOENT: the binding has ended. */
static int take_group_data(struct pavo_fifo_window *window,
			   struct group_binding *binding,
			   const struct pavo_rx *rx)
{
	const struct pavo_arrival *arrival = pavo_arrival_of(rx->pkt.opcode);
	struct pavo_transition tr = { .pkt = &rx->pkt };
	struct pavo_rcxt *rcxt = &binding->rcxt;
	u32 refused = 0;
	bool alive;

	spin_lock(&rcxt->lock);
	alive = rcxt->window;
	if (alive)
		refused = pavo_binding_check_data(&rcxt->op, &rx->pkt);
	if (alive && !refused) {
		arrival->take(&rcxt->op, &tr);
		pavo_rdma_carry_out(window, rcxt, &tr, rx);
	}
	spin_unlock(&rcxt->lock);
	if (refused)
		pavo_stats_add_id(&window->dev->stats, refused, 1);
	return alive ? 0 : -ENOENT;
}

static void receive_group_data(const struct group_membership *member,
			       const struct pavo_rx *rx)
{
	struct pavo_fifo_window *window = member->window;
	struct group_binding *binding = NULL;
	u32 rcxt = rx->pkt.rdma.rcxt;

	if (rcxt < PAVO_GROUP_RCXTS) {
		rcxt = array_index_nospec(rcxt, PAVO_GROUP_RCXTS);
		binding = rcu_dereference(member->bindings[rcxt]);
	}
	if (!binding || take_group_data(window, binding, rx))
		pavo_count(window->dev, rx_drop_binding);
}

/* Give a packet to a member. The window that sent it gets no copy. */
static void receive_as_member(const struct group_membership *member,
			      const struct pavo_rx *rx)
{
	struct pavo_fifo_window *window = member->window;
	struct pavo_windows *all = window->dev->windows;

	if (rx->pkt.src_window == window->id &&
	    rx->pkt.src_node == window->node)
		return;
	if (READ_ONCE(window->dead) || READ_ONCE(window->closed)) {
		pavo_count(window->dev, rx_drop_window);
		return;
	}
	pavo_window_set_at_work(all, PAVO_TASK_RECEIVES, window->id);
	if (rx->pkt.opcode == PAVO_OP_WINDOW_MESSAGE)
		pavo_window_put_message(window, rx);
	else
		receive_group_data(member, rx);
	pavo_window_set_at_work(all, PAVO_TASK_RECEIVES, 0);
}

/* Return: 0: the packet is in order; else the counter of the reason to drop it. */
static u32 check_group_packet(const struct pavo_rx *rx)
{
	const struct pavo_arrival *arrival = pavo_arrival_of(rx->pkt.opcode);
	u32 refused;

	if (WARN_ON_ONCE(!arrival))
		return PAVO_CNT_rx_drop_rdma_invalid;
	refused = pavo_arrival_check(arrival, &rx->pkt);
	if (!refused && arrival->take)
		refused = pavo_group_check_packet(&rx->pkt);
	return refused;
}

/* Find the group of a packet. Return: NULL: the packet is to be dropped, which was counted. */
static struct pavo_window_group *find_packet_group(struct pavo_dev *dev,
						   const struct pavo_rx *rx)
{
	struct hlist_head *bucket =
		find_group_bucket(dev->windows, rx->pkt.dqpn);
	struct pavo_window_group *group;
	struct in6_addr to;
	bool foreign = false;

	pavo_rx_dgid(rx, &to);
	hlist_for_each_entry_rcu(group, bucket, node) {
		if (group->number != rx->pkt.dqpn)
			continue;
		foreign = true;
		if (group->key != rx->pkt.window_key)
			continue;
		/* A further attempt has the address of one machine. */
		if (!pavo_rx_multicast(rx) || ipv6_addr_equal(&group->gid, &to))
			return group;
		pavo_count(dev, rx_drop_address);
		return NULL;
	}
	if (foreign)
		pavo_count(dev, rx_drop_window_key);
	else
		pavo_count(dev, rx_drop_group);
	return NULL;
}

u32 pavo_group_receive(const struct pavo_rx *rx)
{
	struct pavo_dev *dev = pavo_port_to_dev(rx->port);
	struct pavo_window_group *group = find_packet_group(dev, rx);
	struct group_membership *member;
	u32 refused, copies = 0;

	if (!group)
		return 0;
	if (!pavo_pkey_matches(rx->pkt.pkey, PAVO_PKEY_DEFAULT)) {
		pavo_count(dev, rx_drop_pkey);
		pavo_count_violation(&dev->bad_pkeys);
		return 0;
	}
	refused = check_group_packet(rx);
	if (refused) {
		pavo_stats_add_id(&dev->stats, refused, 1);
		return 0;
	}
	/* Ends: a group has up to PAVO_GROUP_WINDOWS members. */
	list_for_each_entry_rcu(member, &group->members, node) {
		receive_as_member(member, rx);
		copies++;
	}
	return copies;
}

/* ------------------------------------------------------------ introspection */

void pavo_group_each_binding(struct pavo_window_groups *groups, u32 bucket,
			     void (*call)(void *context,
					  struct pavo_rcxt *rcxt),
			     void *context)
{
	struct group_membership *member;
	struct pavo_window_group *group;
	struct group_binding *binding;
	u32 i;

	rcu_read_lock();
	hlist_for_each_entry_rcu(group, &groups->buckets[bucket], node)
		list_for_each_entry_rcu(member, &group->members, node)
			for (i = 0; i < PAVO_GROUP_RCXTS; i++) {
				binding = rcu_dereference(member->bindings[i]);
				if (binding)
					call(context, &binding->rcxt);
			}
	rcu_read_unlock();
}
