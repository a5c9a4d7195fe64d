/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * parameter.h - parameters of the module that have a range: a value outside of it is refused, and
 * the log names the range. Used by the owner of each parameter.
 */
#ifndef PAVO_PARAMETER_H
#define PAVO_PARAMETER_H

#include <linux/moduleparam.h>

/**
 * struct pavo_range - values of a parameter.
 * @value: an int or unsigned int, which users read with READ_ONCE() if @mode allows writing
 * @least: least value; negative: @value is an int
 * @most:  highest value
 */
struct pavo_range {
	int *value;
	int least;
	unsigned int most;
};

#define pavo_range_param(name, variable, least, most, mode)  \
	static const struct pavo_range pavo_range_##name = { \
		(int *)&(variable), least, most              \
	};                                                   \
	module_param_cb(name, &pavo_range_ops, (void *)&pavo_range_##name, mode)

extern const struct kernel_param_ops pavo_range_ops;

#endif /* PAVO_PARAMETER_H */
