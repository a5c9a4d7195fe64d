/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* moduleparam.h - for files of the module in user space; see linux/module.h. */
#ifndef PAVO_ENGINE_LINUX_MODULEPARAM_H
#define PAVO_ENGINE_LINUX_MODULEPARAM_H

#include <linux/module.h>

#endif /* PAVO_ENGINE_LINUX_MODULEPARAM_H */
