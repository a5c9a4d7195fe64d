/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CREATE_CQ_ATTRS: create_cq gets all attributes
 * CREATE_CQ_UDATA: create_cq gets the driver's part of the attributes
 */
#include <rdma/ib_verbs.h>

#ifdef PAVO_HAS_CREATE_CQ_ATTRS
#define ARGS struct uverbs_attr_bundle *attrs
#else
#define ARGS struct ib_udata *udata
#endif

static int create_ring(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		       ARGS)
{
	return 0;
}

const struct ib_device_ops probe = { .create_cq = create_ring };
