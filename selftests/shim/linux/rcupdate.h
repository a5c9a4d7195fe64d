/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rcupdate.h - RCU of one CPU: a grace period is over when no section is open and the engine
 * comes to rest (memory.c). Until then memory given to kfree_rcu() can be read.
 */
#ifndef PAVO_SHIM_RCUPDATE_H
#define PAVO_SHIM_RCUPDATE_H

#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

struct rcu_head {
	struct rcu_head *next;
};

/* Sections that are open. */
extern int engine_reading;

void engine_free_deferred(void *memory);
/* End the grace period of all memory that was passed to engine_free_deferred(). */
void engine_grace_period(void);

#define rcu_read_lock() ((void)engine_reading++)
#define rcu_read_unlock()                        \
	do {                                     \
		ENGINE_MUST(engine_reading > 0); \
		engine_reading--;                \
	} while (0)
#define rcu_read_lock_held() (engine_reading > 0)
#define rcu_read_lock_any_held() (engine_reading > 0 || engine_spinning > 0)

#define rcu_dereference(p)                       \
	({                                       \
		ENGINE_MUST(engine_reading > 0); \
		(p);                             \
	})
#define rcu_dereference_protected(p, allowed) \
	({                                    \
		ENGINE_MUST(allowed);         \
		(p);                          \
	})
#define rcu_access_pointer(p) (p)
#define rcu_assign_pointer(p, value) ((void)((p) = (value)))
#define rcu_replace_pointer(p, value, allowed) \
	({                                     \
		__auto_type _was = (p);        \
		ENGINE_MUST(allowed);          \
		(p) = (value);                 \
		_was;                          \
	})

#define kfree_rcu(p, member) engine_free_deferred(p)

static inline void synchronize_rcu_expedited(void)
{
	engine_may_sleep();
	engine_grace_period();
}

#endif /* PAVO_SHIM_RCUPDATE_H */
