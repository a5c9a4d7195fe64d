// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * debugfs.c - /sys/kernel/debug/pavo: jobs, GSO counts and budgets of the whole machine, and keys,
 * remote-key slots, DRR state, windows and direct windows of each adapter.
 *
 * Called by main.c. RDMA netlink shows other details of an adapter (verbs/restrack.c, hw_stats.c).
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include "budget.h"
#include "debugfs.h"
#include "direct/direct.h"
#include "jobs/job.h"
#include "memory/memory.h"
#include "net/net.h"
#include "verbs/verbs.h"
#include "window/window.h"

static struct dentry *root;

static int jobs_show(struct seq_file *file, void *data)
{
	return pavo_jobs_show(file, data);
}
DEFINE_SHOW_ATTRIBUTE(jobs);

static int slots_show(struct seq_file *file, void *data)
{
	pavo_show_adapters(file, pavo_rkm_show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(slots);

static int keys_show(struct seq_file *file, void *data)
{
	pavo_show_adapters(file, pavo_keys_show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(keys);

static int windows_show(struct seq_file *file, void *data)
{
	pavo_show_adapters(file, pavo_window_show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(windows);

static int direct_show(struct seq_file *file, void *data)
{
	pavo_show_adapters(file, pavo_direct_show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(direct);

static int live_show(struct seq_file *file, void *data)
{
	pavo_show_adapters(file, pavo_window_live_show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(live);

static int gso_show(struct seq_file *file, void *data)
{
	pavo_net_show(file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(gso);

static int budgets_show(struct seq_file *file, void *data)
{
	pavo_budgets_show(file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(budgets);

static int drr_show(struct seq_file *file, void *data)
{
	pavo_show_adapters(file, pavo_policy_show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(drr);

void pavo_debugfs_init(void)
{
	root = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("jobs", 0400, root, NULL, &jobs_fops);
	debugfs_create_file("slots", 0400, root, NULL, &slots_fops);
	debugfs_create_file("keys", 0400, root, NULL, &keys_fops);
	debugfs_create_file("windows", 0400, root, NULL, &windows_fops);
	debugfs_create_file("gso", 0444, root, NULL, &gso_fops);
	debugfs_create_file("budgets", 0444, root, NULL, &budgets_fops);
	debugfs_create_file("drr", 0400, root, NULL, &drr_fops);
	debugfs_create_file("direct", 0400, root, NULL, &direct_fops);
	debugfs_create_file("live", 0400, root, NULL, &live_fops);
}

void pavo_debugfs_exit(void)
{
	debugfs_remove_recursive(root);
}
