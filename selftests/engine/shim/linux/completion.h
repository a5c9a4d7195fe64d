/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* completion.h - for files of the module in user space; see linux/workqueue.h. */
#ifndef PAVO_ENGINE_LINUX_COMPLETION_H
#define PAVO_ENGINE_LINUX_COMPLETION_H

#include <linux/workqueue.h>

#endif /* PAVO_ENGINE_LINUX_COMPLETION_H */
