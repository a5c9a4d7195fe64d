/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kconfig.h - for files of the module in user space; see linux/kernel.h. */
#ifndef PAVO_ENGINE_LINUX_KCONFIG_H
#define PAVO_ENGINE_LINUX_KCONFIG_H

#include <linux/kernel.h>

#endif /* PAVO_ENGINE_LINUX_KCONFIG_H */
