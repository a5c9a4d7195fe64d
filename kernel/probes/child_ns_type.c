/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CONST_KOBJECT: child_ns_type gets a const kobject
 * PLAIN_KOBJECT: child_ns_type gets a kobject that it may change
 */
#include <linux/kobject.h>

#ifdef PAVO_HAS_CONST_KOBJECT
#define ARG const struct kobject *kobj
#else
#define ARG struct kobject *kobj
#endif

static const struct kobj_ns_type_operations *find_ns_type(ARG)
{
	return NULL;
}

const struct kobj_type probe = { .child_ns_type = find_ns_type };
