// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pin.c - pinned memory of processes: taken once, counted once, however many
 * regions, adapters and processes of a job use it.
 *
 * Called by region.c and job.c in process context. Owns the table of pins, which
 * belongs to the machine and not to an adapter. rdma core's ib_umem belongs to one
 * device and counts every registration anew; that is why it is not used here.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include "compat.h"
#include "translate/pin.h"

/* Pages pinned or released before others get a turn. */
#define BATCH 512

static const struct rhashtable_params params = {
	.key_len = sizeof(struct pavo_pin_key),
	.key_offset = offsetof(struct pavo_pin, key),
	.head_offset = offsetof(struct pavo_pin, node),
	.automatic_shrinking = true,
};

static struct rhltable pins;
static DEFINE_MUTEX(pins_mutex); /* pins, totals, users */
static struct pavo_pin_totals totals;

int pavo_pin_init(void)
{
	return rhltable_init(&pins, &params);
}

void pavo_pin_exit(void)
{
	WARN_ON(totals.pins);
	rhltable_destroy(&pins);
}

void pavo_pin_totals(struct pavo_pin_totals *copy)
{
	mutex_lock(&pins_mutex);
	*copy = totals;
	mutex_unlock(&pins_mutex);
}

static void unpin_pages(struct page **pages, unsigned long npages, bool dirty)
{
	unsigned long n;

	for (; npages; pages += n, npages -= n) {
		n = min_t(unsigned long, npages, BATCH);
		unpin_user_pages_dirty_lock(pages, n, dirty);
		cond_resched();
	}
}

static int pin_pages(u64 start, struct page **pages, unsigned long npages,
		     bool writable)
{
	unsigned int flags = FOLL_LONGTERM |
			     (writable ? FOLL_WRITE : PAVO_FOLL_READ);
	unsigned long done = 0;
	long n;

	while (done < npages) {
		if (fatal_signal_pending(current)) {
			n = -EINTR;
			goto err;
		}
		cond_resched();
		n = pin_user_pages_fast(start + done * PAGE_SIZE,
					min_t(unsigned long, npages - done,
					      BATCH),
					flags, pages + done);
		if (n <= 0) {
			n = n ?: -EFAULT;
			goto err;
		}
		done += n;
	}
	return 0;
err:
	unpin_pages(pages, done, false);
	return n;
}

static bool fits(unsigned long npages)
{
	return npages <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT ||
	       capable(CAP_IPC_LOCK);
}

/* To be released by finish_pin() or drop_pin(). */
static struct pavo_pin *new_pin(const void *owner, u64 start, u64 length,
				bool writable)
{
	unsigned long npages = PFN_UP(offset_in_page(start) + length);
	struct pavo_pin *pin;
	int err;

	if (!can_do_mlock())
		return ERR_PTR(-EPERM);
	/* More than that can never be: do not even begin. */
	if (!fits(npages))
		return ERR_PTR(-ENOMEM);
	pin = kvzalloc(struct_size(pin, pages, npages),
		       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!pin)
		return ERR_PTR(-ENOMEM);
	err = pin_pages(start & PAGE_MASK, pin->pages, npages, writable);
	if (err) {
		kvfree(pin);
		return ERR_PTR(err);
	}
	pin->key = (struct pavo_pin_key){
		.owner = owner,
		.first = pin->pages[0],
		.npages = npages,
	};
	pin->writable = writable;
	return pin;
}

static void drop_pin(struct pavo_pin *pin)
{
	unpin_pages(pin->pages, pin->key.npages, pin->writable);
	kvfree(pin);
}

/* The same pages for the same owner, good for the same use. Mutex held. */
static struct pavo_pin *find(const struct pavo_pin *like)
{
	struct rhlist_head *list, *pos;
	struct pavo_pin *pin;

	/* Only read under RCU; it stays while the mutex is held. */
	rcu_read_lock();
	list = rhltable_lookup(&pins, &like->key, params);
	rcu_read_unlock();
	rhl_for_each_entry_rcu(pin, pos, list, node) {
		if (like->writable && !pin->writable)
			continue;
		if (!memcmp(pin->pages, like->pages,
			    array_size(like->key.npages, sizeof(*pin->pages))))
			return pin;
	}
	return NULL;
}

/* Count it as the caller's memory and let it be found. Mutex held. */
static int insert(struct pavo_pin *pin)
{
	unsigned long npages = pin->key.npages;
	struct mm_struct *mm = current->mm;
	int err;

	if (!fits(atomic64_add_return(npages, &mm->pinned_vm))) {
		err = -ENOMEM;
		goto err_count;
	}
	err = rhltable_insert(&pins, &pin->node, params);
	if (err)
		goto err_count;
	mmgrab(mm);
	pin->mm = mm;
	totals.pins++;
	totals.pages += npages;
	return 0;

err_count:
	atomic64_sub(npages, &mm->pinned_vm);
	return err;
}

struct pavo_pin *pavo_pin(const void *owner, u64 start, u64 length,
			  bool writable)
{
	struct pavo_pin *made, *pin;
	int err = 0;

	made = new_pin(owner, start, length, writable);
	if (IS_ERR(made))
		return made;
	mutex_lock(&pins_mutex);
	pin = find(made);
	if (!pin) {
		err = insert(made);
		pin = made;
	}
	if (!err) {
		pin->users++;
		totals.uses++;
	}
	mutex_unlock(&pins_mutex);
	if (err || pin != made)
		drop_pin(made);
	return err ? ERR_PTR(err) : pin;
}

void pavo_unpin(struct pavo_pin *pin)
{
	bool last;

	if (!pin)
		return;
	mutex_lock(&pins_mutex);
	totals.uses--;
	last = !--pin->users;
	if (last) {
		rhltable_remove(&pins, &pin->node, params);
		totals.pins--;
		totals.pages -= pin->key.npages;
	}
	mutex_unlock(&pins_mutex);
	if (!last)
		return;
	atomic64_sub(pin->key.npages, &pin->mm->pinned_vm);
	mmdrop(pin->mm);
	drop_pin(pin);
}

void pavo_pin_count_as(struct pavo_pin *pin, struct mm_struct *mm)
{
	if (pin->mm == mm)
		return;
	atomic64_sub(pin->key.npages, &pin->mm->pinned_vm);
	mmdrop(pin->mm);
	mmgrab(mm);
	atomic64_add(pin->key.npages, &mm->pinned_vm);
	pin->mm = mm;
}
