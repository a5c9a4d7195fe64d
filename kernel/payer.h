/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * payer.h - users of the machine, as far as bounds are kept for each of them.
 */
#ifndef PAVO_PAYER_H
#define PAVO_PAYER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct ib_udata;

/**
 * pavo_payer - the user that the caller's objects count for.
 *
 * In a user namespace that is its owner, however many uids it has; of a namespace that
 * root made, the user that is root in there.
 *
 * Context: process.
 */
kuid_t pavo_payer(void);

/**
 * struct pavo_user - what a user has of the machine that no memory cgroup pays for.
 * @list:    in the list of all users
 * @uid:     pavo_payer()
 * @refs:    one for each queue pair
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
 * @charge: what pavo_charge_end() is to be given; NULL where the kernel makes it
 * @size:   of the object
 * @udata:  of a process that makes it; NULL: the kernel does
 *
 * rdma core allocates protection domains, address handles, memory windows and XRC
 * domains, and its handles of them, and has no one pay. So pavo allocates as much again
 * that is paid for.
 *
 * Return: 0 or -ENOMEM.
 *
 * Context: process where there is @udata, else any.
 */
int pavo_charge(void **charge, size_t size, const struct ib_udata *udata);
/** pavo_charge_end - balances pavo_charge(). Context: any. */
void pavo_charge_end(void *charge);

/** pavo_user_get - the caller's, with a reference; NULL without memory. Sleeps. */
struct pavo_user *pavo_user_get(void);
/** pavo_user_put - balances pavo_user_get(); NULL is allowed. Sleeps. */
void pavo_user_put(struct pavo_user *user);

/**
 * pavo_user_wait - one more packet waits. False: there are as many as a user may have.
 * @user: NULL is the kernel, which may have any number
 *
 * Context: any.
 */
bool pavo_user_wait(struct pavo_user *user);
/** pavo_user_waited - one less. */
static inline void pavo_user_waited(struct pavo_user *user)
{
	if (user)
		atomic_dec(&user->waiting);
}

#endif /* PAVO_PAYER_H */
