/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * accounting.h - users of the machine, and the bounds that are kept for each of them.
 */
#ifndef PAVO_ACCOUNTING_H
#define PAVO_ACCOUNTING_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>

struct ib_udata;

/**
 * pavo_caller_account - the user that the caller's objects count for.
 *
 * In a user namespace that is the namespace's owner, however many uids it has. In a namespace
 * that root made, it is the user that is root in there.
 *
 * Context: process.
 */
kuid_t pavo_caller_account(void);

/**
 * pavo_caller_account_if - the same, or INVALID_UID for an object of the kernel.
 * @process: a process makes the object
 *
 * Context: process, if @process.
 */
static inline kuid_t pavo_caller_account_if(bool process)
{
	return process ? pavo_caller_account() : INVALID_UID;
}

/**
 * struct pavo_shares - how much of a pool each user has.
 * @mutex: all changes
 * @users: uid -> how much the user has, if any
 */
struct pavo_shares {
	struct mutex mutex; /* @users */
	struct xarray users;
};

void pavo_shares_init(struct pavo_shares *shares);
void pavo_shares_destroy(struct pavo_shares *shares);

/**
 * pavo_share_of - how much of a pool a user may have.
 * @all: the size of the pool
 * @own: the pool's own parameter; negative: as all pools, by share_per_user
 */
u32 pavo_share_of(u32 all, int own);

/**
 * pavo_share_take - count one more that a user has.
 * @shares: of the pool
 * @account: the user; INVALID_UID: the kernel, which may have any number
 * @most: how much it may have, unless the caller has CAP_SYS_RESOURCE
 *
 * Context: process, unless @account is INVALID_UID.
 * Return: 0; -EDQUOT: the user has as much as it may; -ENOMEM.
 */
int pavo_share_take(struct pavo_shares *shares, kuid_t account, u32 most);
/** pavo_share_give - count one less. Context: as pavo_share_take(). */
void pavo_share_give(struct pavo_shares *shares, kuid_t account);

/**
 * struct pavo_user - what a user takes of the machine and no memory cgroup pays for.
 * @list:    in the list of all users
 * @uid:     result of pavo_caller_account()
 * @refs:    one for each of its queue pairs
 * @waiting: packets that wait for sides of its queue pairs
 */
struct pavo_user {
	struct list_head list;
	kuid_t uid;
	refcount_t refs;
	atomic_t waiting;
};

/**
 * pavo_charge - have the caller's memory cgroup pay for an object.
 * @charge: set, for pavo_charge_end(); NULL for an object of the kernel
 * @size:   size of the object
 * @udata:  of the process that makes the object; NULL: the kernel makes it
 *
 * rdma core allocates protection domains, address handles, memory windows and XRC
 * domains, and its handles of them, without charging a cgroup. So pavo allocates as much
 * again, charged to the caller's.
 *
 * Return: 0 or -ENOMEM.
 *
 * Context: process where there is @udata, else any.
 */
int pavo_charge(void **charge, size_t size, const struct ib_udata *udata);
/** pavo_charge_end - balances pavo_charge(). Context: any. */
void pavo_charge_end(void *charge);

/** pavo_user_account - the result of pavo_caller_account(); INVALID_UID for NULL, the kernel. */
static inline kuid_t pavo_user_account(const struct pavo_user *user)
{
	return user ? user->uid : INVALID_UID;
}

/** pavo_user_get - the user of the caller, with a reference; NULL without memory. Sleeps. */
struct pavo_user *pavo_user_get(void);
/** pavo_user_put - balances pavo_user_get(); NULL is allowed. Sleeps. */
void pavo_user_put(struct pavo_user *user);

/**
 * pavo_user_wait - count one more packet that waits. False: the user has as many as it may.
 * @user: NULL is the kernel, which may have any number
 *
 * Context: any.
 */
bool pavo_user_wait(struct pavo_user *user);
/**
 * pavo_user_defer - count one more packet that waits, whatever the bound: a side has begun to
 * handle it, and has no second one.
 * @user: NULL is the kernel
 */
static inline void pavo_user_defer(struct pavo_user *user)
{
	if (user)
		atomic_inc(&user->waiting);
}

/** pavo_user_waited - count one packet less. */
static inline void pavo_user_waited(struct pavo_user *user)
{
	if (user)
		atomic_dec(&user->waiting);
}

#endif /* PAVO_ACCOUNTING_H */
