/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* signal.h - for files of the module in user space; see linux/sched.h. */
#ifndef PAVO_ENGINE_LINUX_SCHED_SIGNAL_H
#define PAVO_ENGINE_LINUX_SCHED_SIGNAL_H

#include <linux/sched.h>

#endif /* PAVO_ENGINE_LINUX_SCHED_SIGNAL_H */
