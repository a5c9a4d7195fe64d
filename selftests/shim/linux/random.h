/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* random.h - pseudo-random numbers, the same in each run. */
#ifndef PAVO_SHIM_RANDOM_H
#define PAVO_SHIM_RANDOM_H

#include <linux/kernel.h>

u32 get_random_u32(void);

#endif /* PAVO_SHIM_RANDOM_H */
