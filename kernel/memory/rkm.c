// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rkm.c - remote key manager: the walk over the keys in use.
 *
 * Called by region.c and mw.c when a key is invalidated, after the change of the key table.
 * The caller walks a PD with few QPs itself. For others requests are queued, and one work walks
 * for all of them and reschedules in between; only those callers wait. Responders never wait:
 * they share nothing with the walker but their slots (key_slot.h).
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "budget.h"
#include "memory/memory.h"
#include "pavo_trace.h"
#include "memory/key_state.h"

/* QPs of a PD up to which the caller makes the walk itself, in any context. */
#define AT_ONCE 32

static bool rkm_full_walk;
module_param(rkm_full_walk, bool, 0644);
MODULE_PARM_DESC(rkm_full_walk,
		 "invalidations walk all queue pairs, for tests (N)");

void pavo_rkm_list_init(struct pavo_rkm_list *list)
{
	INIT_LIST_HEAD(&list->qps);
	list->count = 0;
}

/* ------------------------------------------------------------------- walks */

static void revoke_slot(struct pavo_walk *walk, atomic64_t *slot, u32 key)
{
	u64 left;

	/* Where another walk revoked the slot, a copy may still run: this walk waits, too. */
	walk->matches += !pavo_key_slot_revoke(slot, key, &left);
	if ((u32)left != key || pavo_key_slot_is_quiet(slot, left))
		return;
	walk->stalls++;
	/* Another CPU is copying one packet. */
	while (!pavo_key_slot_is_quiet(slot, left))
		cpu_relax();
}

static void walk_qp(struct pavo_walk *walk, const struct pavo_rkm_qp *qp)
{
	const struct pavo_key_slots *slots;
	unsigned int i, k;

	walk->qps++;
	rcu_read_lock();
	slots = rcu_dereference(qp->slots);
	for (i = 0; slots && i < slots->count; i++)
		for (k = 0; k < walk->count; k++) {
			walk->keys++;
			revoke_slot(walk, (atomic64_t *)&slots->slot[i],
				    walk->key[k]);
		}
	rcu_read_unlock();
}

static void begin_walk(struct pavo_walk *walk, struct pavo_pd *pd)
{
	*walk = (struct pavo_walk){ .pd = pd, .began = ktime_get_ns() };
	/* Between the change of the key table and the reads of slots (key_slot.h). */
	smp_mb();
}

static void end_walk(struct pavo_dev *dev, const struct pavo_walk *walk)
{
	u64 ns = ktime_get_ns() - walk->began;

	pavo_count(dev, rkm_walks);
	pavo_stats_add(&dev->stats, rkm_walk_ns, ns);
	pavo_stats_add(&dev->stats, rkm_requests, walk->count);
	pavo_stats_add(&dev->stats, rkm_qps, walk->qps);
	pavo_stats_add(&dev->stats, rkm_pd_fail, walk->pd_fail);
	pavo_stats_add(&dev->stats, rkm_keys, walk->keys);
	pavo_stats_add(&dev->stats, rkm_matches, walk->matches);
	pavo_stats_add(&dev->stats, rkm_stalls, walk->stalls);
	trace_pavo_rkm(dev, walk, ns);
}

/*
 * Walk, if the PD has few QPs.
 *
 * Return: 0; -EAGAIN: it has too many, or rkm_full_walk is set: the manager's work has to walk.
 */
static int walk_at_once(struct pavo_dev *dev, struct pavo_pd *pd, u32 key)
{
	const struct pavo_rkm_link *link;
	struct pavo_walk walk;

	if (READ_ONCE(rkm_full_walk) || READ_ONCE(pd->rkm.count) > AT_ONCE)
		return -EAGAIN;
	begin_walk(&walk, pd);
	walk.key[0] = key;
	walk.count = 1;
	rcu_read_lock();
	list_for_each_entry_rcu(link, &pd->rkm.qps, of_pd)
		walk_qp(&walk, link->qp);
	rcu_read_unlock();
	end_walk(dev, &walk);
	return 0;
}

/* A queue pair has up to 129 slots, and each takes a nanosecond or two. */
u32 pavo_rkm_cost(const struct pavo_pd *pd)
{
	return min_t(u32, READ_ONCE(pd->rkm.count), AT_ONCE) / 4;
}

/*
 * True if the peer of @qp may use a key of the walk's PD. XRC targets, which have no PD of
 * their own, are always visited: slots of earlier requests may still be in use.
 */
static bool walk_concerns_qp(const struct pavo_walk *walk,
			     const struct pavo_rkm_qp *qp)
{
	return qp->own.pd == walk->pd || !qp->own.pd;
}

static void walk_every_qp(struct pavo_rkm *rkm, struct pavo_walk *walk)
{
	const struct pavo_rkm_qp *qp;

	list_for_each_entry(qp, &rkm->all, of_dev) {
		if (walk_concerns_qp(walk, qp)) {
			walk_qp(walk, qp);
		} else {
			walk->qps++;
			walk->pd_fail++;
		}
		cond_resched();
	}
}

/*
 * Walk the QPs of a PD. The mutex is held, so no QP is removed from the list while the walker
 * sleeps. A QP that is added meanwhile finds the key changed (pavo_rkm_join()).
 */
static void walk_pd(struct pavo_rkm *rkm, struct pavo_walk *walk)
{
	const struct pavo_rkm_link *link;

	list_for_each_entry_rcu(link, &walk->pd->rkm.qps, of_pd,
				lockdep_is_held(&rkm->mutex)) {
		walk_qp(walk, link->qp);
		cond_resched();
	}
}

/* ---------------------------------------------------------------- requests */

static void finish_walk_request(struct pavo_dev *dev,
				struct pavo_rkm_request *request)
{
	struct pavo_key_state *key_state = request->key_state;

	list_del(&request->list);
	if (!key_state) {
		complete(request->done);
		return;
	}
	/*
	 * After the store nothing but RCU keeps the QP: destroying it waits for a
	 * grace period, then for its work.
	 */
	rcu_read_lock();
	/* Pairs with the acquires in pavo_rkm_has_come_back() and pavo_side_waits(). */
	smp_store_release(&request->state, PAVO_RKM_DONE);
	queue_work(dev->wq, &key_state->work);
	rcu_read_unlock();
}

/* Make one walk for the first request, and for up to PAVO_WALK_KEYS of the same PD. */
static void serve_walks(struct pavo_dev *dev, struct list_head *requests)
{
	struct pavo_rkm_request *request, *next;
	LIST_HEAD(served);
	struct pavo_walk walk;

	request = list_first_entry(requests, struct pavo_rkm_request, list);
	begin_walk(&walk, request->pd);
	list_for_each_entry_safe(request, next, requests, list) {
		/* As many as there are queue pairs, which wait for this work. */
		cond_resched();
		if (walk.count == PAVO_WALK_KEYS)
			break;
		if (request->pd != walk.pd)
			continue;
		walk.key[walk.count++] = request->key;
		list_move_tail(&request->list, &served);
	}
	mutex_lock(&dev->rkm.mutex);
	if (READ_ONCE(rkm_full_walk))
		walk_every_qp(&dev->rkm, &walk);
	else
		walk_pd(&dev->rkm, &walk);
	mutex_unlock(&dev->rkm.mutex);
	end_walk(dev, &walk);
	list_for_each_entry_safe(request, next, &served, list)
		finish_walk_request(dev, request);
}

static void run_rkm_work(struct work_struct *work)
{
	struct pavo_rkm *rkm = container_of(work, struct pavo_rkm, work);
	struct pavo_dev *dev = container_of(rkm, struct pavo_dev, rkm);
	LIST_HEAD(requests);

	for (;;) {
		spin_lock_bh(&rkm->lock);
		list_splice_tail_init(&rkm->requests, &requests);
		spin_unlock_bh(&rkm->lock);
		if (list_empty(&requests))
			return;
		serve_walks(dev, &requests);
	}
}

static void queue_walk(struct pavo_dev *dev, struct pavo_rkm_request *request)
{
	spin_lock_bh(&dev->rkm.lock);
	list_add_tail(&request->list, &dev->rkm.requests);
	spin_unlock_bh(&dev->rkm.lock);
	queue_work(dev->wq, &dev->rkm.work);
}

enum pavo_status pavo_rkm_start(struct pavo_key_state *key_state,
				struct pavo_pd *pd, u32 key,
				struct pavo_rkm_request *request)
{
	if (!walk_at_once(key_state->dev, pd, key))
		return PAVO_ST_OK;
	request->pd = pd;
	request->key = key;
	request->key_state = key_state;
	request->state = PAVO_RKM_WAITING;
	queue_walk(key_state->dev, request);
	return PAVO_ST_WAIT;
}

void pavo_rkm_finish(struct pavo_dev *dev, struct pavo_pd *pd, u32 key)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct pavo_rkm_request request = {
		.pd = pd,
		.key = key,
		.done = &done,
	};

	if (!walk_at_once(dev, pd, key))
		return;
	queue_walk(dev, &request);
	wait_for_completion(&done);
}

void pavo_rkm_settle(struct pavo_dev *dev)
{
	flush_work(&dev->rkm.work);
}

/* --------------------------------------------------------------------- QPs */

void pavo_rkm_init(struct pavo_rkm *rkm)
{
	mutex_init(&rkm->mutex);
	INIT_LIST_HEAD(&rkm->all);
	spin_lock_init(&rkm->list_lock);
	spin_lock_init(&rkm->lock);
	INIT_LIST_HEAD(&rkm->requests);
	INIT_WORK(&rkm->work, run_rkm_work);
}

static void add_slot_link(struct pavo_rkm_link *link, struct pavo_rkm_qp *qp,
			  struct pavo_pd *pd)
{
	link->qp = qp;
	link->pd = pd;
	WRITE_ONCE(pd->rkm.count, pd->rkm.count + 1);
	list_add_tail_rcu(&link->of_pd, &pd->rkm.qps);
}

static void del_link(struct pavo_rkm_link *link)
{
	struct pavo_rkm_list *list = &link->pd->rkm;

	WRITE_ONCE(list->count, list->count - 1);
	list_del_rcu(&link->of_pd);
}

/* Remove and free a link that make_link() allocated. */
static void free_link(struct pavo_rkm_link *link)
{
	del_link(link);
	list_del(&link->of_qp);
	link->qp->nlinks--;
	kfree_rcu(link, rcu);
}

void pavo_rkm_add(struct pavo_key_state *key_state)
{
	struct pavo_rkm *rkm = &key_state->dev->rkm;

	INIT_LIST_HEAD(&key_state->rkm.links);
	key_state->rkm.pd = key_state->pd;
	mutex_lock(&rkm->mutex);
	list_add_tail(&key_state->rkm.of_dev, &rkm->all);
	if (key_state->pd) {
		spin_lock_bh(&rkm->list_lock);
		add_slot_link(&key_state->rkm.own, &key_state->rkm,
			      key_state->pd);
		spin_unlock_bh(&rkm->list_lock);
	}
	mutex_unlock(&rkm->mutex);
}

void pavo_rkm_remove(struct pavo_key_state *key_state)
{
	struct pavo_rkm *rkm = &key_state->dev->rkm;
	struct pavo_rkm_link *link, *next;

	mutex_lock(&rkm->mutex);
	list_del(&key_state->rkm.of_dev);
	spin_lock_bh(&rkm->list_lock);
	if (key_state->pd)
		del_link(&key_state->rkm.own);
	list_for_each_entry_safe(link, next, &key_state->rkm.links, of_qp)
		free_link(link);
	spin_unlock_bh(&rkm->list_lock);
	mutex_unlock(&rkm->mutex);
}

static int make_link(struct pavo_rkm_qp *qp, struct pavo_pd *pd)
{
	struct pavo_rkm_link *link;

	if (qp->nlinks == PAVO_RKM_LINKS)
		return -ENOSPC;
	link = kzalloc(sizeof(*link), GFP_ATOMIC | __GFP_NOWARN);
	if (!link)
		return -ENOMEM;
	qp->nlinks++;
	list_add(&link->of_qp, &qp->links);
	add_slot_link(link, qp, pd);
	return 0;
}

/*
 * Find the link to @pd, and move it to the head of the list: a peer mostly uses few PDs.
 *
 * Return: 0; -ENOENT: there is none.
 */
static int find_link(struct pavo_rkm_qp *qp, const struct pavo_pd *pd)
{
	struct pavo_rkm_link *link;

	list_for_each_entry(link, &qp->links, of_qp) {
		if (link->pd == pd) {
			list_move(&link->of_qp, &qp->links);
			return 0;
		}
	}
	return -ENOENT;
}

/*
 * pavo_rkm_join - see rkm.h. Full barriers order the link in the list, the key in the slot, and
 * the look-up of the key. So if a walker does not see the link, the key was changed before the
 * look-up.
 */
int pavo_rkm_join(struct pavo_key_state *key_state, struct pavo_pd *pd)
{
	struct pavo_rkm *rkm = &key_state->dev->rkm;
	int err;

	key_state->peer_pd = pd;
	if (likely(READ_ONCE(key_state->rkm.pd) == pd))
		return 0;
	spin_lock_bh(&rkm->list_lock);
	err = find_link(&key_state->rkm, pd);
	if (err)
		err = make_link(&key_state->rkm, pd);
	if (!err)
		WRITE_ONCE(key_state->rkm.pd, pd);
	spin_unlock_bh(&rkm->list_lock);
	return err;
}

/* Free a slice of the links of a PD. Return: true if more are left. */
static bool free_slice(struct list_head *links)
{
	struct pavo_rkm_link *link;
	unsigned int n;

	for (n = 0; n < PAVO_SLICE_PACKETS && !list_empty(links); n++) {
		link = list_first_entry(links, struct pavo_rkm_link, of_pd);
		WRITE_ONCE(link->qp->pd, NULL);
		free_link(link);
	}
	if (list_empty(links))
		return false;
	pavo_budget_used_up(PAVO_LOOP_LINKS, n, 0);
	return true;
}

void pavo_rkm_part(struct pavo_dev *dev, struct pavo_pd *pd)
{
	bool more;

	mutex_lock(&dev->rkm.mutex);
	do {
		spin_lock_bh(&dev->rkm.list_lock);
		/* The PD's own QPs are destroyed; the links left are those of XRC targets. */
		more = free_slice(&pd->rkm.qps);
		spin_unlock_bh(&dev->rkm.list_lock);
		cond_resched();
	} while (more);
	mutex_unlock(&dev->rkm.mutex);
}

struct pavo_key_slots *pavo_rkm_slots_alloc(u32 reads)
{
	u32 count = 1 + reads;
	struct pavo_key_slots *slots;

	slots = kzalloc(struct_size(slots, slot, count), GFP_KERNEL_ACCOUNT);
	if (slots)
		slots->count = count;
	return slots;
}

void pavo_rkm_slots_free(struct pavo_key_slots *slots)
{
	kfree(slots);
}

int pavo_rkm_slots_replace(struct pavo_key_state *key_state,
			   struct pavo_key_slots *slots)
{
	struct pavo_key_slots *old;
	u32 i;

	/* The responder side is locked, but memory/ does not know that lock. */
	old = rcu_dereference_protected(key_state->rkm.slots, true);
	for (i = 0; old && i < old->count; i++)
		if (atomic64_read(&old->slot[i]))
			return -EBUSY;
	rcu_assign_pointer(key_state->rkm.slots, slots);
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

void pavo_rkm_free(struct pavo_key_state *key_state)
{
	kfree(rcu_replace_pointer(key_state->rkm.slots, NULL, true));
}

void pavo_rkm_forget(struct pavo_key_state *key_state)
{
	struct pavo_key_slots *slots;
	u32 i;

	rcu_read_lock();
	slots = rcu_dereference(key_state->rkm.slots);
	for (i = 0; slots && i < slots->count; i++)
		pavo_key_slot_end(&slots->slot[i]);
	rcu_read_unlock();
}

/* ----------------------------------------------------------------- debugfs */

static void show_slot(struct seq_file *file, u64 word)
{
	if (!word)
		seq_puts(file, " -");
	else
		seq_printf(file, " %08x%s%s", (u32)word,
			   word & PAVO_KEY_SLOT_BUSY ? "*" : "",
			   word & PAVO_KEY_SLOT_VALID ? "" : "!");
}

void pavo_rkm_show(struct seq_file *file, struct pavo_dev *dev)
{
	const struct pavo_key_slots *slots;
	struct pavo_key_state *key_state;
	u32 i;

	mutex_lock(&dev->rkm.mutex);
	list_for_each_entry(key_state, &dev->rkm.all, rkm.of_dev) {
		seq_printf(file, "%s qp %u pd ", dev->ib.name,
			   key_state->number);
		if (key_state->pd)
			seq_printf(file, "%u:", key_state->pd->ib.res.id);
		else
			seq_puts(file, "*:");
		rcu_read_lock();
		slots = rcu_dereference(key_state->rkm.slots);
		for (i = 0; slots && i < slots->count; i++)
			show_slot(file, atomic64_read(&slots->slot[i]));
		rcu_read_unlock();
		seq_putc(file, '\n');
		cond_resched();
	}
	mutex_unlock(&dev->rkm.mutex);
}
