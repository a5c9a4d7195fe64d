/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * refusal.h - why `rdma link add` was refused; see refusal.c. Called by main.c, and by sysfs
 * through parent.c.
 */
#ifndef PAVO_REFUSAL_H
#define PAVO_REFUSAL_H

#include <linux/types.h>

struct net_device;

/**
 * pavo_refuse - log a reason, and keep it for the network namespace of the calling process.
 * @name: of the adapter that was asked for
 * @ndev: the interface
 * @err:  what the caller of rdma link add is told; negative
 * @why:  the reason, a constant text
 *
 * Return: @err.
 */
int pavo_refuse(const char *name, const struct net_device *ndev, int err,
		const char *why);

/** pavo_refusal_forget - an adapter was added by a process of that namespace: keep no reason. */
void pavo_refusal_forget(void);

/** pavo_refusal_show - write what is kept for the namespace of the reader, for sysfs. */
ssize_t pavo_refusal_show(char *buf);

int pavo_refusal_init(void);
void pavo_refusal_exit(void);

#endif /* PAVO_REFUSAL_H */
