// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rcxt_dump.c - /sys/kernel/debug/pavo/rcxts: all rCxts of all adapters (sources.md#windows-rcxt),
 * for root.
 *
 * An adapter has up to 2^20 of them. So the file is read in blocks, and no lock is held from one
 * block to the next: a line is true at its own moment. Each rCxt is copied under its lock, then
 * shown. Free rCxts have no line.
 */
#include <linux/fs.h>
#include <linux/seq_file.h>
#include "debugfs.h"
#include "jobs/job.h"
#include "window/window_private.h"

/* rCxts of a block. Their lines fit a few pages. */
#define BLOCK 64u

/**
 * struct pavo_rcxt_cursor - the place of an open file.
 * @at:    block to be shown next: those of all adapters, one after the other
 * @first: block at which the adapter begins that is looked at
 */
struct pavo_rcxt_cursor {
	u64 at;
	u64 first;
};

/* The pool's rCxts; 0: no window has needed one yet. */
static u32 get_pool_size(const struct pavo_rcxt_pool *pool)
{
	/* Pairs with fill_pool() of rcxt.c. */
	return smp_load_acquire(&pool->all) ? pool->count : 0;
}

/* Blocks of an adapter: the first also has the line of the adapter itself. */
static u64 count_blocks(const struct pavo_rcxt_pool *pool)
{
	return max(DIV_ROUND_UP(get_pool_size(pool), BLOCK), 1u);
}

/* Copies of an rCxt, and of its window as far as they are shown. */
struct pavo_rcxt_copy {
	struct pavo_operation op;
	u32 window;
	u32 job;
};

/* Return: false: the rCxt is free. */
static bool copy_rcxt(struct pavo_rcxt *rcxt, struct pavo_rcxt_copy *copy)
{
	const struct pavo_fifo_window *window;

	if (!READ_ONCE(rcxt->window))
		return false;
	spin_lock_bh(&rcxt->lock);
	window = rcxt->window;
	if (window) {
		copy->op = rcxt->op;
		copy->window = window->id;
		copy->job = pavo_job_id(window->job);
	}
	spin_unlock_bh(&rcxt->lock);
	return window;
}

static const char *get_rcxt_state(const struct pavo_attempt *now)
{
	if (now->sending)
		return "sending";
	if (now->placing)
		return "receiving";
	return now->feeding ? "feeding" : "idle";
}

static void show_rcxt(struct seq_file *file, const struct pavo_dev *dev,
		      const struct pavo_rcxt_copy *copy)
{
	const struct pavo_operation *op = &copy->op;

	seq_printf(file, "%s rcxt %#x window %u job %u %s tid %llu complete %llu",
		   dev->ib.name, op->id, copy->window, copy->job,
		   get_rcxt_state(&op->now), op->now.tid, op->now.complete);
	seq_printf(file, " peer node %u window %u rcxt %#x", op->peer.node,
		   op->peer.window, op->peer.rcxt);
	seq_printf(file, " %s %s flags %#x attempts %u tag %#x cookie %#x",
		   op->own ? "own" : "peer's",
		   op->reading ? "read" : "write", op->flags, op->attempts,
		   op->tag, op->cookie);
	seq_printf(file, " total %u left %u fragment %u from %#llx to %#llx\n",
		   op->total, op->left, op->fragment, op->from, op->to);
}

static void show_block(struct seq_file *file, const struct pavo_dev *dev,
		       struct pavo_rcxt_pool *pool, u32 block)
{
	const u32 size = get_pool_size(pool);
	u32 at = block * BLOCK, end = min(at + BLOCK, size);
	struct pavo_rcxt_copy copy;

	if (!block)
		seq_printf(file, "%s rcxts %u key %#x recoveries %u\n",
			   dev->ib.name, size, READ_ONCE(pool->key),
			   READ_ONCE(pool->recoveries));
	for (; at < end; at++)
		if (copy_rcxt(&pool->all[at], &copy))
			show_rcxt(file, dev, &copy);
}

/* Show the cursor's block if it is one of @dev. */
static void show_adapter_block(struct seq_file *file, struct pavo_dev *dev)
{
	struct pavo_rcxt_cursor *cursor = file->private;
	struct pavo_rcxt_pool *pool;
	u64 blocks;

	if (!dev->windows)
		return;
	pool = &dev->windows->rcxts;
	blocks = count_blocks(pool);
	if (cursor->at >= cursor->first && cursor->at - cursor->first < blocks)
		show_block(file, dev, pool, cursor->at - cursor->first);
	cursor->first += blocks;
}

static void count_adapter_blocks(struct seq_file *file, struct pavo_dev *dev)
{
	struct pavo_rcxt_cursor *cursor = file->private;

	if (dev->windows)
		cursor->first += count_blocks(&dev->windows->rcxts);
}

/* Return: the cursor; NULL: there is no block at @at any more. */
static void *find_rcxt_block(struct seq_file *file, loff_t at)
{
	struct pavo_rcxt_cursor *cursor = file->private;

	cursor->first = 0;
	pavo_show_adapters(file, count_adapter_blocks);
	cursor->at = at;
	return cursor->at < cursor->first ? cursor : NULL;
}

static void *rcxts_start(struct seq_file *file, loff_t *at)
{
	return find_rcxt_block(file, *at);
}

static void *rcxts_next(struct seq_file *file, void *cursor, loff_t *at)
{
	return find_rcxt_block(file, ++*at);
}

static void rcxts_stop(struct seq_file *file, void *cursor)
{
}

static int rcxts_show(struct seq_file *file, void *data)
{
	struct pavo_rcxt_cursor *cursor = data;

	cond_resched();
	cursor->first = 0;
	pavo_show_adapters(file, show_adapter_block);
	return 0;
}

static const struct seq_operations rcxts_ops = {
	.start = rcxts_start,
	.next = rcxts_next,
	.stop = rcxts_stop,
	.show = rcxts_show,
};

static int rcxts_open(struct inode *inode, struct file *file)
{
	return seq_open_private(file, &rcxts_ops,
				sizeof(struct pavo_rcxt_cursor));
}

const struct file_operations pavo_rcxts_fops = {
	.owner = THIS_MODULE,
	.open = rcxts_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};
