// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * window_part.c - windows as a part of the module: what an adapter has of them, and its attribute
 * `recover`. Called by parts.c and sysfs. Owns the table of windows.
 */
#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include "id_alloc.h"
#include "parameter.h"
#include "window/window_private.h"

static unsigned int max_windows = 16384;
pavo_range_param(max_windows, max_windows, 1, PAVO_WINDOW_GROUP - 1, 0444);
MODULE_PARM_DESC(max_windows, "windows of an adapter, up to 2^23 - 1 (16384)");

static int add_windows(struct pavo_dev *dev)
{
	struct pavo_windows *windows = kzalloc(sizeof(*windows), GFP_KERNEL);

	if (!windows)
		return -ENOMEM;
	windows->dev = dev;
	dev->windows = windows;
	INIT_DELAYED_WORK(&windows->manager, pavo_window_manager);
	mutex_init(&windows->handlers_mutex);
	INIT_LIST_HEAD(&windows->handler_groups);
	pavo_shares_init(&windows->shares);
	pavo_rcxts_init(&windows->rcxts);
	pavo_groups_init(&windows->groups);
	windows->most = max_windows + 1;
	xa_init_flags(&windows->table, XA_FLAGS_ALLOC1);
	windows->active = bitmap_zalloc(windows->most, GFP_KERNEL);
	windows->tasks = alloc_percpu(struct pavo_window_tasks);
	if (!windows->active || !windows->tasks)
		return -ENOMEM;
	return 0;
}

/* End the manager, and wait until closed windows are freed. */
static void stop_windows(struct pavo_dev *dev)
{
	if (dev->windows)
		cancel_delayed_work_sync(&dev->windows->manager);
	pavo_deferred_free_flush();
	/* rdma core's workqueue frees the GIDs that routes have released. */
	flush_workqueue(ib_wq);
}

static void remove_windows(struct pavo_dev *dev)
{
	struct pavo_windows *windows = dev->windows;

	if (!windows)
		return;
	pavo_ids_destroy(&windows->table);
	pavo_shares_destroy(&windows->shares);
	pavo_rcxts_destroy(&windows->rcxts);
	pavo_groups_destroy(&windows->groups);
	mutex_destroy(&windows->handlers_mutex);
	free_percpu(windows->tasks);
	bitmap_free(windows->active);
	kfree(windows);
	dev->windows = NULL;
}

/*
 * The event for users of rdma core. It says that what a client was given by the subnet has to be
 * requested anew, as rCxts have, and ends nothing: queue pairs go on, so DEVICE_FATAL would be
 * wrong.
 */
static void dispatch_recovery(struct pavo_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = PAVO_PORT,
		.event = IB_EVENT_CLIENT_REREGISTER,
	};

	ib_dispatch_event(&event);
}

/*
 * Recover the windows of an adapter. The check is needed since the file belongs to root of the
 * namespace that shows it, but the adapter to the namespace of its interface.
 */
static ssize_t recover_store(struct device *device,
			     struct device_attribute *attr, const char *buf,
			     size_t count)
{
	struct pavo_dev *dev = pavo_dev_of_sysfs(device);
	bool now;
	int err;

	if (!pavo_port_admin(&dev->port))
		return -EPERM;
	err = kstrtobool(buf, &now);
	if (err)
		return err;
	if (!now)
		return -EINVAL;
	pavo_rcxts_recover(&dev->windows->rcxts);
	pavo_windows_notify_recovery(dev->windows);
	dispatch_recovery(dev);
	return count;
}

static ssize_t recover_show(struct device *device,
			    struct device_attribute *attr, char *buf)
{
	struct pavo_dev *dev = pavo_dev_of_sysfs(device);

	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(dev->windows->rcxts.recoveries));
}

DEVICE_ATTR_RW(recover);

static const struct pavo_debugfs_file files[] = {
	{ .name = "windows", .show = pavo_windows_show },
	{ .name = "rcxts",
	  .count_blocks = pavo_rcxts_count_blocks,
	  .show_block = pavo_rcxts_show_block },
	{ .name = "live", .show = pavo_window_live_show },
	{},
};

const struct pavo_part pavo_window_part = {
	.add = add_windows,
	.stop = stop_windows,
	.remove = remove_windows,
	.receive = pavo_window_receive,
	.receive_group = pavo_group_receive,
	.files = files,
};
