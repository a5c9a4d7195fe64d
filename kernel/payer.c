// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * payer.c - users, their bounds and charges; see payer.h. Called by verbs/ when queue pairs
 * come and go and for objects that rdma core allocates, by the sides for each packet that has
 * to wait, and by translate/ for memory windows and jobs.
 */
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "payer.h"

static unsigned int backlog_per_user = 16384;
module_param(backlog_per_user, uint, 0644);
MODULE_PARM_DESC(backlog_per_user,
		 "packets that may wait for busy queue pairs of one user");

static LIST_HEAD(users);
static DEFINE_MUTEX(users_mutex); /* the list */

kuid_t pavo_payer(void)
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

/* Bytes that rdma core's handle of an object takes. */
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

static struct pavo_user *known_user(kuid_t uid)
{
	struct pavo_user *user;

	list_for_each_entry(user, &users, list)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

struct pavo_user *pavo_user_get(void)
{
	kuid_t uid = pavo_payer();
	struct pavo_user *user;

	mutex_lock(&users_mutex);
	user = known_user(uid);
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

bool pavo_user_wait(struct pavo_user *user)
{
	int most = min_t(unsigned int, READ_ONCE(backlog_per_user), INT_MAX);

	if (!user || atomic_inc_return(&user->waiting) <= most)
		return true;
	atomic_dec(&user->waiting);
	return false;
}
