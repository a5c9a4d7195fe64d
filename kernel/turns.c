// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * turns.c - turns and credits; see turns.h.
 *
 * Called by requester/turn.c, with the adapter's turns_lock held. Pure.
 */
#include <linux/compiler.h>
#include "turns.h"

void pavo_turns_init(struct pavo_turns *turns, u32 quantum, u32 sends,
		     u32 reads)
{
	int i;

	*turns = (struct pavo_turns){ .quantum = quantum };
	for (i = 0; i < PAVO_LEVELS; i++)
		turns->weight[i] = 1;
	for (i = 0; i < PAVO_POOLS; i++)
		INIT_LIST_HEAD(&turns->pool[i].line);
	turns->pool[PAVO_POOL_SENDS].limit = sends;
	turns->pool[PAVO_POOL_READS].limit = reads;
	pavo_turns_judge(turns);
}

void pavo_turns_judge(struct pavo_turns *turns)
{
	bool on = turns->pool[PAVO_POOL_SENDS].limit ||
		  turns->pool[PAVO_POOL_READS].limit;
	int i;

	for (i = 1; i < PAVO_LEVELS; i++)
		on |= turns->weight[i] != turns->weight[0];
	WRITE_ONCE(turns->on, on);
}

void pavo_turn_init(struct pavo_turn *turn, u32 quantum)
{
	*turn = (struct pavo_turn){ .left = (s32)quantum };
	INIT_LIST_HEAD(&turn->wait);
}

static bool waits(const struct pavo_turn *turn)
{
	return !list_empty(&turn->wait);
}

static bool is_first(const struct pavo_turns *turns,
		     const struct pavo_turn *turn)
{
	return turns->pool[turn->pool].line.next == &turn->wait;
}

/* How many more credits a pool has. */
static u32 room(const struct pavo_pool_state *pool)
{
	if (!pool->limit)
		return ~0u;
	return pool->limit > pool->used ? pool->limit - pool->used : 0;
}

static u32 join(struct pavo_turns *turns, struct pavo_turn *turn,
		enum pavo_pool pool)
{
	turn->pool = pool;
	list_add_tail(&turn->wait, &turns->pool[pool].line);
	return 0;
}

/* No credit is left, or others wait for it. One whose turn it is keeps its place. */
static u32 join_for_credit(struct pavo_turns *turns, struct pavo_turn *turn,
			   enum pavo_pool pool)
{
	turns->pool[pool].waits++;
	join(turns, turn, pool);
	if (turns->now == turn)
		list_move(&turn->wait, &turns->pool[pool].line);
	return 0;
}

static u32 take_credits(struct pavo_pool_state *pool, u32 *held, u32 want)
{
	u32 free = room(pool);

	if (want > free)
		want = free;
	pool->used += want;
	*held += want;
	if (pool->used > pool->most)
		pool->most = pool->used;
	return want;
}

/* May one that waits go on where it is? Only the first, with packets left of its turn. */
static bool leave_line(struct pavo_turns *turns, struct pavo_turn *turn,
		       enum pavo_pool pool)
{
	if (turn->left <= 0 || turns->now || !is_first(turns, turn) ||
	    turn->pool != pool || !room(&turns->pool[pool]))
		return false;
	list_del_init(&turn->wait);
	turns->now = turn;
	return true;
}

u32 pavo_turns_take(struct pavo_turns *turns, struct pavo_turn *turn,
		    enum pavo_pool pool, u32 want)
{
	struct pavo_pool_state *state;

	if (!turns->on)
		return want;
	turn->left -= (s32)turn->spent;
	turn->spent = 0;
	if (!turns->pool[pool].limit)
		pool = PAVO_POOL_NONE;
	if (turn->called || (waits(turn) && !leave_line(turns, turn, pool)))
		return 0;
	if (turn->left <= 0)
		return join(turns, turn, pool);
	if (pool == PAVO_POOL_NONE)
		return want;
	state = &turns->pool[pool];
	/* Credits that came back are for those that waited for them. */
	if (!room(state) || (turns->now != turn && !list_empty(&state->line)))
		return join_for_credit(turns, turn, pool);
	want = take_credits(state, &turn->held[pool], want);
	turn->scarce = !room(state);
	return want;
}

void pavo_turns_hold(struct pavo_turns *turns, struct pavo_turn *turn,
		     enum pavo_pool pool, u32 count)
{
	u32 back;

	if (turn->held[pool] <= count)
		return;
	back = turn->held[pool] - count;
	turn->held[pool] = count;
	turns->pool[pool].used -= back;
}

void pavo_turns_begin(struct pavo_turns *turns, struct pavo_turn *turn)
{
	if (!turn->called)
		return;
	turn->called = false;
	/* A turn that was cut short by want of credits goes on. */
	if (turn->left > 0)
		return;
	turn->left +=
		(s32)(READ_ONCE(turns->quantum) * turns->weight[turn->level]);
	turns->turns++;
}

void pavo_turns_end(struct pavo_turns *turns, struct pavo_turn *turn)
{
	if (turns->now == turn && !turn->called)
		turns->now = NULL;
}

void pavo_turns_leave(struct pavo_turns *turns, struct pavo_turn *turn)
{
	int i;

	for (i = 0; i < PAVO_POOLS; i++)
		pavo_turns_hold(turns, turn, i, 0);
	turn->called = false;
	pavo_turns_end(turns, turn);
	list_del_init(&turn->wait);
}

static struct pavo_turn *call_first(struct pavo_turns *turns,
				    struct pavo_pool_state *pool)
{
	struct pavo_turn *turn =
		list_first_entry(&pool->line, struct pavo_turn, wait);

	list_del_init(&turn->wait);
	turn->called = true;
	turns->now = turn;
	return turn;
}

struct pavo_turn *pavo_turns_next(struct pavo_turns *turns)
{
	struct pavo_pool_state *pool;
	int i, line;

	if (turns->now)
		return NULL;
	for (i = 0; i < PAVO_POOLS; i++) {
		line = (turns->next + i) % PAVO_POOLS;
		pool = &turns->pool[line];
		if (list_empty(&pool->line) || !room(pool))
			continue;
		turns->next = (line + 1) % PAVO_POOLS;
		return call_first(turns, pool);
	}
	return NULL;
}

struct pavo_turn *pavo_turns_dismiss(struct pavo_turns *turns)
{
	struct pavo_turn *turn;
	int i;

	for (i = 0; i < PAVO_POOLS; i++) {
		if (list_empty(&turns->pool[i].line))
			continue;
		turn = list_first_entry(&turns->pool[i].line, struct pavo_turn,
					wait);
		list_del_init(&turn->wait);
		return turn;
	}
	return NULL;
}

bool pavo_turn_idle(const struct pavo_turns *turns,
		    const struct pavo_turn *turn)
{
	return turns->now != turn && !waits(turn) &&
	       !turn->held[PAVO_POOL_SENDS] && !turn->held[PAVO_POOL_READS];
}
