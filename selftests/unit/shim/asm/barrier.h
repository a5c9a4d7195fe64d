/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * barrier.h - of the kernel's <asm/barrier.h> what the pure C files of the module
 * need when they are built in user space.
 */
#ifndef PAVO_SHIM_BARRIER_H
#define PAVO_SHIM_BARRIER_H

#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

#endif /* PAVO_SHIM_BARRIER_H */
