/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* percpu.h - the engine has one CPU. */
#ifndef PAVO_SHIM_PERCPU_H
#define PAVO_SHIM_PERCPU_H

#include <linux/slab.h>

#define alloc_percpu(type) ((type *)engine_alloc(sizeof(type), GFP_KERNEL))
#define free_percpu kfree
#define per_cpu_ptr(p, cpu) (p)
#define DECLARE_PER_CPU(type, name) extern type name
#define DEFINE_PER_CPU(type, name) type name
#define this_cpu_read(variable) (variable)
#define this_cpu_add(counter, n) ((void)((counter) += (n)))
#define raw_cpu_add(counter, n) ((void)((counter) += (n)))
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < 1; (cpu)++)

#endif /* PAVO_SHIM_PERCPU_H */
