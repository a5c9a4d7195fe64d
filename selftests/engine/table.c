// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * table.c - the engine's xarray (xarray.h), for small tables.
 */
#include <linux/xarray.h>

/* Entry of a reserved index. */
static char reserved;

void xa_init_flags(struct xarray *xa, unsigned int flags)
{
	*xa = (struct xarray){};
}

void xa_destroy(struct xarray *xa)
{
	kfree(xa->pairs);
	*xa = (struct xarray){};
}

static struct engine_pair *find(struct xarray *xa, unsigned long index)
{
	unsigned int i;

	for (i = 0; i < xa->count; i++)
		if (xa->pairs[i].index == index)
			return &xa->pairs[i];
	return NULL;
}

static void *seen(void *entry)
{
	return entry == &reserved ? NULL : entry;
}

void *xa_load(struct xarray *xa, unsigned long index)
{
	struct engine_pair *pair = find(xa, index);

	return pair ? seen(pair->entry) : NULL;
}

/* Have space for one more pair. Return: 0 or -ENOMEM. */
static int reserve_pair(struct xarray *xa)
{
	unsigned int size = xa->size ? 2 * xa->size : 8;
	struct engine_pair *pairs;

	if (xa->count < xa->size)
		return 0;
	pairs = engine_alloc(size * sizeof(*pairs), GFP_ATOMIC);
	if (!pairs)
		return -ENOMEM;
	if (xa->count)
		memcpy(pairs, xa->pairs, xa->count * sizeof(*pairs));
	kfree(xa->pairs);
	xa->pairs = pairs;
	xa->size = size;
	return 0;
}

void *__xa_store(struct xarray *xa, unsigned long index, void *entry,
		 gfp_t flags)
{
	struct engine_pair *pair = find(xa, index);
	void *old;

	ENGINE_MUST(xa->xa_lock.held);
	if (!pair) {
		if (reserve_pair(xa))
			return ERR_PTR(-ENOMEM);
		pair = &xa->pairs[xa->count++];
		*pair = (struct engine_pair){index, NULL};
	}
	old = seen(pair->entry);
	pair->entry = entry ? entry : (void *)&reserved;
	return old;
}

void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t flags)
{
	void *old;

	xa_lock_bh(xa);
	old = __xa_store(xa, index, entry, flags);
	xa_unlock_bh(xa);
	return old;
}

int xa_insert(struct xarray *xa, unsigned long index, void *entry, gfp_t flags)
{
	if (find(xa, index))
		return -EBUSY;
	return xa_err(xa_store(xa, index, entry, flags));
}

void *__xa_erase(struct xarray *xa, unsigned long index)
{
	struct engine_pair *pair = find(xa, index);
	void *old;

	ENGINE_MUST(xa->xa_lock.held);
	if (!pair)
		return NULL;
	old = seen(pair->entry);
	*pair = xa->pairs[--xa->count];
	if (!xa->count) {
		kfree(xa->pairs);
		xa->pairs = NULL;
		xa->size = 0;
	}
	return old;
}

void *xa_erase(struct xarray *xa, unsigned long index)
{
	void *old;

	xa_lock_bh(xa);
	old = __xa_erase(xa, index);
	xa_unlock_bh(xa);
	return old;
}

void *xa_find(struct xarray *xa, unsigned long *index, unsigned long last,
	      unsigned int filter)
{
	const struct engine_pair *pair, *least = NULL;

	for (pair = xa->pairs; pair < xa->pairs + xa->count; pair++)
		if (pair->index >= *index && pair->index <= last &&
		    seen(pair->entry) && (!least || pair->index < least->index))
			least = pair;
	if (!least)
		return NULL;
	*index = least->index;
	return least->entry;
}

int xa_alloc_cyclic_bh(struct xarray *xa, u32 *index, void *entry,
		       struct xa_limit limit, u32 *next, gfp_t flags)
{
	u32 at = *next;

	do {
		if (!find(xa, at)) {
			*index = at;
			return xa_err(xa_store(xa, at, entry, flags));
		}
		at = at == limit.high ? limit.low : at + 1;
	} while (at != *next);
	return -EBUSY;
}

void *xas_find(struct xa_state *state, unsigned long last)
{
	return state->xa->count ? state->xa->pairs[0].entry : NULL;
}
