/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * module.h - parameters of the module are variables. Those with a range are in a table, by which the
 * engine sets them (engine.h); the others keep their first value.
 */
#ifndef PAVO_SHIM_MODULE_H
#define PAVO_SHIM_MODULE_H

#include <linux/kernel.h>

#define ENGINE_NOTHING(name) _Static_assert(1, #name)
#define module_param(name, type, mode) ENGINE_NOTHING(name)
#define module_param_named(name, value, type, mode) ENGINE_NOTHING(name)
/* An entry of the section, between the symbols that the linker makes for it. */
struct engine_param {
	const char *name;
	const void *range;
};

#define module_param_cb(name, ops, range, mode)                           \
	static const struct engine_param engine_param_##name              \
		__attribute__((used, section("engine_params"))) = {#name, \
								   range}
#define MODULE_PARM_DESC(name, text) ENGINE_NOTHING(name)

#endif /* PAVO_SHIM_MODULE_H */
