// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * accounting.c - accounts of users, their limits and charges; see accounting.h. Called by verbs/
 * when queue pairs are made and destroyed and for objects that rdma core allocates, by the sides
 * for each packet on a backlog, and by the owners of pools when a process makes an object.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "accounting.h"
#include "parameter.h"

static unsigned int backlog_per_user = 16384;
pavo_range_param(backlog_per_user, backlog_per_user, 1, INT_MAX, 0644);
MODULE_PARM_DESC(backlog_per_user,
		 "packets that wait at all queue pairs of one user (16384)");

static unsigned int share_per_user = 25;
pavo_range_param(share_per_user, share_per_user, 0, 100, 0644);
MODULE_PARM_DESC(share_per_user,
		 "percent of a pool for a user without CAP_SYS_RESOURCE (25)");

static LIST_HEAD(users);
static DEFINE_MUTEX(users_mutex); /* the list */

kuid_t pavo_caller_account(void)
{
	const struct user_namespace *ns = current_user_ns(), *outer = ns;
	kuid_t uid;

	if (ns == &init_user_ns)
		return current_euid();
	while (outer->parent != &init_user_ns)
		outer = outer->parent;
	if (!uid_eq(outer->owner, GLOBAL_ROOT_UID))
		return outer->owner;
	uid = make_kuid((struct user_namespace *)outer, 0);
	return uid_valid(uid) ? uid : current_euid();
}

kuid_t pavo_task_account(void)
{
	if (!in_task() || current->flags & PF_KTHREAD)
		return INVALID_UID;
	return pavo_caller_account();
}

void pavo_shares_init(struct pavo_shares *shares)
{
	xa_init_flags(&shares->users, XA_FLAGS_ACCOUNT | XA_FLAGS_LOCK_IRQ);
}

void pavo_shares_destroy(struct pavo_shares *shares)
{
	WARN_ON(!xa_empty(&shares->users));
	xa_destroy(&shares->users);
}

u32 pavo_share_of(u32 all, int own)
{
	u32 percent = READ_ONCE(share_per_user);

	if (own >= 0)
		return own;
	return max_t(u32, div_u64(mul_u32_u32(all, percent), 100), 1);
}

static unsigned long get_share(struct pavo_shares *shares, kuid_t account)
{
	void *has = xa_load(&shares->users, __kuid_val(account));

	return has ? xa_to_value(has) : 0;
}

int pavo_share_take(struct pavo_shares *shares, kuid_t account, u32 most)
{
	unsigned long has, flags;
	int err;

	if (!uid_valid(account))
		return 0;
	/* ib_cm makes and destroys address handles with interrupts disabled. */
	xa_lock_irqsave(&shares->users, flags);
	has = get_share(shares, account);
	if (has >= most && !capable(CAP_SYS_RESOURCE))
		err = -EDQUOT;
	else
		err = xa_err(__xa_store(&shares->users, __kuid_val(account),
					xa_mk_value(has + 1), GFP_ATOMIC));
	xa_unlock_irqrestore(&shares->users, flags);
	return err;
}

/* The entry exists, so the xarray does not allocate, and storing cannot fail. */
void pavo_share_give(struct pavo_shares *shares, kuid_t account)
{
	unsigned long has, flags;

	if (!uid_valid(account))
		return;
	xa_lock_irqsave(&shares->users, flags);
	has = get_share(shares, account);
	if (has > 1)
		__xa_store(&shares->users, __kuid_val(account),
			   xa_mk_value(has - 1), GFP_ATOMIC);
	else
		__xa_erase(&shares->users, __kuid_val(account));
	xa_unlock_irqrestore(&shares->users, flags);
}

/* Size of rdma core's handle of an object, bytes. */
#define PAVO_CORE_HANDLE 128

int pavo_charge(void **charge, size_t size, const struct ib_udata *udata)
{
	*charge = NULL;
	if (udata)
		*charge = kmalloc(size + PAVO_CORE_HANDLE, GFP_KERNEL_ACCOUNT);
	return udata && !*charge ? -ENOMEM : 0;
}

void pavo_charge_end(void *charge)
{
	kfree(charge);
}

static struct pavo_user *find_account(kuid_t uid)
{
	struct pavo_user *user;

	list_for_each_entry(user, &users, list)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

struct pavo_user *pavo_user_get(void)
{
	kuid_t uid = pavo_caller_account();
	struct pavo_user *user;

	mutex_lock(&users_mutex);
	user = find_account(uid);
	if (user) {
		refcount_inc(&user->refs);
		goto out;
	}
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		goto out;
	user->uid = uid;
	refcount_set(&user->refs, 1);
	list_add(&user->list, &users);
out:
	mutex_unlock(&users_mutex);
	return user;
}

void pavo_user_put(struct pavo_user *user)
{
	if (!user || !refcount_dec_and_mutex_lock(&user->refs, &users_mutex))
		return;
	list_del(&user->list);
	mutex_unlock(&users_mutex);
	WARN_ON(atomic_read(&user->waiting));
	kfree(user);
}

/* Most bytes of pavo_charge_bytes() of an adapter, and of a user. */
#define MOST_BYTES_OF_ADAPTER (64 << 20)
#define MOST_BYTES_OF_USER (16 << 20)

int pavo_charge_bytes(atomic_t *all, struct pavo_user *user, int bytes)
{
	int sum = atomic_add_return(bytes, all), own = 0;

	if (user)
		own = atomic_add_return(bytes, &user->bytes);
	if (sum <= MOST_BYTES_OF_ADAPTER && own <= MOST_BYTES_OF_USER)
		return 0;
	pavo_uncharge_bytes(all, user, bytes);
	return -EDQUOT;
}

void pavo_uncharge_bytes(atomic_t *all, struct pavo_user *user, int bytes)
{
	atomic_sub(bytes, all);
	if (user)
		atomic_sub(bytes, &user->bytes);
}

int pavo_user_charge_packet(struct pavo_user *user)
{
	int most = READ_ONCE(backlog_per_user);

	if (!user || atomic_inc_return(&user->waiting) <= most)
		return 0;
	atomic_dec(&user->waiting);
	return -EDQUOT;
}

u32 pavo_user_get_packet_space(struct pavo_user *user)
{
	int most = READ_ONCE(backlog_per_user);

	if (!user)
		return U32_MAX;
	return (u32)max(most - atomic_read(&user->waiting), 0);
}
