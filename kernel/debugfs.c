// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * debugfs.c - /sys/kernel/debug/pavo: GSO counts and budgets of the whole machine, keys, remote-key
 * slots and DRR state of each adapter, and files of the parts of the module.
 *
 * Called by main.c. RDMA netlink shows other details of an adapter (verbs/restrack.c, hw_stats.c).
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include "budget.h"
#include "debugfs.h"
#include "memory/memory.h"
#include "net/net.h"
#include "parts.h"
#include "verbs/verbs.h"

static struct dentry *root;

static const struct pavo_debugfs_file files[] = {
	{ .name = "slots", .show = pavo_rkm_show },
	{ .name = "keys", .show = pavo_keys_show },
	{ .name = "gso", .all = true, .show_machine = pavo_net_show },
	{ .name = "budgets", .all = true, .show_machine = pavo_budgets_show },
	{ .name = "drr", .show = pavo_policy_show },
	{},
};

static int file_show(struct seq_file *file, void *data)
{
	const struct pavo_debugfs_file *of = file->private;

	if (of->show_machine)
		of->show_machine(file);
	else
		pavo_show_adapters(file, of->show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(file);

static void create_files(const struct pavo_debugfs_file *of)
{
	for (; of && of->name; of++)
		debugfs_create_file(of->name, of->all ? 0444 : 0400, root,
				    (void *)of,
				    of->fops ? of->fops : &file_fops);
}

void pavo_debugfs_init(void)
{
	const struct pavo_part *const *part;

	root = debugfs_create_dir(KBUILD_MODNAME, NULL);
	create_files(files);
	for (part = pavo_parts; *part; part++)
		create_files((*part)->files);
}

void pavo_debugfs_exit(void)
{
	debugfs_remove_recursive(root);
}
