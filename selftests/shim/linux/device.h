/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* device.h - the device above an adapter, of which the engine has none. */
#ifndef PAVO_SHIM_DEVICE_H
#define PAVO_SHIM_DEVICE_H

#include <linux/kernel.h>

struct device;

struct kobject {
	int unused;
};

#endif /* PAVO_SHIM_DEVICE_H */
