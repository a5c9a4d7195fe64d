// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * parent.c - the parent device of an adapter in sysfs.
 *
 * Programs (librdmacm's tests, ibdev2netdev, container plug-ins) look for the interface of an
 * adapter in /sys/class/infiniband/ADAPTER/device/net. The parent device of the interface itself
 * does not help: a veth has none, and that of a bond does not lead to the interface with the
 * addresses. So every adapter has a device of its own in /sys/devices/virtual/pavo, with a folder
 * "net" that has a link to the interface.
 *
 * Owns the class of these devices, whose file "refusal" is implemented by refusal.c. Called by
 * main.c.
 */
#include <linux/idr.h>
#include <linux/netdevice.h>
#include <linux/sysfs.h>
#include "compat.h"
#include "parent.h"
#include "refusal.h"

/* A file of the class exists without adapters, and shows the namespace of its reader. */
static ssize_t refusal_show(pavo_class_arg *class,
			    pavo_class_attribute_arg *attr, char *buf)
{
	return pavo_refusal_show(buf);
}

static CLASS_ATTR_RO(refusal);

static struct attribute *class_attrs[] = {
	&class_attr_refusal.attr,
	NULL,
};

ATTRIBUTE_GROUPS(class);

static struct class pavo_class = {
	.name = "pavo",
	.class_groups = class_groups,
};

static DEFINE_IDA(pavo_parents);

/*
 * A link in "net" belongs to the interface's namespace: in others the folder is empty.
 */
static const struct kobj_ns_type_operations *
get_net_ns_type(pavo_kobject_arg *kobj)
{
	return &net_ns_type_operations;
}

static void release_net(struct kobject *kobj)
{
	complete(&container_of(kobj, struct pavo_parent, net)->net_gone);
}

static const struct kobj_type pavo_net_type = {
	.release = release_net,
	.sysfs_ops = &kobj_sysfs_ops,
	.child_ns_type = get_net_ns_type,
};

int pavo_parent_create(struct pavo_parent *parent)
{
	struct device *dev;
	int id;

	id = ida_alloc(&pavo_parents, GFP_KERNEL);
	if (id < 0)
		return id;
	dev = device_create(&pavo_class, NULL, MKDEV(0, 0), NULL, "pavo%d", id);
	if (IS_ERR(dev)) {
		ida_free(&pavo_parents, id);
		return PTR_ERR(dev);
	}
	parent->dev = dev;
	parent->id = id;
	return 0;
}

void pavo_parent_destroy(struct pavo_parent *parent)
{
	if (!parent->dev)
		return;
	pavo_parent_unlink(parent);
	device_unregister(parent->dev);
	ida_free(&pavo_parents, parent->id);
	parent->dev = NULL;
}

int pavo_parent_link(struct pavo_parent *parent, struct net_device *ndev)
{
	int err;

	pavo_parent_unlink(parent);
	memset(&parent->net, 0, sizeof(parent->net));
	init_completion(&parent->net_gone);
	parent->linked = true;
	err = kobject_init_and_add(&parent->net, &pavo_net_type,
				   &parent->dev->kobj, "net");
	if (!err)
		err = sysfs_create_link(&parent->net, &ndev->dev.kobj,
					ndev->name);
	if (err)
		pavo_parent_unlink(parent);
	return err;
}

void pavo_parent_unlink(struct pavo_parent *parent)
{
	if (!parent->linked)
		return;
	parent->linked = false;
	/* removes the link, too */
	kobject_del(&parent->net);
	kobject_put(&parent->net);
	/* a later link reuses the memory, and release_net() is code of this module */
	wait_for_completion(&parent->net_gone);
}

int pavo_parent_init(void)
{
	return class_register(&pavo_class);
}

void pavo_parent_exit(void)
{
	class_unregister(&pavo_class);
	ida_destroy(&pavo_parents);
}
