// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * drr.c - deficit round robin and credits; see drr.h.
 *
 * Called by round.c and requester/drr_queue.c, with the adapter's drr_lock held. Pure.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include "drr.h"

void pavo_drr_init(struct pavo_drr *drr, u32 quantum, u32 sends, u32 reads)
{
	int i;

	*drr = (struct pavo_drr){ .quantum = quantum };
	for (i = 0; i < PAVO_KINDS * PAVO_LEVELS; i++)
		drr->weight[i / PAVO_LEVELS][i % PAVO_LEVELS] = 1;
	for (i = 0; i < PAVO_POOLS; i++) {
		INIT_LIST_HEAD(&drr->pool[i].active_list);
		INIT_LIST_HEAD(&drr->pool[i].strict_list);
	}
	drr->pool[PAVO_POOL_SENDS].limit = sends;
	drr->pool[PAVO_POOL_READS].limit = reads;
	pavo_drr_enable(drr);
}

void pavo_drr_enable(struct pavo_drr *drr)
{
	bool on = drr->pool[PAVO_POOL_SENDS].limit ||
		  drr->pool[PAVO_POOL_READS].limit;
	int i;

	for (i = 1; i < PAVO_KINDS * PAVO_LEVELS; i++)
		on |= drr->weight[i / PAVO_LEVELS][i % PAVO_LEVELS] !=
		      drr->weight[0][0];
	WRITE_ONCE(drr->on, on);
}

void pavo_drr_queue_init(struct pavo_drr_queue *queue, enum pavo_drr_kind kind,
			 u32 quantum)
{
	*queue = (struct pavo_drr_queue){ .kind = kind,
					  .deficit = (s32)quantum };
	INIT_LIST_HEAD(&queue->node);
}

static bool is_queued(const struct pavo_drr_queue *queue)
{
	return !list_empty(&queue->node);
}

static u32 get_weight(const struct pavo_drr *drr,
		      const struct pavo_drr_queue *queue)
{
	return drr->weight[queue->kind][queue->level];
}

static bool is_strict(const struct pavo_drr *drr,
		      const struct pavo_drr_queue *queue)
{
	return get_weight(drr, queue) == PAVO_WEIGHT_STRICT;
}

static struct list_head *get_list(struct pavo_pool_state *pool, bool strict)
{
	return strict ? &pool->strict_list : &pool->active_list;
}

/* True if no queue of its pool is served before it. */
static bool is_first(struct pavo_drr *drr, const struct pavo_drr_queue *queue)
{
	struct pavo_pool_state *pool = &drr->pool[queue->pool];

	if (!queue->strict && !list_empty(&pool->strict_list))
		return false;
	return get_list(pool, queue->strict)->next == &queue->node;
}

/* True if another waits for a credit that a queue of this priority does not get before. */
static bool has_waiting(const struct pavo_pool_state *pool, bool strict)
{
	return !list_empty(&pool->strict_list) ||
	       (!strict && !list_empty(&pool->active_list));
}

/* Return the number of free credits of a pool. */
static u32 get_credits_left(const struct pavo_pool_state *pool)
{
	if (!pool->limit)
		return ~0u;
	return pool->limit > pool->used ? pool->limit - pool->used : 0;
}

static u32 append_queue(struct pavo_drr *drr, struct pavo_drr_queue *queue,
			enum pavo_pool pool)
{
	queue->pool = pool;
	queue->strict = is_strict(drr, queue);
	list_add_tail(&queue->node, get_list(&drr->pool[pool], queue->strict));
	return 0;
}

/* Wait for a credit. A queue pair that is being served stays at the head of the list. */
static u32 enqueue_for_credit(struct pavo_drr *drr,
			      struct pavo_drr_queue *queue, enum pavo_pool pool)
{
	drr->pool[pool].waits++;
	queue->scarce = true;
	append_queue(drr, queue, pool);
	if (drr->serving == queue)
		list_move(&queue->node,
			  get_list(&drr->pool[pool], queue->strict));
	return 0;
}

static u32 take_credits(struct pavo_pool_state *pool, u32 *held, u32 want)
{
	u32 free = get_credits_left(pool);

	if (want > free)
		want = free;
	pool->used += want;
	*held += want;
	if (pool->used > pool->most)
		pool->most = pool->used;
	return want;
}

/* Resume the service of the queue pair at the head of a list, if its deficit is not used up. */
static bool resume_service(struct pavo_drr *drr, struct pavo_drr_queue *queue,
			   enum pavo_pool pool)
{
	if (queue->deficit <= 0 || drr->serving || !is_first(drr, queue) ||
	    queue->pool != pool || !get_credits_left(&drr->pool[pool]))
		return false;
	list_del_init(&queue->node);
	drr->serving = queue;
	return true;
}

u32 pavo_drr_take(struct pavo_drr *drr, struct pavo_drr_queue *queue,
		  enum pavo_pool pool, u32 want)
{
	struct pavo_pool_state *state;

	if (!drr->on)
		return want;
	queue->deficit -= (s32)queue->spent;
	queue->spent = 0;
	if (!drr->pool[pool].limit)
		pool = PAVO_POOL_NONE;
	if (queue->scheduled ||
	    (is_queued(queue) && !resume_service(drr, queue, pool)))
		return 0;
	if (queue->deficit <= 0)
		return append_queue(drr, queue, pool);
	if (pool == PAVO_POOL_NONE)
		return want;
	state = &drr->pool[pool];
	/* Returned credits are for queue pairs that waited for them. */
	if (!get_credits_left(state) ||
	    (drr->serving != queue &&
	     has_waiting(state, is_strict(drr, queue))))
		return enqueue_for_credit(drr, queue, pool);
	want = take_credits(state, &queue->held[pool], want);
	queue->scarce = !get_credits_left(state);
	return want;
}

void pavo_drr_hold_credits(struct pavo_drr *drr, struct pavo_drr_queue *queue,
			   enum pavo_pool pool, u32 count)
{
	u32 back;

	if (queue->held[pool] <= count)
		return;
	back = queue->held[pool] - count;
	queue->held[pool] = count;
	drr->pool[pool].used -= back;
}

void pavo_drr_begin_round(struct pavo_drr *drr, struct pavo_drr_queue *queue)
{
	if (!queue->scheduled)
		return;
	queue->scheduled = false;
	/* A service that was interrupted for lack of credits continues. */
	if (queue->deficit > 0)
		return;
	queue->deficit += (s32)(READ_ONCE(drr->quantum) *
				max(get_weight(drr, queue), 1u));
	drr->rounds++;
}

void pavo_drr_end_round(struct pavo_drr *drr, struct pavo_drr_queue *queue)
{
	if (drr->serving == queue && !queue->scheduled)
		drr->serving = NULL;
}

void pavo_drr_leave(struct pavo_drr *drr, struct pavo_drr_queue *queue)
{
	int i;

	for (i = 0; i < PAVO_POOLS; i++)
		pavo_drr_hold_credits(drr, queue, i, 0);
	queue->scheduled = false;
	pavo_drr_end_round(drr, queue);
	list_del_init(&queue->node);
}

static struct pavo_drr_queue *schedule_first(struct pavo_drr *drr,
					     struct list_head *list)
{
	struct pavo_drr_queue *queue;

	queue = list_first_entry(list, struct pavo_drr_queue, node);
	list_del_init(&queue->node);
	queue->scheduled = true;
	drr->serving = queue;
	return queue;
}

/* Schedule the first queue of a priority that can send, of any pool; NULL: none. */
static struct pavo_drr_queue *schedule_priority(struct pavo_drr *drr,
						bool strict)
{
	struct pavo_pool_state *pool;
	struct list_head *list;
	int i, index;

	for (i = 0; i < PAVO_POOLS; i++) {
		index = (drr->next_pool + i) % PAVO_POOLS;
		pool = &drr->pool[index];
		list = get_list(pool, strict);
		if (list_empty(list) || !get_credits_left(pool))
			continue;
		drr->next_pool = (index + 1) % PAVO_POOLS;
		return schedule_first(drr, list);
	}
	return NULL;
}

struct pavo_drr_queue *pavo_drr_next(struct pavo_drr *drr)
{
	if (drr->serving)
		return NULL;
	return schedule_priority(drr, true) ?: schedule_priority(drr, false);
}

static struct pavo_drr_queue *dequeue_first(struct list_head *list)
{
	struct pavo_drr_queue *queue;

	queue = list_first_entry_or_null(list, struct pavo_drr_queue, node);
	if (queue)
		list_del_init(&queue->node);
	return queue;
}

struct pavo_drr_queue *pavo_drr_dequeue_any(struct pavo_drr *drr)
{
	struct pavo_drr_queue *queue = NULL;
	int i;

	for (i = 0; !queue && i < PAVO_POOLS; i++)
		queue = dequeue_first(&drr->pool[i].strict_list) ?:
				dequeue_first(&drr->pool[i].active_list);
	return queue;
}

bool pavo_drr_is_idle(const struct pavo_drr *drr,
		      const struct pavo_drr_queue *queue)
{
	return drr->serving != queue && !is_queued(queue) &&
	       !queue->held[PAVO_POOL_SENDS] && !queue->held[PAVO_POOL_READS];
}
