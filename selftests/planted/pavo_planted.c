// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo_planted.c - bugs on purpose, one of each kind the guests look for.
 *
 * Proves that a test on the sanitizer kernel would have failed had pavo such a
 * bug. Loaded in a throw-away guest by selftests/planted/run, which expects the
 * report; has nothing to do with pavo itself.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

MODULE_DESCRIPTION("Bugs on purpose, to test the tests");
MODULE_AUTHOR("pavo developers");
MODULE_LICENSE("Dual BSD/GPL");

static char *bug = "none";
module_param(bug, charp, 0444);
MODULE_PARM_DESC(
	bug,
	"none, use-after-free, lock-inversion, leak, atomic-sleep or shift");

static noinline void planted_use_after_free(void)
{
	u8 *memory = kzalloc(128, GFP_KERNEL);

	if (!memory)
		return;
	kfree(memory);
	pr_info("planted: read %d from freed memory\n", READ_ONCE(memory[64]));
}

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static noinline void planted_lock_inversion(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

/* Several blocks: the address of one may linger on a stack. */
static noinline void planted_leak(void)
{
	int i;

	for (i = 0; i < 16; i++) {
		u8 *memory = kmalloc(192, GFP_KERNEL);

		if (memory)
			memset(memory, i, 192);
	}
}

static DEFINE_SPINLOCK(spin);

static noinline void planted_atomic_sleep(void)
{
	spin_lock(&spin);
	msleep(20);
	spin_unlock(&spin);
}

static noinline void planted_shift(void)
{
	static atomic_t bits = ATOMIC_INIT(40);

	pr_info("planted: %d\n", 1 << atomic_read(&bits));
}

static const struct {
	const char *name;
	void (*plant)(void);
} bugs[] = {
	{"use-after-free", planted_use_after_free},
	{"lock-inversion", planted_lock_inversion},
	{"leak", planted_leak},
	{"atomic-sleep", planted_atomic_sleep},
	{"shift", planted_shift},
};

static int __init planted_init(void)
{
	unsigned int i;

	if (!strcmp(bug, "none"))
		return 0;
	for (i = 0; i < ARRAY_SIZE(bugs); i++) {
		if (!strcmp(bug, bugs[i].name)) {
			bugs[i].plant();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
