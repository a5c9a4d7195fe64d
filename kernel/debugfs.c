// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * debugfs.c - /sys/kernel/debug/pavo: what this machine shares among its
 * adapters, for people. Called by main.c. What belongs to one adapter is shown by
 * RDMA netlink instead (verbs/restrack.c, stats.c).
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include "debugfs.h"
#include "translate/job.h"

static struct dentry *root;

static int jobs_show(struct seq_file *file, void *data)
{
	return pavo_jobs_show(file, data);
}
DEFINE_SHOW_ATTRIBUTE(jobs);

void pavo_debugfs_init(void)
{
	root = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("jobs", 0400, root, NULL, &jobs_fops);
}

void pavo_debugfs_exit(void)
{
	debugfs_remove_recursive(root);
}
