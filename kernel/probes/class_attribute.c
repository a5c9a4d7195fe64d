/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CONST_CLASS: a file of a class gets a const class and attribute
 * PLAIN_CLASS: a file of a class gets a class and attribute that it may change
 */
#include <linux/device/class.h>

#ifdef PAVO_HAS_CONST_CLASS
#define CONST const
#else
#define CONST
#endif

static ssize_t show_attribute(CONST struct class *class,
			      CONST struct class_attribute *attr, char *buf)
{
	return 0;
}

const struct class_attribute probe = { .show = show_attribute };
