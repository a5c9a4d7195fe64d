// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dump.c - the translation and protection table in debugfs: the present meaning of each key of
 * an adapter. Called by debugfs.c; only root can read the file, since it shows keys.
 */
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

void pavo_keys_show(struct seq_file *file, struct pavo_dev *dev)
{
	struct xarray *xa = &dev->keys.xa;
	unsigned int lines = 0, more = 0;
	struct pavo_region *region;
	unsigned long index = 0;

	for (;; index++) {
		xa_lock_bh(xa);
		region = xa_find(xa, &index, ULONG_MAX, XA_PRESENT);
		if (region && lines < LINES)
			show_region(file, dev, region);
		xa_unlock_bh(xa);
		if (!region)
			break;
		if (lines < LINES)
			lines++;
		else
			more++;
		cond_resched();
	}
	if (more)
		seq_printf(file, "%s and %u more\n", dev->ib.name, more);
}
