// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dump.c - the translation and protection table in debugfs: the present meaning of each key of
 * an adapter. Called by debugfs.c; only root can read the file, since it shows keys.
 */
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include "memory/claim.h"
#include "memory/memory.h"
#include "memory/memory_private.h"
#include "memory/key_state.h"

/* Most lines of an adapter: seq_file keeps all of its output in memory. */
#define LINES 65536

static const char *get_region_kind(const struct pavo_region *region)
{
	if (region->mw)
		return region->mw->ib.type == IB_MW_TYPE_1 ? "window-1" :
							     "window-2";
	if (region->mr->fast)
		return "fast";
	if (region->claims)
		return region->claims->kind;
	if (region->mr->memory.dmabuf)
		return "dma-buf";
	if (region->odp)
		return "on-demand";
	return region->pages ? "pinned" : "dma";
}

static void show_rights(struct seq_file *file, int access)
{
	static const struct {
		int bit;
		char name;
	} rights[] = {
		{ IB_ACCESS_LOCAL_WRITE, 'l' },
		{ IB_ACCESS_REMOTE_WRITE, 'w' },
		{ IB_ACCESS_REMOTE_READ, 'r' },
		{ IB_ACCESS_REMOTE_ATOMIC, 'a' },
		{ IB_ACCESS_MW_BIND, 'b' },
	};
	unsigned int i;

	seq_puts(file, " rights ");
	for (i = 0; i < ARRAY_SIZE(rights); i++)
		seq_putc(file, access & rights[i].bit ? rights[i].name : '-');
}

/* Print the line of a key. The keys are locked, so the objects that a region points to exist. */
static void show_region(struct seq_file *file, const struct pavo_dev *dev,
			const struct pavo_region *region)
{
	seq_printf(file, "%s key %08x pd %u %s %s", dev->ib.name, region->key,
		   region->pd->ib.res.id, get_region_kind(region),
		   region->valid ? "valid" : "free");
	if (region->valid) {
		seq_printf(file, " at %llx length %llx", region->iova,
			   region->length);
		show_rights(file, region->access);
	}
	if (region->mw && region->mr)
		seq_printf(file, " of %08x", region->mr->region->key);
	if (region->key_state)
		seq_printf(file, " qp %u", region->key_state->number);
	if (!region->mw && region->mr->windows)
		seq_printf(file, " windows %u", region->mr->windows);
	seq_putc(file, '\n');
}

/* Show the region of a key, unless it has gone. */
static void show_key(struct seq_file *file, struct pavo_dev *dev, u32 key)
{
	const struct pavo_region *region;

	spin_lock_bh(&dev->keys.lock);
	region = pavo_key_find(&dev->keys, key);
	if (region)
		show_region(file, dev, region);
	spin_unlock_bh(&dev->keys.lock);
}

void pavo_keys_show(struct seq_file *file, struct pavo_dev *dev)
{
	struct rhashtable *hash = &dev->keys.hash;
	const struct pavo_region *region;
	struct rhashtable_iter walk;
	unsigned int lines = 0, all;

	rhashtable_walk_enter(hash, &walk);
	rhashtable_walk_start(&walk);
	while (lines < LINES && (region = rhashtable_walk_next(&walk))) {
		/* The table was resized: some keys come once more. */
		if (IS_ERR(region))
			continue;
		show_key(file, dev, READ_ONCE(region->key));
		lines++;
		rhashtable_walk_stop(&walk);
		cond_resched();
		rhashtable_walk_start(&walk);
	}
	rhashtable_walk_stop(&walk);
	rhashtable_walk_exit(&walk);
	all = atomic_read(&hash->nelems);
	if (lines == LINES && all > lines)
		seq_printf(file, "%s and %u more\n", dev->ib.name, all - lines);
}
