/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* list.h - doubly linked lists: a head is an element that is in no structure. */
#ifndef PAVO_SHIM_LIST_H
#define PAVO_SHIM_LIST_H

#include <linux/types.h>
#ifndef __cplusplus
#include <linux/kernel.h>
#endif

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

#define LIST_HEAD(name) struct list_head name = {&(name), &(name)}

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add_tail(struct list_head *entry,
				 struct list_head *head)
{
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	list_add_tail(entry, head->next);
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_del(struct list_head *entry)
{
	list_del_init(entry);
	entry->next = NULL;
	entry->prev = NULL;
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	list_del_init(entry);
	list_add(entry, head);
}

static inline void list_move_tail(struct list_head *entry,
				  struct list_head *head)
{
	list_del_init(entry);
	list_add_tail(entry, head);
}

static inline void list_splice_tail_init(struct list_head *from,
					 struct list_head *to)
{
	while (!list_empty(from))
		list_move_tail(from->next, to);
}

#define list_entry(at, type, member) container_of(at, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_next(at, member) \
	list_entry((at)->member.next, __typeof__(*(at)), member)
#define list_for_each_entry(at, head, member)                        \
	for (at = list_first_entry(head, __typeof__(*(at)), member); \
	     &(at)->member != (head); at = list_next(at, member))
#define list_prev(at, member) \
	list_entry((at)->member.prev, __typeof__(*(at)), member)
#define list_for_each_entry_reverse(at, head, member)                  \
	for (at = list_entry((head)->prev, __typeof__(*(at)), member); \
	     &(at)->member != (head); at = list_prev(at, member))
#define list_for_each_entry_safe(at, next_at, head, member)          \
	for (at = list_first_entry(head, __typeof__(*(at)), member), \
	    next_at = list_next(at, member);                         \
	     &(at)->member != (head);                                \
	     at = next_at, next_at = list_next(at, member))

/* One CPU: readers see a list before or after a change. */
#define list_for_each_entry_rcu(at, head, member, ...) \
	list_for_each_entry (at, head, member)
#define list_add_tail_rcu list_add_tail
/* An element that is removed leads on until a grace period is over. */
static inline void list_del_rcu(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	entry->prev = NULL;
}

#endif /* PAVO_SHIM_LIST_H */
