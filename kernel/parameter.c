// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* parameter.c - sets and shows parameters of the module; see parameter.h. Called by the kernel. */
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/sysfs.h>
#include "parameter.h"

static int set_in_range(const char *text, const struct kernel_param *param)
{
	const struct pavo_range *range = param->arg;
	long long value;
	int err;

	err = kstrtoll(text, 0, &value);
	if (!err && value >= range->least && value <= range->most) {
		WRITE_ONCE(*range->value, value);
		return 0;
	}
	pr_err_ratelimited("parameter %s: give %d to %u\n", param->name,
			   range->least, range->most);
	return -EINVAL;
}

static int show_in_range(char *buf, const struct kernel_param *param)
{
	const struct pavo_range *range = param->arg;
	int value = READ_ONCE(*range->value);

	return range->least < 0 ? sysfs_emit(buf, "%d\n", value) :
				  sysfs_emit(buf, "%u\n", (u32)value);
}

const struct kernel_param_ops pavo_range_ops = {
	.set = set_in_range,
	.get = show_in_range,
};
