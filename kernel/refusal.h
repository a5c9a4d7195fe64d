/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * refusal.h - the reason why `rdma link add` failed; see refusal.c. Called by main.c, and by sysfs
 * through parent.c.
 */
#ifndef PAVO_REFUSAL_H
#define PAVO_REFUSAL_H

#include <linux/types.h>

struct net_device;

/**
 * pavo_refuse - log the reason of a failure, and store it for the network namespace of the caller.
 * @name: name of the adapter that was requested
 * @ndev: the interface
 * @err:  the errno that rdma link add gets; negative
 * @why:  the reason, a constant text
 *
 * Return: @err.
 */
int pavo_refuse(const char *name, const struct net_device *ndev, int err,
		const char *why);

/** pavo_refusal_forget - clear the reason of the caller's namespace, after it added an adapter. */
void pavo_refusal_forget(void);

/** pavo_refusal_show - print the reason of the reader's namespace to a buffer of sysfs. */
ssize_t pavo_refusal_show(char *buf);

int pavo_refusal_init(void);
void pavo_refusal_exit(void);

#endif /* PAVO_REFUSAL_H */
