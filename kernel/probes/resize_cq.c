/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RESIZE_USER_CQ: only processes can resize a CQ, and the size is unsigned
 * RESIZE_CQ: the size of resize_cq is signed
 */
#include <rdma/ib_verbs.h>

#ifdef PAVO_HAS_RESIZE_USER_CQ
#define OP resize_user_cq
#define SIZE unsigned int
#else
#define OP resize_cq
#define SIZE int
#endif

static int resize_ring(struct ib_cq *cq, SIZE cqe, struct ib_udata *udata)
{
	return 0;
}

const struct ib_device_ops probe = { .OP = resize_ring };
