/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * accounting.h - accounts of users, and their limits.
 */
#ifndef PAVO_ACCOUNTING_H
#define PAVO_ACCOUNTING_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>

struct ib_udata;

/**
 * pavo_caller_account - return the uid to which objects of the caller are charged.
 *
 * In a user namespace that is the owner of the namespace, however many uids it maps. In a user
 * namespace that root has made, it is the uid of that namespace's root.
 *
 * Context: process.
 */
kuid_t pavo_caller_account(void);

/**
 * pavo_task_account - return the account of the process that the kernel makes an object for.
 *
 * ib_cm makes address handles while a process connects, and under locks of its own.
 *
 * Context: any.
 * Return: as pavo_caller_account(); INVALID_UID in an interrupt or a thread of the kernel.
 */
kuid_t pavo_task_account(void);

/**
 * pavo_caller_get_account_if - as pavo_caller_account(); INVALID_UID for an object of the kernel.
 * @process: a process makes the object
 *
 * Context: process, if @process.
 */
static inline kuid_t pavo_caller_get_account_if(bool process)
{
	return process ? pavo_caller_account() : INVALID_UID;
}

/**
 * struct pavo_shares - objects of a pool by user.
 * @users: uid -> number of objects; no entry: none. Its lock is held for changes.
 */
struct pavo_shares {
	struct xarray users;
};

void pavo_shares_init(struct pavo_shares *shares);
void pavo_shares_destroy(struct pavo_shares *shares);

/**
 * pavo_share_of - return how many objects of a pool one user may have.
 * @all: size of the pool
 * @own: limit of this pool; negative: parameter share_per_user, percent of @all, at least 1
 */
u32 pavo_share_of(u32 all, int own);

/**
 * pavo_share_take - charge one object to a user.
 * @shares: of the pool
 * @account: the user; INVALID_UID: the kernel, which has no limit
 * @most: most objects of the user, unless the caller has CAP_SYS_RESOURCE
 *
 * Context: any but a hard interrupt.
 * Return: 0; -EDQUOT: the user has @most objects; -ENOMEM.
 */
int pavo_share_take(struct pavo_shares *shares, kuid_t account, u32 most);
/** pavo_share_give - uncharge one object. Context: as pavo_share_take(). */
void pavo_share_give(struct pavo_shares *shares, kuid_t account);

/**
 * struct pavo_user - account of a user for packets, and for other memory that softirqs allocate:
 * no memory cgroup is charged for these.
 * @list:    in the list of all users
 * @uid:     result of pavo_caller_account()
 * @refs:    one for each of its queue pairs and direct windows
 * @waiting: packets on backlogs of its queue pairs
 * @bytes:   memory of pavo_charge_bytes()
 * @ios:     I/Os of direct windows in flight, or that wait for their payload
 */
struct pavo_user {
	struct list_head list;
	kuid_t uid;
	refcount_t refs;
	atomic_t waiting;
	atomic_t bytes;
	atomic_t ios;
};

/**
 * pavo_charge - charge an object to the caller's memory cgroup.
 * @charge: set, for pavo_charge_end(); NULL for an object of the kernel
 * @size:   size of the object, bytes
 * @udata:  of the process that makes the object; NULL: the kernel makes it
 *
 * rdma core allocates protection domains, address handles, memory windows, XRC domains and
 * completion counters, and its handles of them, without charging a cgroup. So pavo allocates the
 * same size once more, with a charge.
 *
 * Context: process where there is @udata, else any.
 * Return: 0 or -ENOMEM.
 */
int pavo_charge(void **charge, size_t size, const struct ib_udata *udata);
/** pavo_charge_end - end a charge of pavo_charge(). Context: any. */
void pavo_charge_end(void *charge);

/** pavo_user_get_uid - return the uid of @user; INVALID_UID for NULL, the kernel. */
static inline kuid_t pavo_user_get_uid(const struct pavo_user *user)
{
	return user ? user->uid : INVALID_UID;
}

/** pavo_user_get - get the account of the caller, with a reference; NULL: no memory. Sleeps. */
struct pavo_user *pavo_user_get(void);
/** pavo_user_put - drop a reference of pavo_user_get(); NULL is allowed. Sleeps. */
void pavo_user_put(struct pavo_user *user);

/**
 * pavo_charge_bytes - charge memory that a softirq allocates for a queue pair.
 * @all:   what is charged for all queue pairs of the adapter
 * @user:  NULL: the kernel, which has no limit of its own
 * @bytes: how many
 *
 * Context: any.
 * Return: 0; -EDQUOT: the user would have more than 16 MiB, or the adapter more than 64 MiB.
 */
int pavo_charge_bytes(atomic_t *all, struct pavo_user *user, int bytes);
/** pavo_uncharge_bytes - uncharge memory of pavo_charge_bytes(). */
void pavo_uncharge_bytes(atomic_t *all, struct pavo_user *user, int bytes);

/**
 * pavo_user_charge_packet - charge a packet that waits on a backlog.
 * @user: NULL: the kernel, which has no limit
 *
 * Context: any.
 * Return: 0; -EDQUOT: the user has backlog_per_user packets already.
 */
int pavo_user_charge_packet(struct pavo_user *user);
/**
 * pavo_user_force_charge_packet - as pavo_user_charge_packet(), without a limit: for the packet
 * that a side has begun to handle. A side has one of them at most.
 * @user: NULL: the kernel
 */
static inline void pavo_user_force_charge_packet(struct pavo_user *user)
{
	if (user)
		atomic_inc(&user->waiting);
}

/** pavo_user_get_packet_space - packets that may wait for the user besides those that do. */
u32 pavo_user_get_packet_space(struct pavo_user *user);
/** pavo_user_uncharge_packet - uncharge a packet that waits no more. */
static inline void pavo_user_uncharge_packet(struct pavo_user *user)
{
	if (user)
		atomic_dec(&user->waiting);
}

#endif /* PAVO_ACCOUNTING_H */
