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

static int adapter_file_show(struct seq_file *file, void *data)
{
	const struct pavo_debugfs_file *of = file->private;

	if (of->show_machine)
		of->show_machine(file);
	else
		pavo_show_adapters(file, of->show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(adapter_file);

/* -------------------------------------------------- files of many blocks */

/**
 * struct pavo_block_cursor - the place of an open file.
 * @of:    the file
 * @at:    block to be shown: those of all adapters, one after the other
 * @first: block at which the adapter begins that is looked at
 */
struct pavo_block_cursor {
	const struct pavo_debugfs_file *of;
	u64 at;
	u64 first;
};

static void count_adapter_blocks(struct seq_file *file, struct pavo_dev *dev)
{
	struct pavo_block_cursor *cursor = file->private;

	cursor->first += cursor->of->count_blocks(dev);
}

/* Show the cursor's block if it is one of @dev. */
static void show_adapter_block(struct seq_file *file, struct pavo_dev *dev)
{
	struct pavo_block_cursor *cursor = file->private;
	u64 blocks = cursor->of->count_blocks(dev);

	if (cursor->at >= cursor->first && cursor->at - cursor->first < blocks)
		cursor->of->show_block(file, dev, cursor->at - cursor->first);
	cursor->first += blocks;
}

/* Return: the cursor; NULL: there is no block at @at. */
static void *find_block(struct seq_file *file, loff_t at)
{
	struct pavo_block_cursor *cursor = file->private;

	cursor->first = 0;
	pavo_show_adapters(file, count_adapter_blocks);
	cursor->at = at;
	return cursor->at < cursor->first ? cursor : NULL;
}

static void *blocks_start(struct seq_file *file, loff_t *at)
{
	return find_block(file, *at);
}

static void *blocks_next(struct seq_file *file, void *cursor, loff_t *at)
{
	return find_block(file, ++*at);
}

static void blocks_stop(struct seq_file *file, void *cursor)
{
}

static int blocks_show(struct seq_file *file, void *data)
{
	struct pavo_block_cursor *cursor = data;

	cond_resched();
	cursor->first = 0;
	pavo_show_adapters(file, show_adapter_block);
	return 0;
}

static const struct seq_operations blocks_ops = {
	.start = blocks_start,
	.next = blocks_next,
	.stop = blocks_stop,
	.show = blocks_show,
};

static int open_blocks(struct inode *inode, struct file *file)
{
	struct pavo_block_cursor *cursor;

	cursor = __seq_open_private(file, &blocks_ops, sizeof(*cursor));
	if (!cursor)
		return -ENOMEM;
	cursor->of = inode->i_private;
	return 0;
}

static const struct file_operations blocks_fops = {
	.owner = THIS_MODULE,
	.open = open_blocks,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

/* ---------------------------------------------------------------- creation */

static void create_files(const struct pavo_debugfs_file *of)
{
	const struct file_operations *fops;

	for (; of && of->name; of++) {
		fops = of->count_blocks ? &blocks_fops : &adapter_file_fops;
		debugfs_create_file(of->name, of->all ? 0444 : 0400, root,
				    (void *)of, fops);
	}
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
