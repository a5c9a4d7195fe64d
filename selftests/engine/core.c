// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * core.c - stands for rdma core, and for files of the module that the engine leaves out: shared
 * memory, pinned memory, multicast groups.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "memory/memory.h"
#include "memory/memory_private.h"
#include "net/net.h"
#include "qp/mcast.h"
#include "qp/qp.h"
#include "rings/mmap.h"
#include "runtime.h"

const __u8 engine_address[ENGINE_ADDRESSES][16] = {
	{[10] = 0xff, [11] = 0xff, [12] = 10, 9, 0, 1},
	{0xfd, 0, 0, 9, [15] = 1},
	{[10] = 0xff, [11] = 0xff, [12] = 10, 9, 0, 3},
	{0xfd, 0, 0, 9, [15] = 3},
};

/* ------------------------------------------------------------- rdma core */

const struct ib_gid_attr *rdma_get_gid_attr(struct ib_device *device, u32 port,
					    int index)
{
	static struct ib_gid_attr attrs[ENGINE_ADDRESSES];

	if (index < 0 || index >= ENGINE_ADDRESSES)
		return ERR_PTR(-EINVAL);
	attrs[index].device = device;
	memcpy(attrs[index].gid.raw, engine_address[index], 16);
	return &attrs[index];
}

void rdma_put_gid_attr(const struct ib_gid_attr *attr)
{
}

int ib_query_port(struct ib_device *device, u32 port, struct ib_port_attr *attr)
{
	attr->active_mtu = IB_MTU_4096;
	return 0;
}

enum ib_mtu iboe_get_mtu(int mtu)
{
	return IB_MTU_4096;
}

/* Attributes that a transition requires (IBA 11.2.5.2). */
static int required(enum ib_qp_state from, enum ib_qp_state to,
		    enum ib_qp_type type)
{
	const int requester = IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			      IB_QP_MAX_QP_RD_ATOMIC;
	const int responder = IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	const int path = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			 IB_QP_RQ_PSN;
	bool ud = type == IB_QPT_UD || type == IB_QPT_GSI;
	bool reliable = !ud && type != IB_QPT_UC;
	int mask = 0;

	if (from == IB_QPS_RESET && to == IB_QPS_INIT) {
		mask = IB_QP_PKEY_INDEX | IB_QP_PORT;
		mask |= ud ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS;
	} else if (from == IB_QPS_INIT && to == IB_QPS_RTR && !ud) {
		mask = path;
		if (reliable && type != IB_QPT_XRC_INI)
			mask |= responder;
	} else if (from == IB_QPS_RTR && to == IB_QPS_RTS) {
		mask = IB_QP_SQ_PSN;
		if (reliable)
			mask |= IB_QP_TIMEOUT;
		if (reliable && type != IB_QPT_XRC_TGT)
			mask |= requester;
	}
	return mask;
}

/* Optional attributes of a transition are not checked. */
bool ib_modify_qp_is_ok(enum ib_qp_state from, enum ib_qp_state to,
			enum ib_qp_type type, int mask)
{
	static const u8 next[] = {
		[IB_QPS_RESET] = BIT(IB_QPS_INIT),
		[IB_QPS_INIT] = BIT(IB_QPS_INIT) | BIT(IB_QPS_RTR),
		[IB_QPS_RTR] = BIT(IB_QPS_RTS),
		[IB_QPS_RTS] = BIT(IB_QPS_RTS) | BIT(IB_QPS_SQD),
		[IB_QPS_SQD] = BIT(IB_QPS_RTS) | BIT(IB_QPS_SQD),
		[IB_QPS_SQE] = BIT(IB_QPS_RTS),
		[IB_QPS_ERR] = 0,
	};
	int need = required(from, to, type);

	if (to == IB_QPS_RESET || to == IB_QPS_ERR)
		return true;
	return next[from] & BIT(to) && (mask & need) == need;
}

/* --------------------------------------------------------- shared memory */

struct pavo_mmap *pavo_mmap_create(struct ib_ucontext *uctx, size_t size,
				   struct pavo_mmap_info *info)
{
	struct pavo_mmap *mmap = kzalloc(sizeof(*mmap), GFP_KERNEL);
	__u64 offset = 0;

	if (!mmap)
		return NULL;
	mmap->entry.ucontext = uctx;
	size = PAGE_ALIGN(size);
	mmap->addr = uctx ? engine_host->share(size, &offset) :
			    engine_alloc(size, GFP_KERNEL);
	if (!mmap->addr) {
		kfree(mmap);
		return NULL;
	}
	if (uctx) {
		info->offset = offset;
		info->size = size;
	}
	return mmap;
}

/* Memory that a process has mapped is not freed before the program ends. */
void pavo_mmap_destroy(struct pavo_mmap *mmap)
{
	if (!mmap)
		return;
	if (!mmap->entry.ucontext)
		kfree(mmap->addr);
	kfree(mmap);
}

/* --------------------------------------------------------- pinned memory */

struct pavo_pin *pavo_pin(const void *owner, u64 start, u64 length,
			  bool writable)
{
	unsigned long count = PFN_UP(offset_in_page(start) + length), i;
	struct pavo_pin *pin;

	pin = kzalloc(struct_size(pin, pages, count), GFP_KERNEL);
	if (!pin)
		return ERR_PTR(-ENOMEM);
	pin->writable = writable;
	pin->key.npages = count;
	for (i = 0; i < count; i++)
		pin->pages[i] = virt_to_page(start + i * PAGE_SIZE);
	return pin;
}

void pavo_unpin(struct pavo_pin *pin, const struct mm_struct *mm)
{
	kfree(pin);
}

void pavo_dmabuf_release(struct pavo_dmabuf *dmabuf)
{
	ENGINE_MUST(!dmabuf);
}

/* ---------------------------------------------------------------- groups */

int pavo_mcast_attach(struct pavo_qp *qp, const struct in6_addr *gid)
{
	return -EOPNOTSUPP;
}

int pavo_mcast_detach(struct pavo_qp *qp, const struct in6_addr *gid)
{
	return -EOPNOTSUPP;
}

u32 pavo_mcast_for_each(struct pavo_dev *dev, const struct in6_addr *gid,
			void (*take)(struct pavo_qp *, const struct pavo_rx *),
			const struct pavo_rx *rx)
{
	return 0;
}
