/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* lockdep.h - the engine has no interrupts; locks are in spinlock.h. */
#ifndef PAVO_ENGINE_LINUX_LOCKDEP_H
#define PAVO_ENGINE_LINUX_LOCKDEP_H

#define lockdep_assert_in_softirq() ((void)0)

#endif /* PAVO_ENGINE_LINUX_LOCKDEP_H */
