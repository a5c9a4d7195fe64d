/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * spinlock.h - locks that know whether they are held. There is one CPU, so to lock what is held
 * would wait for ever: that, and every unlock of a free lock, ends the engine.
 */
#ifndef PAVO_SHIM_SPINLOCK_H
#define PAVO_SHIM_SPINLOCK_H

#include <linux/atomic.h>

typedef struct {
	bool held;
} spinlock_t;

struct mutex {
	bool held;
};

typedef struct {
	int count;
} refcount_t;

/* Spin locks that are held, and sections with BH or interrupts disabled. */
extern int engine_spinning;

/* Ends the engine where the module may not sleep. */
void engine_may_sleep(void);

#define spin_lock_init(lock) ((void)((lock)->held = false))
#define lockdep_is_held(lock) ((lock)->held)
#define lockdep_assert_held(lock) ENGINE_MUST((lock)->held)
#define lockdep_assert_in_softirq() ((void)0)

#define spin_lock(lock)                     \
	do {                                \
		ENGINE_MUST(!(lock)->held); \
		(lock)->held = true;        \
		engine_spinning++;          \
	} while (0)
#define spin_unlock(lock)                  \
	do {                               \
		ENGINE_MUST((lock)->held); \
		(lock)->held = false;      \
		engine_spinning--;         \
	} while (0)

static inline bool spin_trylock(spinlock_t *lock)
{
	if (lock->held)
		return false;
	spin_lock(lock);
	return true;
}

#define spin_lock_bh(lock) spin_lock(lock)
#define spin_unlock_bh(lock) spin_unlock(lock)
#define spin_trylock_bh(lock) spin_trylock(lock)
#define spin_lock_irqsave(lock, flags) \
	do {                           \
		(flags) = 1;           \
		spin_lock(lock);       \
	} while (0)
#define spin_unlock_irqrestore(lock, flags) \
	do {                                \
		ENGINE_MUST(flags);         \
		spin_unlock(lock);          \
	} while (0)

#define local_bh_disable() ((void)engine_spinning++)
#define local_bh_enable() ((void)engine_spinning--)
#define smp_processor_id() 0
#define irqs_disabled() false
#define in_hardirq() false
#define in_serving_softirq() false
#define in_softirq() false
#define in_task() true

#define mutex_init(mutex) ((void)((mutex)->held = false))
#define mutex_destroy(mutex) ((void)(mutex))
#define DEFINE_MUTEX(name) struct mutex name

static inline void mutex_lock(struct mutex *mutex)
{
	engine_may_sleep();
	ENGINE_MUST(!mutex->held);
	mutex->held = true;
}

static inline void mutex_unlock(struct mutex *mutex)
{
	ENGINE_MUST(mutex->held);
	mutex->held = false;
}

static inline void refcount_set(refcount_t *refs, int n)
{
	refs->count = n;
}

static inline void refcount_inc(refcount_t *refs)
{
	ENGINE_MUST(refs->count > 0);
	refs->count++;
}

static inline bool refcount_dec_and_test(refcount_t *refs)
{
	ENGINE_MUST(refs->count > 0);
	return !--refs->count;
}

static inline bool refcount_dec_and_mutex_lock(refcount_t *refs,
					       struct mutex *mutex)
{
	if (!refcount_dec_and_test(refs))
		return false;
	mutex_lock(mutex);
	return true;
}

#endif /* PAVO_SHIM_SPINLOCK_H */
