/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* percpu.h - stands for the kernel's header: counters are declared, and not written. */
#ifndef SHIM_LINUX_PERCPU_H
#define SHIM_LINUX_PERCPU_H

#define __percpu

#endif
