// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rcxt.c - the pool of rCxts; see rcxt.h. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "jobs/job.h"
#include "parameter.h"
#include "window/rdma.h"

#define MOST_RCXTS BIT(PAVO_RCXT_INDEX_BITS)

static unsigned int max_rcxts = 100000;
pavo_range_param(max_rcxts, max_rcxts, 1, MOST_RCXTS, 0444);
MODULE_PARM_DESC(max_rcxts,
		 "RDMA contexts of an adapter's windows, up to 2^20 (100000)");

static int rcxts_per_user = -1;
pavo_range_param(rcxts_per_user, rcxts_per_user, -1, MOST_RCXTS, 0644);
MODULE_PARM_DESC(rcxts_per_user,
		 "RDMA contexts of one user; -1: as share_per_user says (-1)");

#define INDEX_MASK (MOST_RCXTS - 1)
#define KEY_MASK (~0u >> PAVO_RCXT_INDEX_BITS)

void pavo_rcxts_init(struct pavo_rcxt_pool *pool)
{
	mutex_init(&pool->mutex);
	INIT_LIST_HEAD(&pool->free);
	pavo_shares_init(&pool->shares);
	/* Random, so that ids of before a restart of this machine are invalid. */
	pool->key = get_random_u32() & KEY_MASK;
}

void pavo_rcxts_destroy(struct pavo_rcxt_pool *pool)
{
	kvfree(pool->all);
	pavo_shares_destroy(&pool->shares);
	mutex_destroy(&pool->mutex);
}

/* Allocate the pool, when a window first needs it. */
static int fill_pool(struct pavo_rcxt_pool *pool)
{
	u32 count = max_rcxts, i;
	struct pavo_rcxt *all;

	if (pool->all)
		return 0;
	all = kvcalloc(count, sizeof(*all), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		spin_lock_init(&all[i].lock);
		INIT_LIST_HEAD(&all[i].queued);
		list_add_tail(&all[i].owned, &pool->free);
	}
	pool->count = count;
	/* Pairs with the acquire in pavo_rcxt_find(). */
	smp_store_release(&pool->all, all);
	return 0;
}

/* Give @rcxt to @window, with the id @id and without an operation; NULL: to the pool. */
static void assign_rcxt(struct pavo_rcxt *rcxt, struct pavo_fifo_window *window,
			u32 id, struct pavo_seen *seen)
{
	spin_lock_bh(&rcxt->lock);
	rcxt->window = window;
	rcxt->op.id = id;
	swap(rcxt->op.seen, seen);
	pavo_operation_reset(&rcxt->op);
	spin_unlock_bh(&rcxt->lock);
	kfree(seen);
}

static int take_rcxt(struct pavo_fifo_window *window, u32 *id)
{
	struct pavo_rcxt_pool *pool = &window->dev->windows->rcxts;
	struct pavo_seen *seen;
	struct pavo_rcxt *rcxt;
	int err;

	rcxt = list_first_entry_or_null(&pool->free, struct pavo_rcxt, owned);
	if (!rcxt)
		return -ENOSPC;
	seen = kzalloc(sizeof(*seen), GFP_KERNEL_ACCOUNT);
	if (!seen)
		return -ENOMEM;
	/* Account it to the user of the window's job, whichever process takes it. */
	err = pavo_share_take(&pool->shares, pavo_job_user(window->job),
			      pavo_share_of(pool->count,
					    READ_ONCE(rcxts_per_user)));
	if (err) {
		kfree(seen);
		return err;
	}
	*id = pool->key << PAVO_RCXT_INDEX_BITS | (u32)(rcxt - pool->all);
	assign_rcxt(rcxt, window, *id, seen);
	list_move_tail(&rcxt->owned, &window->owned);
	window->nowned++;
	return 0;
}

static void put_rcxt(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt)
{
	struct pavo_rcxt_pool *pool = &window->dev->windows->rcxts;

	assign_rcxt(rcxt, NULL, 0, NULL);
	list_move_tail(&rcxt->owned, &pool->free);
	window->nowned--;
	pavo_share_give(&pool->shares, pavo_job_user(window->job));
}

int pavo_rcxts_take(struct pavo_fifo_window *window, u32 *ids, u32 n)
{
	struct pavo_rcxt_pool *pool = &window->dev->windows->rcxts;
	struct pavo_rcxt *rcxt;
	u32 taken;
	int err;

	mutex_lock(&pool->mutex);
	err = READ_ONCE(window->closed) ? -ESHUTDOWN : fill_pool(pool);
	for (taken = 0; !err && taken < n; taken++)
		err = take_rcxt(window, &ids[taken]);
	/* The loop counted the one that failed, which was not taken. */
	for (taken = err && taken ? taken - 1 : 0; taken; taken--) {
		rcxt = list_last_entry(&window->owned, struct pavo_rcxt, owned);
		put_rcxt(window, rcxt);
	}
	mutex_unlock(&pool->mutex);
	return err;
}

struct pavo_rcxt *pavo_rcxt_find(struct pavo_fifo_window *window, u32 id)
{
	struct pavo_rcxt_pool *pool = &window->dev->windows->rcxts;
	u32 index = id & INDEX_MASK;
	struct pavo_rcxt *all;

	/* Pairs with fill_pool(), which sets memory and count first. */
	all = smp_load_acquire(&pool->all);
	if (!all || index >= pool->count)
		return NULL;
	return &all[array_index_nospec(index, pool->count)];
}

bool pavo_rcxt_owned(const struct pavo_fifo_window *window,
		     const struct pavo_rcxt *rcxt, u32 id)
{
	const struct pavo_rcxt_pool *pool = &window->dev->windows->rcxts;

	lockdep_assert_held(&rcxt->lock);
	return rcxt->window == window && rcxt->op.id == id &&
	       id >> PAVO_RCXT_INDEX_BITS == READ_ONCE(pool->key);
}

/*
 * End the operation of @rcxt, which is not sending, and take it from its window: packets do not
 * find it any more. Requests may be held until the operation ends well.
 */
static int disown_rcxt(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		       u32 id)
{
	int err = 0;

	spin_lock_bh(&rcxt->lock);
	if (!pavo_rcxt_owned(window, rcxt, id))
		err = -EINVAL;
	else if (rcxt->op.now.sending)
		err = -EBUSY;
	if (!err) {
		pavo_rdma_end(window, rcxt, PAVO_FRAME_CANCELLED);
		rcxt->window = NULL;
	}
	spin_unlock_bh(&rcxt->lock);
	return err;
}

int pavo_rcxt_return(struct pavo_fifo_window *window, u32 id)
{
	struct pavo_rcxt_pool *pool = &window->dev->windows->rcxts;
	struct pavo_rcxt *rcxt = pavo_rcxt_find(window, id);
	int err;

	if (!rcxt)
		return -EINVAL;
	mutex_lock(&pool->mutex);
	err = disown_rcxt(window, rcxt, id);
	if (!err)
		put_rcxt(window, rcxt);
	mutex_unlock(&pool->mutex);
	/* A held request must not begin by an rCxt that has the same id later. */
	if (!err)
		pavo_held_cancel(window, id);
	return err;
}

/* End the operation of @rcxt and take it back. The pool's mutex is held, so its window stays. */
static void revoke_rcxt(struct pavo_rcxt *rcxt, enum pavo_frame_state state)
{
	struct pavo_fifo_window *window = rcxt->window;

	if (!window)
		return;
	spin_lock_bh(&rcxt->lock);
	pavo_rdma_end(window, rcxt, state);
	rcxt->window = NULL;
	spin_unlock_bh(&rcxt->lock);
	put_rcxt(window, rcxt);
}

void pavo_rcxts_recover(struct pavo_rcxt_pool *pool)
{
	u32 i;

	mutex_lock(&pool->mutex);
	/* First the key, so that no packet finds an rCxt that is being taken back. */
	WRITE_ONCE(pool->key, (pool->key + 1) & KEY_MASK);
	/* A process that sees this may take new rCxts at once: it waits for the mutex. */
	WRITE_ONCE(pool->recoveries, pool->recoveries + 1);
	for (i = 0; i < pool->count; i++) {
		revoke_rcxt(&pool->all[i], PAVO_FRAME_BAD_RCXT);
		cond_resched();
	}
	mutex_unlock(&pool->mutex);
}

void pavo_rcxts_return_all(struct pavo_fifo_window *window)
{
	struct pavo_rcxt_pool *pool = &window->dev->windows->rcxts;
	struct pavo_rcxt *rcxt, *next;

	mutex_lock(&pool->mutex);
	list_for_each_entry_safe(rcxt, next, &window->owned, owned) {
		revoke_rcxt(rcxt, PAVO_FRAME_DEAD);
		cond_resched();
	}
	mutex_unlock(&pool->mutex);
}
