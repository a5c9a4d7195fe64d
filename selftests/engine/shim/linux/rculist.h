/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rculist.h - for files of the module in user space; see linux/list.h linux/rcupdate.h. */
#ifndef PAVO_ENGINE_LINUX_RCULIST_H
#define PAVO_ENGINE_LINUX_RCULIST_H

#include <linux/list.h>
#include <linux/rcupdate.h>

#endif /* PAVO_ENGINE_LINUX_RCULIST_H */
