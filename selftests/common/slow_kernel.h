/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * slow_kernel.h - is this a kernel with checkers? It is several times slower than others; as
 * slow_kernel in selftests/verbs/lib.sh.
 */
#ifndef PAVO_COMMON_SLOW_KERNEL_H
#define PAVO_COMMON_SLOW_KERNEL_H

#include <unistd.h>

namespace common {

inline bool slow_kernel()
{
	return !access("/sys/kernel/debug/kmemleak", F_OK) ||
	       !access("/sys/kernel/debug/kcsan", F_OK);
}

} // namespace common

#endif /* PAVO_COMMON_SLOW_KERNEL_H */
