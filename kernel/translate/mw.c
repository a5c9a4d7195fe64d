// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mw.c - memory windows (IBA 10.6.7): keys of their own for a part of a
 * region, given and taken by work requests; and invalidation of keys.
 *
 * verbs/ makes and destroys the objects in process context. Both sides of the QPs bind and
 * invalidate, and may not sleep. A bound memory window has a struct pavo_region of its own
 * over the pages of the MR. It replaces the key's old meaning in the table, so packets look a
 * memory window up as they look up any key.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "device.h"
#include "payer.h"
#include "translate.h"
#include "translate/translate_private.h"

#define PAVO_MW_ACCESS                                    \
	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
	 IB_ACCESS_REMOTE_ATOMIC)
/* Flags that a bind may name. Local rights have no effect: memory windows have no L_Key. */
#define PAVO_MW_FLAGS (PAVO_MW_ACCESS | IB_ACCESS_LOCAL_WRITE | IB_ZERO_BASED)

int pavo_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct pavo_dev *dev = to_pavo_dev(ibmw->device);
	struct pavo_mw *mw = to_pavo_mw(ibmw);
	int err;

	if (pavo_charge(&mw->charge, sizeof(*mw), udata))
		return -ENOMEM;
	if (!pavo_object_take(dev, PAVO_OBJ_MW)) {
		err = -ENOMEM;
		goto err_charge;
	}
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
	pavo_object_give(dev, PAVO_OBJ_MW);
err_charge:
	pavo_charge_end(mw->charge);
	return err;
}

/* Unbind @mw; @key is its key from now on. Return: the old meaning, or NULL. Keys are locked. */
static struct pavo_region *unbind(struct pavo_mw *mw, u32 key)
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

/* End all use of @old, then free it. Sleeps. */
static void dismiss(struct pavo_dev *dev, struct pavo_region *old)
{
	if (!old)
		return;
	pavo_rkm_finish(dev, old->pd, old->key);
	kfree_rcu(old, rcu);
}

/*
 * The same for a side of @qp, without sleeping. Return: 0: @old has no user any more;
 * PAVO_VE_WAIT: it has none when @request is done.
 */
static int dismiss_for(struct pavo_qp *qp, struct pavo_region *old,
		       struct pavo_rkm_request *request)
{
	bool done;

	if (!old)
		return 0;
	done = pavo_rkm_start(qp, old->pd, old->key, request);
	kfree_rcu(old, rcu);
	return done ? 0 : PAVO_VE_WAIT;
}

int pavo_dealloc_mw(struct ib_mw *ibmw)
{
	struct pavo_mw *mw = to_pavo_mw(ibmw);
	struct pavo_key_table *keys = &mw->dev->keys;
	struct pavo_region *old;

	/* Remove the key at once, or it could be bound again while its use ends. */
	xa_lock_bh(&keys->xa);
	old = unbind(mw, mw->bound ? mw->bound->key : mw->none.key);
	pavo_key_remove(keys, &mw->none);
	xa_unlock_bh(&keys->xa);
	dismiss(mw->dev, old);
	/* For packets that found mw->none. */
	synchronize_rcu_expedited();
	pavo_object_give(mw->dev, PAVO_OBJ_MW);
	pavo_charge_end(mw->charge);
	return 0;
}

void pavo_mw_forget_qp(struct pavo_qp *qp)
{
	struct pavo_key_table *keys = &qp->dev->keys;
	struct pavo_region *old;
	struct pavo_mw *mw;

	for (;;) {
		old = NULL;
		xa_lock_bh(&keys->xa);
		mw = list_first_entry_or_null(&qp->windows, struct pavo_mw,
					      of_qp);
		if (mw)
			old = unbind(mw, mw->bound->key);
		xa_unlock_bh(&keys->xa);
		if (!old)
			return;
		dismiss(qp->dev, old);
	}
}

/* May @qp bind the memory window of @now as @seg says? */
static bool window_fits(const struct pavo_qp *qp, const struct pavo_region *now,
			const struct pavo_bind_seg *seg)
{
	const struct pavo_mw *mw = now->mw;

	if (now->pd != qp->pd)
		return false;
	if (mw->ib.type == IB_MW_TYPE_1)
		return now->key == seg->mw_rkey &&
		       !(seg->access & IB_ZERO_BASED);
	/* Type 2 goes from free to bound; the tag of its old key does not matter. */
	return !mw->bound && seg->length;
}

/* May a memory window show that part of @mr with those rights? */
static enum pavo_vendor_err range_fits(const struct pavo_qp *qp,
				       const struct pavo_region *mr,
				       const struct pavo_bind_seg *seg)
{
	u64 offset;

	if (!mr || mr->key != seg->mr_lkey || mr->mw)
		return PAVO_VE_LKEY;
	if (mr->pd != qp->pd || !mr->pages)
		return PAVO_VE_MW_BIND;
	if (!mr->valid || mr->mr->fast || !(mr->access & IB_ACCESS_MW_BIND))
		return PAVO_VE_MW_RANGE;
	if (seg->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return PAVO_VE_MW_RANGE;
	offset = seg->va - mr->iova;
	if (offset > mr->length || seg->length > mr->length - offset)
		return PAVO_VE_MW_RANGE;
	return PAVO_VE_NONE;
}

/*
 * The key after the bind: a memory window keeps its index, and the bind chooses the tag. The
 * index bits of the bind are ignored (IBA 10.6.7.2.1).
 */
static u32 key_of_bind(const struct pavo_region *now,
		       const struct pavo_bind_seg *seg)
{
	return (now->key & ~PAVO_KEY_TAG) | (seg->new_rkey & PAVO_KEY_TAG);
}

/* Fill @view with the meaning after the bind; all checks have passed. */
static void set_view(struct pavo_region *view, struct pavo_qp *qp,
		     struct pavo_mw *mw, const struct pavo_region *mr,
		     const struct pavo_bind_seg *seg, u32 key)
{
	*view = (struct pavo_region){
		.key = key,
		.access = seg->access & PAVO_MW_ACCESS,
		.valid = true,
		/* Attached pages could leave after the key was invalidated. */
		.copied = true,
		.pd = qp->pd,
		.qp = mw->ib.type == IB_MW_TYPE_2 ? qp : NULL,
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
 * Check, and switch the meaning of the key. @view: room for the new meaning, set to NULL if
 * used; @old: the old meaning, whose use the caller ends. Keys are locked.
 */
static enum pavo_vendor_err bind(struct pavo_qp *qp,
				 const struct pavo_bind_seg *seg,
				 struct pavo_region **view,
				 struct pavo_region **old)
{
	struct pavo_key_table *keys = &qp->dev->keys;
	struct pavo_region *now = xa_load(&keys->xa, seg->mw_rkey >> 8);
	struct pavo_region *mr = NULL;
	enum pavo_vendor_err err;
	struct pavo_mw *mw;
	u32 key;

	if (!now || !now->mw || !window_fits(qp, now, seg))
		return PAVO_VE_MW_BIND;
	mw = now->mw;
	if (seg->length) {
		mr = xa_load(&keys->xa, seg->mr_lkey >> 8);
		err = range_fits(qp, mr, seg);
		if (err)
			return err;
	}
	key = key_of_bind(now, seg);
	*old = unbind(mw, key);
	if (!mr)
		return PAVO_VE_NONE;

	set_view(*view, qp, mw, mr, seg, key);
	pavo_key_replace(keys, *view);
	mw->bound = *view;
	mr->mr->windows++;
	if (mw->ib.type == IB_MW_TYPE_2)
		list_add(&mw->of_qp, &qp->windows);
	*view = NULL;
	return PAVO_VE_NONE;
}

int pavo_mw_bind(struct pavo_qp *qp, const struct pavo_bind_seg *seg,
		 struct pavo_rkm_request *request)
{
	struct pavo_region *view = NULL, *old = NULL;
	enum pavo_vendor_err err;

	if (seg->access & ~PAVO_MW_FLAGS)
		return PAVO_VE_MW_RANGE;
	if (seg->length) {
		view = kzalloc(sizeof(*view), GFP_ATOMIC | __GFP_NOWARN);
		if (!view)
			return -ENOMEM;
	}
	xa_lock_bh(&qp->dev->keys.xa);
	err = bind(qp, seg, &view, &old);
	xa_unlock_bh(&qp->dev->keys.xa);
	kfree(view);
	return err ?: dismiss_for(qp, old, request);
}

/* May @qp or its peer invalidate @key, which means @now? */
static enum pavo_vendor_err may_invalidate(const struct pavo_qp *qp, u32 key,
					   const struct pavo_region *now)
{
	if (!now || now->key != key)
		return PAVO_VE_LKEY;
	if (now->pd != pavo_peer_pd(qp))
		return PAVO_VE_LKEY_PD;
	if (now->mw ? now->mw->ib.type != IB_MW_TYPE_2 : !now->mr->fast)
		return PAVO_VE_LKEY_ACCESS;
	if (!now->valid || (now->qp && now->qp != qp))
		return PAVO_VE_KEY_STATE;
	return PAVO_VE_NONE;
}

int pavo_key_check_invalidate(struct pavo_qp *qp, u32 key)
{
	return may_invalidate(qp, key, xa_load(&qp->dev->keys.xa, key >> 8));
}

/*
 * Is the key that of an unregistered region of fast registration? LOCAL_INV of it is allowed:
 * kernel consumers begin a chain with one.
 */
static bool is_free_already(const struct pavo_qp *qp, u32 key,
			    const struct pavo_region *now)
{
	return now && now->key == key && now->pd == qp->pd && !now->mw &&
	       now->mr->fast && !now->valid;
}

int pavo_key_invalidate_local(struct pavo_qp *qp, u32 key,
			      struct pavo_rkm_request *request)
{
	if (is_free_already(qp, key, xa_load(&qp->dev->keys.xa, key >> 8)))
		return PAVO_VE_NONE;
	return pavo_key_invalidate(qp, key, request);
}

int pavo_key_invalidate(struct pavo_qp *qp, u32 key,
			struct pavo_rkm_request *request)
{
	struct pavo_key_table *keys = &qp->dev->keys;
	struct pavo_region *now, *old = NULL;
	enum pavo_vendor_err err;

	xa_lock_bh(&keys->xa);
	now = xa_load(&keys->xa, key >> 8);
	err = may_invalidate(qp, key, now);
	if (!err)
		old = now->mw ? unbind(now->mw, key) : pavo_mr_fast_end(now);
	xa_unlock_bh(&keys->xa);
	return err ?: dismiss_for(qp, old, request);
}
