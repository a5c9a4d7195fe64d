/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* module.h - parameters of the module are variables that keep their first value. */
#ifndef PAVO_SHIM_MODULE_H
#define PAVO_SHIM_MODULE_H

#include <linux/kernel.h>

#define ENGINE_NOTHING(name) _Static_assert(1, #name)
#define module_param(name, type, mode) ENGINE_NOTHING(name)
#define module_param_named(name, value, type, mode) ENGINE_NOTHING(name)
#define module_param_cb(name, ops, range, mode)      \
	static const void *const engine_param_##name \
		__attribute__((unused)) = (range)
#define MODULE_PARM_DESC(name, text) ENGINE_NOTHING(name)

#endif /* PAVO_SHIM_MODULE_H */
