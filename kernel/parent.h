/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * parent.h - the device above an adapter in sysfs; see parent.c. Called by
 * main.c only.
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
 * @id:  the number in its name
 * @net: its folder "net", with one link
 * @linked: @net is there
 * @net_gone: the last user of @net has left
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

/** pavo_parent_create - make @parent's device, without an interface yet. */
int pavo_parent_create(struct pavo_parent *parent);

/** pavo_parent_destroy - remove @parent's device, if it was made. */
void pavo_parent_destroy(struct pavo_parent *parent);

/**
 * pavo_parent_link - let net/NAME lead to an interface, by its present name.
 * @parent: the parent
 * @ndev:   the interface
 *
 * Context: may sleep; the caller makes sure that @ndev is registered (RTNL), and that one
 * call changes a parent at a time.
 */
int pavo_parent_link(struct pavo_parent *parent, struct net_device *ndev);

/** pavo_parent_unlink - remove net/, if it is there. May sleep. */
void pavo_parent_unlink(struct pavo_parent *parent);

#endif /* PAVO_PARENT_H */
