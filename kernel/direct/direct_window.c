// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct_window.c - opens and closes direct windows: memory, key, and the adapter's list.
 *
 * Called by direct_methods.c in process context. All memory is charged to the memory cgroup of the
 * process that opens the window, and the buffers to its RLIMIT_MEMLOCK. A window counts as a memory
 * region.
 */
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "direct/direct_private.h"
#include "memory/key_state.h"
#include "memory/pd.h"

static void end_ranges_work(struct work_struct *work)
{
	pavo_direct_end_ranges(container_of(work, struct pavo_direct, end));
}

static void check_quarantine_work(struct work_struct *work)
{
	struct pavo_direct *window =
		container_of(to_delayed_work(work), struct pavo_direct, check);

	if (!pavo_direct_check_quarantine(window) &&
	    wq_has_sleeper(&window->wait))
		pavo_direct_check_quarantine_later(window);
}

static void free_pages_of(struct pavo_direct *window)
{
	u32 n = window->nbuffers * window->npages, i;

	for (i = 0; window->pages && i < n; i++) {
		if (window->pages[i])
			put_page(window->pages[i]);
	}
	if (window->nowhere)
		put_page(window->nowhere);
}

/* Charge the buffers as locked memory of the calling process; not those of kernel consumers. */
static int charge_buffers(struct pavo_direct *window, const struct ib_pd *ibpd)
{
	int err;

	if (!ibpd->uobject)
		return 0;
	err = account_locked_vm(current->mm, window->nbuffers * window->npages,
				true);
	if (err)
		return err;
	window->mm = current->mm;
	mmgrab(window->mm);
	return 0;
}

static void end_charge(struct pavo_direct *window)
{
	if (!window->mm)
		return;
	account_locked_vm(window->mm, window->nbuffers * window->npages, false);
	mmdrop(window->mm);
}

void pavo_direct_free(struct pavo_direct *window)
{
	end_charge(window);
	pavo_user_put(window->user);
	free_pages_of(window);
	vfree(window->registers);
	kvfree(window->pages);
	kvfree(window->current_pages);
	kvfree(window->buffers);
	kvfree(window->slots);
	kfree(window);
}

static void release_window(struct kref *refs)
{
	pavo_direct_free(container_of(refs, struct pavo_direct, refs));
}

void pavo_direct_put(struct pavo_direct *window)
{
	kref_put(&window->refs, release_window);
}

static int check_open_args(const struct pavo_direct_open_args *args)
{
	u64 length = (u64)args->ranges * args->range_size, end;

	if (args->flags || !args->ranges || args->ranges > PAVO_DIRECT_RANGES ||
	    !args->buffers || args->buffers > PAVO_DIRECT_RANGES ||
	    !args->range_size || args->range_size > PAVO_DIRECT_RANGE_SIZE ||
	    !PAGE_ALIGNED(args->range_size) ||
	    check_add_overflow(args->base, length - 1, &end))
		return -EINVAL;
	return 0;
}

static int alloc_pages_of(struct pavo_direct *window)
{
	u32 n = window->nbuffers * window->npages, i;

	for (i = 0; i < n; i++) {
		window->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!window->pages[i])
			return -ENOMEM;
	}
	window->nowhere = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	return window->nowhere ? 0 : -ENOMEM;
}

static int alloc_memory(struct pavo_direct *window)
{
	const u32 ranges = window->shape.ranges;
	const gfp_t gfp = GFP_KERNEL_ACCOUNT;

	window->registers = __vmalloc(pavo_direct_get_registers_size(window),
				      gfp | __GFP_ZERO);
	window->pages = kvcalloc(window->nbuffers * window->npages,
				 sizeof(struct page *), gfp);
	window->current_pages =
		kvcalloc(ranges * window->npages, sizeof(struct page *), gfp);
	window->buffers =
		kvcalloc(window->nbuffers, sizeof(*window->buffers), gfp);
	window->slots = kvcalloc(ranges, sizeof(*window->slots), gfp);
	if (!window->registers || !window->pages || !window->current_pages ||
	    !window->buffers || !window->slots)
		return -ENOMEM;
	return alloc_pages_of(window);
}

/* Initialize: all ranges are idle, all buffers free. */
static void set_idle(struct pavo_direct *window)
{
	struct pavo_direct_slot *slot;
	u32 i;

	for (i = 0; i < window->shape.ranges * window->npages; i++)
		window->current_pages[i] = window->nowhere;
	for (i = 0; i < window->shape.ranges; i++) {
		slot = &window->slots[i];
		slot->range.buffer = PAVO_DIRECT_NO_BUFFER;
		INIT_LIST_HEAD(&slot->exported);
		init_waitqueue_head(&slot->wait);
		pavo_direct_publish(window, i);
	}
	pavo_direct_init_pool(window);
}

static struct pavo_direct *
alloc_window(struct ib_pd *ibpd, const struct pavo_direct_open_args *args)
{
	struct pavo_direct *window;

	window = kzalloc(sizeof(*window), GFP_KERNEL_ACCOUNT);
	if (!window)
		return NULL;
	kref_init(&window->refs);
	window->dev = to_pavo_dev(ibpd->device);
	window->shape = (struct pavo_direct_shape){
		.base = args->base,
		.ranges = args->ranges,
		.size = args->range_size,
	};
	window->npages = args->range_size / PAGE_SIZE;
	window->nbuffers = args->buffers;
	spin_lock_init(&window->lock);
	mutex_init(&window->map_mutex);
	init_waitqueue_head(&window->wait);
	INIT_WORK(&window->end, end_ranges_work);
	INIT_DELAYED_WORK(&window->check, check_quarantine_work);
	INIT_LIST_HEAD(&window->free_buffers);
	INIT_LIST_HEAD(&window->quarantine);
	address_space_init_once(&window->mapping);
	window->user = pavo_user_get();
	if (window->user && !charge_buffers(window, ibpd) &&
	    !alloc_memory(window)) {
		set_idle(window);
		return window;
	}
	pavo_direct_free(window);
	return NULL;
}

struct pavo_direct *pavo_direct_open(struct ib_pd *ibpd,
				     const struct pavo_direct_open_args *args,
				     struct pavo_direct_open_resp *resp)
{
	struct pavo_dev *dev = to_pavo_dev(ibpd->device);
	struct pavo_direct *window;
	int err;

	err = check_open_args(args);
	if (err)
		return ERR_PTR(err);
	window = alloc_window(ibpd, args);
	if (!window)
		return ERR_PTR(-ENOMEM);
	window->mr = pavo_mr_claimed(ibpd, args->base,
				     pavo_direct_get_length(window),
				     window->current_pages, &pavo_direct_claims,
				     window);
	if (IS_ERR(window->mr)) {
		err = PTR_ERR(window->mr);
		pavo_direct_put(window);
		return ERR_PTR(err);
	}
	atomic_inc(&ibpd->usecnt);
	mutex_lock(&dev->directs->mutex);
	window->number = dev->directs->made++;
	list_add_tail(&window->list, &dev->directs->windows);
	mutex_unlock(&dev->directs->mutex);

	resp->base = args->base;
	resp->length = pavo_direct_get_length(window);
	resp->registers = resp->length;
	resp->registers_size = pavo_direct_get_registers_size(window);
	resp->lkey = window->mr->region->key;
	return window;
}

/* Mark the window as closed, so that no range is armed any more, and wake all waiters. */
static void set_closed(struct pavo_direct *window)
{
	struct pavo_direct_slot *slot;
	u32 i;

	spin_lock_bh(&window->lock);
	window->closed = true;
	for (i = 0; i < window->shape.ranges; i++) {
		slot = &window->slots[i];
		pavo_direct_drop_io(slot);
		pavo_direct_wake(slot);
		slot->key_state = NULL;
		wake_up_all(&slot->wait);
	}
	spin_unlock_bh(&window->lock);
	wake_up_all(&window->wait);
}

void pavo_direct_close(struct pavo_direct *window)
{
	struct ib_pd *ibpd = &window->mr->region->pd->ib;

	mutex_lock(&window->dev->directs->mutex);
	list_del(&window->list);
	mutex_unlock(&window->dev->directs->mutex);
	set_closed(window);
	mutex_lock(&window->map_mutex);
	/* The registers stay mapped, so that a process which reads them does not fault. */
	unmap_mapping_range(&window->mapping, 0, pavo_direct_get_length(window),
			    1);
	mutex_unlock(&window->map_mutex);
	/* No packet finds the window after this. */
	pavo_mr_end_claimed(window->mr);
	cancel_work_sync(&window->end);
	cancel_delayed_work_sync(&window->check);
	atomic_dec(&ibpd->usecnt);
	pavo_direct_put(window);
}

/* Print a range, if it is armed. */
static void show_range(struct seq_file *file, struct pavo_direct *window,
		       u32 number)
{
	const struct pavo_direct_slot *slot = &window->slots[number];
	struct pavo_direct_range range;
	u32 maps = 0, qp = 0;

	spin_lock_bh(&window->lock);
	range = slot->range;
	if (range.buffer != PAVO_DIRECT_NO_BUFFER)
		maps = window->buffers[range.buffer].maps;
	if (slot->key_state)
		qp = slot->key_state->number;
	spin_unlock_bh(&window->lock);
	if (range.state == PAVO_DIRECT_IDLE)
		return;
	seq_printf(file, "  range %u state %s %s total %u count %u", number,
		   pavo_direct_state_name(range.state),
		   range.read ? "read" : "write", range.total, range.count);
	seq_printf(file, " response %u done %u buffer %d maps %u",
		   range.response, range.done, (int)range.buffer, maps);
	if (qp)
		seq_printf(file, " qp %u", qp);
	seq_puts(file, "\n");
}

static void show_window(struct seq_file *file, const struct pavo_dev *dev,
			struct pavo_direct *window)
{
	u32 i, busy, quarantined;

	pavo_direct_check_quarantine(window);
	spin_lock_bh(&window->lock);
	busy = window->nbusy;
	quarantined = pavo_direct_quarantined(window);
	spin_unlock_bh(&window->lock);
	seq_printf(file, "%s window %u pd %u lkey %08x base %llx", dev->ib.name,
		   window->number, window->mr->region->pd->ib.res.id,
		   window->mr->region->key, window->shape.base);
	seq_printf(file,
		   " ranges %u size %u buffers %u free %u quarantined %u\n",
		   window->shape.ranges, window->shape.size, window->nbuffers,
		   window->nbuffers - busy, quarantined);
	for (i = 0; i < window->shape.ranges; i++)
		show_range(file, window, i);
}

static void show_direct_windows(struct seq_file *file, struct pavo_dev *dev)
{
	struct pavo_directs *directs = dev->directs;
	struct pavo_direct *window;

	if (!directs)
		return;
	mutex_lock(&directs->mutex);
	list_for_each_entry(window, &directs->windows, list)
		show_window(file, dev, window);
	mutex_unlock(&directs->mutex);
}

static int add_directs(struct pavo_dev *dev)
{
	struct pavo_directs *directs = kzalloc(sizeof(*directs), GFP_KERNEL);

	if (!directs)
		return -ENOMEM;
	mutex_init(&directs->mutex);
	INIT_LIST_HEAD(&directs->windows);
	dev->directs = directs;
	return 0;
}

static void remove_directs(struct pavo_dev *dev)
{
	kfree(dev->directs);
	dev->directs = NULL;
}

/* Those that are in flight pin the module, also after their process and adapter have ended. */
static void show_direct_ios(struct seq_file *file)
{
	seq_printf(file, "ios %u\n", pavo_direct_count_ios());
}

static const struct pavo_debugfs_file files[] = {
	{ .name = "direct", .show = show_direct_windows },
	{ .name = "direct_ios", .show_machine = show_direct_ios },
	{},
};

const struct pavo_part pavo_direct_part = {
	.init = pavo_direct_ios_init,
	.exit = pavo_direct_ios_exit,
	.add = add_directs,
	.remove = remove_directs,
	.files = files,
};
