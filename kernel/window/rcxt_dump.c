// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rcxt_dump.c - /sys/kernel/debug/pavo/rcxts: all rCxts of all adapters (sources.md#windows-rcxt),
 * and all memory that is bound to rCxts of groups, for root.
 *
 * An adapter has up to 2^20 of them. So debugfs.c reads the file in blocks, and holds no lock from
 * one block to the next: a line is true at its own moment. Each rCxt is copied under its lock, then
 * shown. Free rCxts have no line. Behind the blocks of the pool is one for each bucket of groups.
 */
#include <linux/seq_file.h>
#include "jobs/job.h"
#include "window/window_private.h"

/* rCxts of a block. Their lines fit a few pages. */
#define BLOCK 64u

/* The pool's rCxts; 0: no window has needed one yet. */
static u32 get_pool_size(const struct pavo_rcxt_pool *pool)
{
	/* Pairs with fill_pool() of rcxt.c. */
	return smp_load_acquire(&pool->all) ? pool->count : 0;
}

/**
 * struct pavo_rcxt_copy - what is shown of an rCxt.
 * @op:     its operation
 * @window: id of the window that has it
 * @job:    JOBID of that window
 */
struct pavo_rcxt_copy {
	struct pavo_operation op;
	u32 window;
	u32 job;
};

/* Return: 0; -ENOENT: the rCxt is free. */
static int copy_rcxt(struct pavo_rcxt *rcxt, struct pavo_rcxt_copy *copy)
{
	const struct pavo_fifo_window *window;

	if (!READ_ONCE(rcxt->window))
		return -ENOENT;
	spin_lock_bh(&rcxt->lock);
	window = rcxt->window;
	if (window) {
		copy->op = rcxt->op;
		copy->window = window->id;
		copy->job = pavo_job_id(window->job);
	}
	spin_unlock_bh(&rcxt->lock);
	return window ? 0 : -ENOENT;
}

static const char *get_rcxt_state(const struct pavo_attempt *now)
{
	if (now->sending)
		return "sending";
	if (now->placing)
		return "receiving";
	return now->feeding ? "feeding" : "idle";
}

/* Show the fields that not every operation has: a third end, memory bound for a group, counters. */
static void show_rcxt_extras(struct seq_file *file,
			     const struct pavo_operation *op)
{
	static const char *const roles[] = {
		[PAVO_THIRD_CONTROLLER] = "controller",
		[PAVO_THIRD_SOURCE] = "source",
		[PAVO_THIRD_TARGET] = "target",
	};

	if (op->role)
		seq_printf(file, " %s third node %u window %u rcxt %#x",
			   roles[op->role], op->third.node, op->third.window,
			   op->third.rcxt);
	if (op->group)
		seq_printf(file, " group %#x base %#llx length %llu", op->group,
			   op->base, op->bound_length);
	if (op->bound)
		seq_printf(file, " bound %u", op->bound - 1);
	if (op->counter)
		seq_printf(file, " counter %u", op->counter - 1);
}

static void show_rcxt(struct seq_file *file, const struct pavo_dev *dev,
		      const struct pavo_rcxt_copy *copy)
{
	const struct pavo_operation *op = &copy->op;

	seq_printf(file, "%s %s %#x window %u job %u %s tid %llu complete %llu",
		   dev->ib.name, op->group ? "binding" : "rcxt", op->id,
		   copy->window, copy->job, get_rcxt_state(&op->now),
		   op->now.tid, op->now.complete);
	seq_printf(file, " peer node %u window %u rcxt %#x", op->peer.node,
		   op->peer.window, op->peer.rcxt);
	seq_printf(file, " %s %s flags %#x attempts %u tag %#x cookie %#x",
		   op->own ? "own" : "peer's", op->reading ? "read" : "write",
		   op->flags, op->attempts, op->tag, op->cookie);
	show_rcxt_extras(file, op);
	seq_printf(file, " total %u left %u fragment %u from %#llx to %#llx\n",
		   op->total, op->left, op->fragment, op->from, op->to);
}

/* The first block also has the line of the adapter itself. */
static u64 count_pool_blocks(struct pavo_rcxt_pool *pool)
{
	return max(DIV_ROUND_UP(get_pool_size(pool), BLOCK), 1u);
}

u64 pavo_rcxts_count_blocks(const struct pavo_dev *dev)
{
	if (!dev->windows)
		return 0;
	return count_pool_blocks(&dev->windows->rcxts) +
	       ARRAY_SIZE(dev->windows->groups.buckets);
}

/**
 * struct rcxt_dump - what bindings are shown by.
 * @file: the file
 * @dev:  the adapter
 */
struct rcxt_dump {
	struct seq_file *file;
	const struct pavo_dev *dev;
};

static void show_binding(void *context, struct pavo_rcxt *rcxt)
{
	const struct rcxt_dump *dump = context;
	struct pavo_rcxt_copy copy;

	if (!copy_rcxt(rcxt, &copy))
		show_rcxt(dump->file, dump->dev, &copy);
}

void pavo_rcxts_show_block(struct seq_file *file, struct pavo_dev *dev,
			   u64 block)
{
	struct pavo_rcxt_pool *pool = &dev->windows->rcxts;
	const u32 size = get_pool_size(pool);
	const u64 pool_blocks = count_pool_blocks(pool);
	u32 at = block * BLOCK, end = min(at + BLOCK, size);
	struct rcxt_dump dump = { .file = file, .dev = dev };
	struct pavo_rcxt_copy copy;

	if (block >= pool_blocks) {
		/* The pool may have been made since the blocks were counted. */
		at = min_t(u64, block - pool_blocks,
			   ARRAY_SIZE(dev->windows->groups.buckets) - 1);
		pavo_group_each_binding(&dev->windows->groups, at, show_binding,
					&dump);
		return;
	}
	if (!block)
		seq_printf(file, "%s rcxts %u key %#x recoveries %u\n",
			   dev->ib.name, size, READ_ONCE(pool->key),
			   READ_ONCE(pool->recoveries));
	for (; at < end; at++)
		if (!copy_rcxt(&pool->all[at], &copy))
			show_rcxt(file, dev, &copy);
}
