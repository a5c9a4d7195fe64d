/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sched.h - the one process of the engine, and its user. */
#ifndef PAVO_SHIM_SCHED_H
#define PAVO_SHIM_SCHED_H

#include <linux/kernel.h>

struct mm_struct;

struct task_struct {
	struct mm_struct *mm;
	unsigned int flags;
};

extern struct task_struct engine_task;

#define current (&engine_task)
#define PF_KTHREAD 1u
#define cond_resched() ((void)0)
#define fatal_signal_pending(task) false

typedef struct {
	unsigned int val;
} kuid_t;

struct user_namespace {
	const struct user_namespace *parent;
	kuid_t owner;
};

extern struct user_namespace init_user_ns;

#define GLOBAL_ROOT_UID ((kuid_t){0})
#define INVALID_UID ((kuid_t){-1u})
#define current_user_ns() (&init_user_ns)
#define current_euid() GLOBAL_ROOT_UID
#define __kuid_val(uid) ((uid).val)
#define uid_eq(a, b) ((a).val == (b).val)
#define uid_valid(uid) true
#define make_kuid(ns, uid) ((kuid_t){uid})

#endif /* PAVO_SHIM_SCHED_H */
