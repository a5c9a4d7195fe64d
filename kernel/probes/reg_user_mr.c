/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * REG_MR_DMAH: reg_user_mr gets a DMA handle
 * REG_MR_UDATA: reg_user_mr gets no DMA handle
 */
#include <rdma/ib_verbs.h>

#ifdef PAVO_HAS_REG_MR_DMAH
#define ARGS struct ib_dmah *dmah, struct ib_udata *udata
#else
#define ARGS struct ib_udata *udata
#endif

static struct ib_mr *reg_user_memory(struct ib_pd *pd, u64 start, u64 length,
				     u64 iova, int access, ARGS)
{
	return NULL;
}

const struct ib_device_ops probe = { .reg_user_mr = reg_user_memory };
