// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pin.c - pinned memory of processes: pinned and counted once, however many
 * regions, adapters and processes use it.
 *
 * Called by region.c and by parts of the module in process context. Owns the table of pins, which
 * belongs to the machine and not to an adapter. rdma core's ib_umem is not used: it belongs
 * to one device and counts every registration anew.
 */
#include <linux/backing-dev.h>
#include <linux/capability.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include "compat.h"
#include "memory/pin.h"

/* Pages pinned, hashed or released between two reschedules. */
#define BATCH 512
/* Pages compared between two reschedules. */
#define COMPARED 65536ul

static const struct rhashtable_params params = {
	.key_len = sizeof(struct pavo_pin_key),
	.key_offset = offsetof(struct pavo_pin, key),
	.head_offset = offsetof(struct pavo_pin, node),
	.automatic_shrinking = true,
};

/**
 * struct process - a process that uses pins.
 * @node:  in the table of processes
 * @mm:    its memory; held by mmgrab()
 * @parts: pins that it uses
 * @shared: pages that it uses and another process is charged for
 */
struct process {
	struct hlist_node node;
	struct mm_struct *mm;
	unsigned int parts;
	unsigned long shared;
};

/**
 * struct part - the share of a process in a pin.
 * @list:    in the pin's list; the process of the first part is charged
 * @process: the process
 * @uses:    how often it uses the pin; not 0
 */
struct part {
	struct list_head list;
	struct process *process;
	unsigned int uses;
};

static struct rhltable pins;
static DEFINE_HASHTABLE(processes, 6);
static DEFINE_MUTEX(pins_mutex); /* pins, their parts, processes, totals */
static struct pavo_pin_totals totals;

/* Of hashes of pages; a process may not find out which lists have the same. */
static siphash_key_t hash_key;

int pavo_pin_init(void)
{
	get_random_bytes(&hash_key, sizeof(hash_key));
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

/*
 * Refuse a page that a filesystem writes back. A filesystem prepares for
 * writeback in the fault that makes the page writable. The adapter's writes make no fault, so
 * the filesystem would find a dirty page that it is not prepared for. The folio lock keeps the
 * page in its file.
 *
 * Return: 0; -EFAULT: it is such a page; -EINTR.
 */
static int refuse_written_back(struct page *page)
{
	struct folio *folio = page_folio(page);
	int err;

	if (folio_test_anon(folio) || folio_test_hugetlb(folio))
		return 0;
	err = folio_lock_killable(folio);
	if (err)
		return err;
	if (folio->mapping && mapping_can_writeback(folio->mapping))
		err = -EFAULT;
	folio_unlock(folio);
	return err;
}

/* Check pages pinned for writing. Return: 0, or the error of the first one that must not be. */
static int check_writable(struct page **pages, unsigned long npages)
{
	int err = 0;

	while (!err && npages--)
		err = refuse_written_back(*pages++);
	return err;
}

/* True if the page at @address lies in a PCI device. */
static bool is_of_device(u64 address, bool writable)
{
	unsigned int flags = PAVO_FOLL_DEVICE | (writable ? FOLL_WRITE : 0);
	struct page *page;
	bool is;

	if (get_user_pages_fast(address, 1, flags, &page) != 1)
		return false;
	is = is_pci_p2pdma_page(page);
	put_page(page);
	return is;
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
		if (PAVO_PINS_WRITTEN_BACK && writable) {
			n = check_writable(pages + done - n, n);
			if (n)
				goto err;
		}
	}
	return 0;
err:
	unpin_pages(pages, done, false);
	/* The kernel has this error for pins for reading only. */
	if (n == -EFAULT && is_of_device(start + done * PAGE_SIZE, writable))
		n = -EREMOTEIO;
	return n;
}

static u64 hash_pages(struct page **pages, unsigned long npages)
{
	u64 piece, hash = 0;
	unsigned long n;

	for (; npages; pages += n, npages -= n) {
		n = min_t(unsigned long, npages, BATCH);
		piece = siphash(pages, n * sizeof(*pages), &hash_key);
		hash = siphash_2u64(hash, piece, &hash_key);
		cond_resched();
	}
	return hash;
}

static bool fits_memlock(unsigned long npages)
{
	return npages <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT ||
	       capable(CAP_IPC_LOCK);
}

/* Make a pin of the range. It is in no table yet; drop_pin() frees it. */
static struct pavo_pin *alloc_pin(const void *owner, u64 start, u64 length,
				  bool writable)
{
	/* A range of no bytes has no page, even if @start is not at the beginning of one. */
	unsigned long npages = length ? PFN_UP(offset_in_page(start) + length) :
					0;
	struct pavo_pin *pin;
	int err;

	if (npages && !can_do_mlock())
		return ERR_PTR(-EPERM);
	/* Do not begin with a range over the limit. */
	if (!fits_memlock(npages))
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
		.first = npages ? pin->pages[0] : NULL,
		.npages = npages,
		.hash = hash_pages(pin->pages, npages),
	};
	pin->writable = writable;
	INIT_LIST_HEAD(&pin->parts);
	return pin;
}

static void drop_pin(struct pavo_pin *pin)
{
	unpin_pages(pin->pages, pin->key.npages, pin->writable);
	kvfree(pin);
}

/* True if the pages are the same, which equal keys all but prove. Mutex held. */
static bool has_same_pages(const struct pavo_pin *a, const struct pavo_pin *b)
{
	unsigned long i, n, npages = a->key.npages;

	totals.compared += npages;
	for (i = 0; i < npages; i += n) {
		n = min(npages - i, COMPARED);
		if (memcmp(&a->pages[i], &b->pages[i],
			   array_size(n, sizeof(*a->pages))))
			return false;
		cond_resched();
	}
	return true;
}

/* Find a pin of the same pages for the same owner, writable if @like is. Mutex held. */
static struct pavo_pin *find_pin(const struct pavo_pin *like)
{
	struct rhlist_head *list, *pos;
	struct pavo_pin *pin;

	/* The look-up needs RCU; the mutex keeps the pins in the table. */
	rcu_read_lock();
	list = rhltable_lookup(&pins, &like->key, params);
	rcu_read_unlock();
	rhl_for_each_entry_rcu(pin, pos, list, node) {
		if (like->writable && !pin->writable)
			continue;
		if (has_same_pages(pin, like))
			return pin;
	}
	return NULL;
}

/* ----------------------------------- processes and charges; all: mutex held */

static struct process *get_process(struct mm_struct *mm)
{
	struct process *process;

	hash_for_each_possible(processes, process, node, (unsigned long)mm) {
		if (process->mm == mm) {
			process->parts++;
			return process;
		}
	}
	process = kzalloc(sizeof(*process), GFP_KERNEL_ACCOUNT);
	if (!process)
		return NULL;
	mmgrab(mm);
	process->mm = mm;
	process->parts = 1;
	hash_add(processes, &process->node, (unsigned long)mm);
	return process;
}

static void put_process(struct process *process)
{
	if (--process->parts)
		return;
	hash_del(&process->node);
	mmdrop(process->mm);
	kfree(process);
}

static void uncharge_pages(struct process *process, unsigned long npages,
			   bool shared)
{
	if (shared)
		process->shared -= npages;
	else
		atomic64_sub(npages, &process->mm->pinned_vm);
}

/*
 * Charge @process for pages, or count them as shared if another process is charged.
 *
 * Return: 0; -ENOMEM: the sum of both is over the limit of @process.
 */
static int charge_pages(struct process *process, unsigned long npages,
			bool shared)
{
	u64 now;

	if (shared) {
		process->shared += npages;
		now = atomic64_read(&process->mm->pinned_vm);
	} else {
		now = atomic64_add_return(npages, &process->mm->pinned_vm);
	}
	if (fits_memlock(now + process->shared))
		return 0;
	uncharge_pages(process, npages, shared);
	return -ENOMEM;
}

static struct part *find_part(const struct pavo_pin *pin,
			      const struct mm_struct *mm)
{
	struct part *part;

	list_for_each_entry(part, &pin->parts, list)
		if (part->process->mm == mm)
			return part;
	return NULL;
}

static struct part *alloc_part(struct pavo_pin *pin)
{
	struct part *part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);
	int err;

	if (!part)
		return ERR_PTR(-ENOMEM);
	part->process = get_process(current->mm);
	if (!part->process) {
		kfree(part);
		return ERR_PTR(-ENOMEM);
	}
	err = charge_pages(part->process, pin->key.npages,
			   !list_empty(&pin->parts));
	if (err) {
		put_process(part->process);
		kfree(part);
		return ERR_PTR(err);
	}
	list_add_tail(&part->list, &pin->parts);
	return part;
}

/* Count one more use by the calling process. */
static int begin_pin_use(struct pavo_pin *pin)
{
	struct part *part = find_part(pin, current->mm) ?: alloc_part(pin);

	if (IS_ERR(part))
		return PTR_ERR(part);
	part->uses++;
	totals.uses++;
	return 0;
}

/*
 * Move the charge to the process that is first now, as the charged process stopped using the
 * pages.
 */
static void move_charge(struct pavo_pin *pin)
{
	struct part *next =
		list_first_entry_or_null(&pin->parts, struct part, list);

	if (!next)
		return;
	uncharge_pages(next->process, pin->key.npages, true);
	atomic64_add(pin->key.npages, &next->process->mm->pinned_vm);
}

/* Uncount a use by the process @mm. */
static void end_pin_use(struct pavo_pin *pin, const struct mm_struct *mm)
{
	struct part *part = find_part(pin, mm);
	bool shared;

	totals.uses--;
	if (--part->uses)
		return;
	shared = !list_is_first(&part->list, &pin->parts);
	uncharge_pages(part->process, pin->key.npages, shared);
	list_del(&part->list);
	if (!shared)
		move_charge(pin);
	put_process(part->process);
	kfree(part);
}

/* Count the first use of a new pin, and put it into the table. */
static int insert_pin(struct pavo_pin *pin)
{
	int err = begin_pin_use(pin);

	if (err)
		return err;
	err = rhltable_insert(&pins, &pin->node, params);
	if (err) {
		end_pin_use(pin, current->mm);
		return err;
	}
	totals.pins++;
	totals.pages += pin->key.npages;
	return 0;
}

struct pavo_pin *pavo_pin(const void *owner, u64 start, u64 length,
			  bool writable)
{
	struct pavo_pin *made, *pin;
	int err;

	made = alloc_pin(owner, start, length, writable);
	if (IS_ERR(made))
		return made;
	mutex_lock(&pins_mutex);
	pin = find_pin(made);
	if (pin) {
		err = begin_pin_use(pin);
	} else {
		err = insert_pin(made);
		pin = made;
	}
	mutex_unlock(&pins_mutex);
	if (err || pin != made)
		drop_pin(made);
	return err ? ERR_PTR(err) : pin;
}

void pavo_unpin(struct pavo_pin *pin, const struct mm_struct *mm)
{
	bool last;

	mutex_lock(&pins_mutex);
	end_pin_use(pin, mm);
	last = list_empty(&pin->parts);
	if (last) {
		rhltable_remove(&pins, &pin->node, params);
		totals.pins--;
		totals.pages -= pin->key.npages;
	}
	mutex_unlock(&pins_mutex);
	if (last)
		drop_pin(pin);
}
