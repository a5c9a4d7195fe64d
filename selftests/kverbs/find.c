// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * find.c - find an adapter by its name. Newer kernels have no function for that: rdma core shows all
 * adapters to a client.
 */
#include <linux/string.h>
#include "kverbs.h"

static const char *wanted;
static struct ib_device *found;

static int look_at_adapter(struct ib_device *ib)
{
	if (!strcmp(dev_name(&ib->dev), wanted) && ib_device_try_get(ib))
		found = ib;
	return 0;
}

static void ignore_removal(struct ib_device *ib, void *data)
{
}

static struct ib_client finder = {
	.name = "kverbs",
	.add = look_at_adapter,
	.remove = ignore_removal,
};

struct ib_device *find_adapter(const char *name)
{
	wanted = name;
	if (ib_register_client(&finder))
		return NULL;
	ib_unregister_client(&finder);
	return found;
}
