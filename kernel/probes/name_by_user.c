/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * NAME_BY_USER: an adapter's name can be marked as given by the user
 */
#include <rdma/ib_verbs.h>

void probe(struct ib_device *ib)
{
	ib_mark_name_assigned_by_user(ib);
}
