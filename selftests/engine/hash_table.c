// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hash_table.c - the engine's hash table (rhashtable.h), for few objects.
 */
#include <linux/rhashtable.h>

int rhashtable_init(struct rhashtable *ht,
		    const struct rhashtable_params *params)
{
	*ht = (struct rhashtable){.tbl = params};
	INIT_WORK(&ht->run_work, NULL);
	return 0;
}

void rhashtable_destroy(struct rhashtable *ht)
{
	ENGINE_MUST(!ht->first);
	*ht = (struct rhashtable){};
}

static const void *object_of(const struct rhash_head *head,
			     const struct rhashtable_params *params)
{
	return (const char *)head - params->head_offset;
}

void *rhashtable_lookup_fast(struct rhashtable *ht, const void *key,
			     struct rhashtable_params params)
{
	struct rhashtable_compare_arg arg = {ht, key};
	struct rhash_head *head;

	for (head = ht->first; head; head = head->next) {
		const void *object = object_of(head, &params);

		if (params.obj_cmpfn(&arg, object))
			continue;
		ENGINE_MUST(params.hashfn(key, params.key_len, 1) ==
			    params.obj_hashfn(object, params.key_len, 1));
		return (void *)object;
	}
	return NULL;
}

int rhashtable_lookup_insert_key(struct rhashtable *ht, const void *key,
				 struct rhash_head *head,
				 struct rhashtable_params params)
{
	if (rhashtable_lookup_fast(ht, key, params))
		return -EEXIST;
	head->next = ht->first;
	ht->first = head;
	atomic_inc(&ht->nelems);
	ENGINE_MUST(rhashtable_lookup_fast(ht, key, params) ==
		    object_of(head, &params));
	return 0;
}

/* The pointer to @head, which is in the table. */
static struct rhash_head **find_link(struct rhashtable *ht,
				     struct rhash_head *head)
{
	struct rhash_head **link = &ht->first;

	while (*link != head) {
		ENGINE_MUST(*link);
		link = &(*link)->next;
	}
	return link;
}

void rhashtable_remove_fast(struct rhashtable *ht, struct rhash_head *head,
			    struct rhashtable_params params)
{
	*find_link(ht, head) = head->next;
	atomic_dec(&ht->nelems);
}

void rhashtable_replace_fast(struct rhashtable *ht, struct rhash_head *from,
			     struct rhash_head *to,
			     struct rhashtable_params params)
{
	ENGINE_MUST(
		params.obj_hashfn(object_of(from, &params), params.key_len,
				  1) ==
		params.obj_hashfn(object_of(to, &params), params.key_len, 1));
	to->next = from->next;
	*find_link(ht, from) = to;
}
