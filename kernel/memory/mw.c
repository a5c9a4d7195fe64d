// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mw.c - memory windows (IBA 10.6.7): keys of their own for a part of a
 * region, bound and invalidated by work requests; and invalidation of keys.
 *
 * verbs/ makes and destroys the objects in process context. Both sides of the QPs bind and
 * invalidate, and may not sleep. A bound memory window has a struct pavo_region of its own
 * over the pages of the MR. It replaces the key's old meaning in the table, so packets look a
 * memory window up as they look up any key.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "memory/memory.h"
#include "memory/memory_private.h"
#include "accounting.h"
#include "compat.h"
#include "memory/key_state.h"
#include "memory/persistent.h"

#define PAVO_MW_ACCESS                                    \
	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
	 IB_ACCESS_REMOTE_ATOMIC | PAVO_MR_ACCESS_FLUSH)
/*
 * Flags that a bind may have. Local rights have no effect, since memory windows have no L_Key,
 * and the optional ones, relaxed ordering among them, have none on this adapter.
 */
#define PAVO_MW_FLAGS                                             \
	(PAVO_MW_ACCESS | IB_ACCESS_LOCAL_WRITE | IB_ZERO_BASED | \
	 IB_ACCESS_OPTIONAL)

int pavo_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct pavo_dev *dev = to_pavo_dev(ibmw->device);
	struct pavo_mw *mw = to_pavo_mw(ibmw);
	int err;

	if (pavo_charge(&mw->charge, sizeof(*mw), udata))
		return -ENOMEM;
	mw->account = pavo_caller_get_account_if(udata);
	err = pavo_object_take(dev, PAVO_OBJ_MW, mw->account);
	if (err)
		goto err_charge;
	mw->dev = dev;
	mw->none.mw = mw;
	mw->none.pd = to_pavo_pd(ibmw->pd);
	INIT_LIST_HEAD(&mw->of_qp);
	err = pavo_key_insert(&dev->keys, &mw->none);
	if (err)
		goto err_object;
	ibmw->rkey = mw->none.key;
	return 0;

err_object:
	pavo_object_give(dev, PAVO_OBJ_MW, mw->account);
err_charge:
	pavo_charge_end(mw->charge);
	return err;
}

/* Unbind @mw; @key is its key from now on. Return: the old meaning, or NULL. Keys are locked. */
static struct pavo_region *unbind_mw(struct pavo_mw *mw, u32 key)
{
	struct pavo_region *old = mw->bound;

	WRITE_ONCE(mw->none.key, key);
	if (!old)
		return NULL;
	pavo_key_replace(&mw->dev->keys, &mw->none);
	old->mr->windows--;
	mw->bound = NULL;
	list_del_init(&mw->of_qp);
	return old;
}

/* End the operations of peers with @old, then free it. Sleeps. */
static void retire_region(struct pavo_dev *dev, struct pavo_region *old)
{
	if (!old)
		return;
	pavo_rkm_finish(dev, old->pd, old->key);
	kfree_rcu(old, rcu);
}

/*
 * Retire @old for a side of @key_state, without sleeping.
 *
 * Return: PAVO_ST_OK: the operations of peers have ended; PAVO_ST_WAIT: they have when @request
 * is done.
 */
static enum pavo_status retire_region_nosleep(struct pavo_key_state *key_state,
					      struct pavo_region *old,
					      struct pavo_rkm_request *request)
{
	enum pavo_status status;

	if (!old)
		return PAVO_ST_OK;
	status = pavo_rkm_start(key_state, old->pd, old->key, request);
	kfree_rcu(old, rcu);
	return status;
}

int pavo_dealloc_mw(struct ib_mw *ibmw)
{
	struct pavo_mw *mw = to_pavo_mw(ibmw);
	struct pavo_key_table *keys = &mw->dev->keys;
	struct pavo_region *old;

	/* Remove the key at once, or a WQE could bind it anew while its use ends. */
	spin_lock_bh(&keys->lock);
	old = unbind_mw(mw, mw->bound ? mw->bound->key : mw->none.key);
	pavo_key_remove(keys, &mw->none);
	spin_unlock_bh(&keys->lock);
	retire_region(mw->dev, old);
	/* For packets that found mw->none. */
	synchronize_rcu_expedited();
	pavo_object_give(mw->dev, PAVO_OBJ_MW, mw->account);
	pavo_charge_end(mw->charge);
	return 0;
}

void pavo_mw_forget_qp(struct pavo_key_state *key_state)
{
	struct pavo_key_table *keys = &key_state->dev->keys;
	struct pavo_region *old;
	struct pavo_mw *mw;

	for (;;) {
		old = NULL;
		spin_lock_bh(&keys->lock);
		mw = list_first_entry_or_null(&key_state->windows,
					      struct pavo_mw, of_qp);
		if (mw)
			old = unbind_mw(mw, mw->bound->key);
		spin_unlock_bh(&keys->lock);
		if (!old)
			return;
		retire_region(key_state->dev, old);
		/* A process may have a million of them, each with a walk. */
		cond_resched();
	}
}

/* True if @key_state may bind the memory window of @now as in @seg. */
static bool may_bind_mw(const struct pavo_key_state *key_state,
			const struct pavo_region *now,
			const struct pavo_bind_seg *seg)
{
	const struct pavo_mw *mw = now->mw;

	if (now->pd != key_state->pd)
		return false;
	if (mw->ib.type == IB_MW_TYPE_1)
		return now->key == seg->mw_rkey &&
		       !(seg->access & IB_ZERO_BASED);
	/* Type 2 may be bound only if it is free; the tag of its old key is ignored. */
	return !mw->bound && seg->length;
}

/* Check whether a memory window may name that part of @mr with those rights. */
static enum pavo_status check_bind_range(const struct pavo_key_state *key_state,
					 const struct pavo_region *mr,
					 const struct pavo_bind_seg *seg)
{
	u64 offset;

	if (!mr || mr->key != seg->mr_lkey || mr->mw)
		return PAVO_ST_KEY;
	if (mr->pd != key_state->pd || !mr->pages)
		return PAVO_ST_MW_BIND;
	if (!mr->valid || mr->mr->fast || !(mr->access & IB_ACCESS_MW_BIND))
		return PAVO_ST_MW_RANGE;
	if (seg->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return PAVO_ST_MW_RANGE;
	/* The owner of the region decides who may flush it. */
	if (seg->access & PAVO_MR_ACCESS_FLUSH & ~mr->access)
		return PAVO_ST_MW_RANGE;
	offset = seg->va - mr->iova;
	if (offset > mr->length || seg->length > mr->length - offset)
		return PAVO_ST_MW_RANGE;
	return PAVO_ST_OK;
}

/*
 * Make the key after the bind: a memory window keeps its index, and the bind chooses the tag. The
 * index bits of the bind are ignored (IBA 10.6.7.2.1).
 */
static u32 make_bind_key(const struct pavo_region *now,
			 const struct pavo_bind_seg *seg)
{
	return (now->key & ~PAVO_KEY_TAG) | (seg->new_rkey & PAVO_KEY_TAG);
}

/* Fill @view with the meaning after the bind; all checks have passed. */
static void set_view(struct pavo_region *view, struct pavo_key_state *key_state,
		     struct pavo_mw *mw, const struct pavo_region *mr,
		     const struct pavo_bind_seg *seg, u32 key)
{
	*view = (struct pavo_region){
		.key = key,
		.access = (seg->access & PAVO_MW_ACCESS) |
			  (mr->access & PAVO_ACCESS_PERSISTENT),
		.valid = true,
		/* Attached pages could be sent after the key was invalidated. */
		.copied = true,
		.pd = key_state->pd,
		.key_state = mw->ib.type == IB_MW_TYPE_2 ? key_state : NULL,
		.iova = seg->access & IB_ZERO_BASED ? 0 : seg->va,
		.length = seg->length,
		.offset = mr->offset + (seg->va - mr->iova),
		.pages = mr->pages,
		.odp = mr->odp,
		.mr = mr->mr,
		.mw = mw,
	};
}

/*
 * Check the bind, and replace the region behind the key. @view: memory for the new one, set to
 * NULL if used; @old: set to the old one, which the caller retires. Keys are locked.
 */
static enum pavo_status bind_mw(struct pavo_key_state *key_state,
				const struct pavo_bind_seg *seg,
				struct pavo_region **view,
				struct pavo_region **old)
{
	struct pavo_key_table *keys = &key_state->dev->keys;
	struct pavo_region *now = pavo_key_find(keys, seg->mw_rkey);
	struct pavo_region *mr = NULL;
	enum pavo_status status;
	struct pavo_mw *mw;
	u32 key;

	if (!now || !now->mw || !may_bind_mw(key_state, now, seg))
		return PAVO_ST_MW_BIND;
	mw = now->mw;
	if (seg->length) {
		mr = pavo_key_find(keys, seg->mr_lkey);
		status = check_bind_range(key_state, mr, seg);
		if (status)
			return status;
	}
	key = make_bind_key(now, seg);
	*old = unbind_mw(mw, key);
	if (!mr)
		return PAVO_ST_OK;

	set_view(*view, key_state, mw, mr, seg, key);
	pavo_key_replace(keys, *view);
	mw->bound = *view;
	mr->mr->windows++;
	if (mw->ib.type == IB_MW_TYPE_2)
		list_add(&mw->of_qp, &key_state->windows);
	*view = NULL;
	return PAVO_ST_OK;
}

enum pavo_status pavo_mw_bind(struct pavo_key_state *key_state,
			      const struct pavo_bind_seg *seg,
			      struct pavo_rkm_request *request)
{
	struct pavo_region *view = NULL, *old = NULL;
	enum pavo_status status;

	if (seg->access & ~PAVO_MW_FLAGS)
		return PAVO_ST_MW_RANGE;
	if (seg->length) {
		view = kzalloc(sizeof(*view), GFP_ATOMIC | __GFP_NOWARN);
		if (!view)
			return PAVO_ST_BUSY;
	}
	spin_lock_bh(&key_state->dev->keys.lock);
	status = bind_mw(key_state, seg, &view, &old);
	spin_unlock_bh(&key_state->dev->keys.lock);
	kfree(view);
	return status ?: retire_region_nosleep(key_state, old, request);
}

/* Check whether @key_state or its peer may invalidate @key, which names @now. */
static enum pavo_status check_invalidate(const struct pavo_key_state *key_state,
					 u32 key, const struct pavo_region *now)
{
	if (!now || now->key != key)
		return PAVO_ST_KEY;
	if (now->pd != key_state->peer_pd)
		return PAVO_ST_PD;
	if (now->mw ? now->mw->ib.type != IB_MW_TYPE_2 : !now->mr->fast)
		return PAVO_ST_ACCESS;
	if (!now->valid || (now->key_state && now->key_state != key_state))
		return PAVO_ST_STATE;
	return PAVO_ST_OK;
}

enum pavo_status pavo_key_check_invalidate(struct pavo_key_state *key_state,
					   u32 key)
{
	return check_invalidate(key_state, key,
				pavo_key_find(&key_state->dev->keys, key));
}

/*
 * True if the key is that of an unregistered region of fast registration. LOCAL_INV of it is
 * allowed: kernel consumers begin a chain with one.
 */
static bool is_free_already(const struct pavo_key_state *key_state, u32 key,
			    const struct pavo_region *now)
{
	return now && now->key == key && now->pd == key_state->pd && !now->mw &&
	       now->mr->fast && !now->valid;
}

enum pavo_status pavo_key_invalidate_local(struct pavo_key_state *key_state,
					   u32 key,
					   struct pavo_rkm_request *request)
{
	if (is_free_already(key_state, key,
			    pavo_key_find(&key_state->dev->keys, key)))
		return PAVO_ST_OK;
	return pavo_key_invalidate(key_state, key, request);
}

enum pavo_status pavo_key_invalidate(struct pavo_key_state *key_state, u32 key,
				     struct pavo_rkm_request *request)
{
	struct pavo_key_table *keys = &key_state->dev->keys;
	struct pavo_region *now, *old = NULL;
	enum pavo_status status;

	spin_lock_bh(&keys->lock);
	now = pavo_key_find(keys, key);
	status = check_invalidate(key_state, key, now);
	if (!status)
		old = now->mw ? unbind_mw(now->mw, key) : pavo_mr_fast_end(now);
	spin_unlock_bh(&keys->lock);
	return status ?: retire_region_nosleep(key_state, old, request);
}
