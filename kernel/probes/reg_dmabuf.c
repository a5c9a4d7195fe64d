/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * REG_DMABUF_DMAH: reg_user_mr_dmabuf gets a DMA handle and all attributes
 * REG_DMABUF_ATTRS: reg_user_mr_dmabuf gets all attributes
 * REG_DMABUF_UDATA: reg_user_mr_dmabuf gets the driver's part of the attributes
 */
#include <rdma/ib_verbs.h>

#if defined(PAVO_HAS_REG_DMABUF_DMAH)
#define ARGS struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs
#elif defined(PAVO_HAS_REG_DMABUF_ATTRS)
#define ARGS struct uverbs_attr_bundle *attrs
#else
#define ARGS struct ib_udata *udata
#endif

static struct ib_mr *reg_dmabuf_memory(struct ib_pd *pd, u64 offset, u64 length,
				       u64 iova, int fd, int access, ARGS)
{
	return NULL;
}

const struct ib_device_ops probe = { .reg_user_mr_dmabuf = reg_dmabuf_memory };
