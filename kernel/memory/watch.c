// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * watch.c - words in shared memory that change when memory of a process does.
 *
 * Called by verbs/watch_methods.c in process context, and by the kernel (MMU notifier) before
 * it changes pages of a watched range. Owns the slots. The kernel waits for the notifier, so
 * the word has changed when munmap() or fork() returns.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include "memory/watch.h"
#include "rings/mmap.h"

/**
 * struct watch_slot - one range that is watched.
 * @notifier: the kernel calls it before pages change
 * @word:     notifies the process. The module never reads it, since the process can write to it.
 */
struct watch_slot {
	struct mmu_interval_notifier notifier;
	u32 *word;
};

/**
 * struct pavo_watch - the slots of one process.
 * @area:   one word for each slot
 * @mutex:  @slots
 * @nslots: entries of @slots; constant
 * @slots:  by index; NULL: not in use
 */
struct pavo_watch {
	struct pavo_mmap *area;
	struct mutex mutex; /* slots */
	u32 nslots;
	struct watch_slot *slots[];
};

static bool invalidate_watch(struct mmu_interval_notifier *notifier,
			     const struct mmu_notifier_range *range,
			     unsigned long seq)
{
	mmu_interval_set_seq(notifier, seq);
	WRITE_ONCE(*container_of(notifier, struct watch_slot, notifier)->word,
		   1);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate_watch,
};

struct pavo_watch *pavo_watch_open(struct ib_ucontext *uctx, u32 slots,
				   struct pavo_mmap_info *info)
{
	struct pavo_watch *watch;

	if (!slots || slots > PAVO_WATCH_SLOTS)
		return ERR_PTR(-EINVAL);
	watch = kvzalloc(struct_size(watch, slots, slots), GFP_KERNEL_ACCOUNT);
	if (!watch)
		return ERR_PTR(-ENOMEM);
	watch->area = pavo_mmap_create(uctx, slots * sizeof(u32), info);
	if (!watch->area) {
		kvfree(watch);
		return ERR_PTR(-ENOMEM);
	}
	memset(watch->area->addr, 0xff, slots * sizeof(u32));
	mutex_init(&watch->mutex);
	watch->nslots = slots;
	return watch;
}

/* End a slot, and set its word to "changed". Mutex held, or the watch is closing. */
static void end_watch_slot(struct pavo_watch *watch, u32 at)
{
	struct watch_slot *slot = watch->slots[at];

	if (!slot)
		return;
	mmu_interval_notifier_remove(&slot->notifier);
	WRITE_ONCE(*slot->word, 1);
	watch->slots[at] = NULL;
	kfree(slot);
}

void pavo_watch_close(struct pavo_watch *watch)
{
	u32 i;

	for (i = 0; i < watch->nslots; i++)
		end_watch_slot(watch, i);
	pavo_mmap_destroy(watch->area);
	mutex_destroy(&watch->mutex);
	kvfree(watch);
}

/* Let slot @at watch the range. Mutex held. */
static int begin_watch_slot(struct pavo_watch *watch, u32 at,
			    unsigned long start, unsigned long length)
{
	struct watch_slot *slot;
	int err;

	slot = kzalloc(sizeof(*slot), GFP_KERNEL_ACCOUNT);
	if (!slot)
		return -ENOMEM;
	slot->word = (u32 *)watch->area->addr + at;
	WRITE_ONCE(*slot->word, 0);
	err = mmu_interval_notifier_insert(&slot->notifier, current->mm, start,
					   length, &notifier_ops);
	if (err) {
		WRITE_ONCE(*slot->word, 1);
		kfree(slot);
		return err;
	}
	watch->slots[at] = slot;
	/*
	 * Wait until changes that were under way are over, since they do not change the
	 * word. The caller registers the memory after this call.
	 */
	mmu_interval_read_begin(&slot->notifier);
	return 0;
}

int pavo_watch_set(struct pavo_watch *watch, u32 slot, u64 start, u64 length)
{
	u64 last;
	int err = 0;

	if (slot >= watch->nslots ||
	    (length && check_add_overflow(start, length - 1, &last)) ||
	    (length && last >= ALIGN_DOWN(ULONG_MAX, PAGE_SIZE)))
		return -EINVAL;
	mutex_lock(&watch->mutex);
	end_watch_slot(watch, slot);
	if (length)
		err = begin_watch_slot(watch, slot, start & PAGE_MASK,
				       PAGE_ALIGN(last + 1) -
					       (start & PAGE_MASK));
	mutex_unlock(&watch->mutex);
	return err;
}
