/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * parent.h - the parent device of an adapter in sysfs; see parent.c.
 */
#ifndef PAVO_PARENT_H
#define PAVO_PARENT_H

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/kobject.h>

struct net_device;

/**
 * struct pavo_parent - the device that /sys/class/infiniband/ADAPTER/device leads to.
 * @dev: the device; NULL: none
 * @id:  id in its name
 * @net: its folder "net", with one link
 * @linked: @net exists
 * @net_gone: completed when the last reference to @net is dropped
 */
struct pavo_parent {
	struct device *dev;
	int id;
	struct kobject net;
	bool linked;
	struct completion net_gone;
};

int pavo_parent_init(void);
void pavo_parent_exit(void);

/** pavo_parent_create - create the device, without a link to an interface. 0 or an errno. */
int pavo_parent_create(struct pavo_parent *parent);

/** pavo_parent_destroy - remove the device, if it exists. */
void pavo_parent_destroy(struct pavo_parent *parent);

/**
 * pavo_parent_link - create, or replace, the link net/NAME to an interface.
 * @parent: the parent
 * @ndev:   the interface
 *
 * Context: may sleep; the caller holds RTNL, so that @ndev stays registered, and serializes calls
 * for a parent.
 * Return: 0 or a negative errno of sysfs.
 */
int pavo_parent_link(struct pavo_parent *parent, struct net_device *ndev);

/** pavo_parent_unlink - remove the folder "net", if it exists. May sleep. */
void pavo_parent_unlink(struct pavo_parent *parent);

#endif /* PAVO_PARENT_H */
