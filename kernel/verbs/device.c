// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * device.c - the adapter as rdma core sees it: its ops, limits, port, GUIDs;
 * ucontexts and protection domains.
 *
 * Called by main.c (pavo_verbs_setup()) and through the ops by rdma core.
 */
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>
#include "control/control.h"
#include "memory/memory.h"
#include "net/net.h"
#include "accounting.h"
#include "qp/qp.h"
#include "requester/ah.h"
#include "rings/mmap.h"
#include "rings/ucontext.h"
#include "verbs/pma.h"
#include "verbs/verbs.h"

#define PAVO_GID_TBL_LEN 1024

/* On-demand paging: explicit regions only, for every operation that uses memory. */
static void query_odp(struct ib_device_attr *attr)
{
	const u32 messages = IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
			     IB_ODP_SUPPORT_SRQ_RECV;
	const u32 all = messages | IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
			IB_ODP_SUPPORT_ATOMIC | PAVO_ODP_NEWER;
	struct ib_odp_caps *caps = &attr->odp_caps;

	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	caps->general_caps = IB_ODP_SUPPORT;
	caps->per_transport_caps.rc_odp_caps = all;
	caps->per_transport_caps.xrc_odp_caps = all;
	caps->per_transport_caps.uc_odp_caps = messages | IB_ODP_SUPPORT_WRITE;
	caps->per_transport_caps.ud_odp_caps = messages;
}

/* As struct ib_device_attr has it: 16 bits for each of three numbers. */
static u64 read_version(void)
{
	unsigned int major, minor, patch;

	if (sscanf(THIS_MODULE->version, "%u.%u.%u", &major, &minor, &patch) !=
	    3)
		return 0;
	return (u64)major << 32 | minor << 16 | patch;
}

static int query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	/* @udata is NULL when rdma core itself is the caller */
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = read_version();
	attr->sys_image_guid = ibdev->node_guid;
	/* the id for "no vendor" */
	attr->vendor_id = 0xffffff;
	attr->max_mr_size = PAVO_MAX_MR_SIZE;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = pavo_limit(PAVO_OBJ_QP);
	attr->max_qp_wr = PAVO_MAX_QP_WR;
	attr->device_cap_flags =
		IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_PORT_ACTIVE_EVENT |
		IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_SYS_IMAGE_GUID |
		IB_DEVICE_XRC | pavo_op_capabilities();
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY;
	if (PAVO_HAS_ODP)
		query_odp(attr);
	attr->max_send_sge = PAVO_MAX_SGE;
	attr->max_recv_sge = PAVO_MAX_SGE;
	attr->max_sge_rd = PAVO_MAX_SGE;
	attr->max_cq = pavo_limit(PAVO_OBJ_CQ);
	attr->max_cqe = PAVO_MAX_CQE;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	/* completions are stamped with CLOCK_MONOTONIC */
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = NSEC_PER_SEC / 1000; /* kHz */
	attr->max_mr = pavo_limit(PAVO_OBJ_MR);
	attr->max_mw = pavo_limit(PAVO_OBJ_MW);
	attr->max_fast_reg_page_list_len = PAVO_MAX_FAST_PAGES;
	attr->max_pd = pavo_limit(PAVO_OBJ_PD);
	attr->max_ah = pavo_limit(PAVO_OBJ_AH);
	attr->max_srq = pavo_limit(PAVO_OBJ_SRQ);
	attr->max_srq_wr = PAVO_MAX_SRQ_WR;
	attr->max_srq_sge = PAVO_MAX_SGE;
	attr->max_qp_rd_atom = PAVO_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = PAVO_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = PAVO_MAX_RD_ATOMIC * attr->max_qp;
	attr->max_mcast_grp = PAVO_MAX_MCAST_GRP;
	attr->max_total_mcast_qp_attach = pavo_limit(PAVO_OBJ_ATTACH);
	attr->max_mcast_qp_attach = min_t(int, PAVO_MAX_MCAST_QP_ATTACH,
					  attr->max_total_mcast_qp_attach);
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->masked_atomic_cap = IB_ATOMIC_HCA;
	attr->max_pkeys = 1;
	/* 4.096 us * 2^15 = 134 ms: a busy machine answers within that */
	attr->local_ca_ack_delay = 15;
	return 0;
}

/*
 * Query the interface's speed once per change of the link, since that takes RTNL. If it has
 * none, report the slowest.
 */
static void query_speed(struct pavo_dev *dev, struct ib_port_attr *attr)
{
	if (!READ_ONCE(dev->link_known)) {
		WRITE_ONCE(dev->link_known, true);
		if (ib_get_eth_speed(&dev->ib, PAVO_PORT, &dev->speed,
				     &dev->width)) {
			dev->speed = IB_SPEED_SDR;
			dev->width = IB_WIDTH_1X;
		}
	}
	attr->active_speed = dev->speed;
	attr->active_width = dev->width;
}

/* Set the attributes that depend on the interface; without one the port is disabled. */
static void query_link(struct pavo_dev *dev, struct ib_port_attr *attr)
{
	struct net_device *ndev;
	bool running = false, carrier = false;
	int mtu = 0;

	rcu_read_lock();
	ndev = rcu_dereference(dev->port.ndev);
	if (ndev) {
		running = netif_running(ndev);
		carrier = netif_carrier_ok(ndev);
		mtu = iboe_get_mtu(READ_ONCE(ndev->mtu));
	}
	rcu_read_unlock();

	attr->active_mtu = mtu ?: IB_MTU_256;
	if (running && carrier) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = running ? IB_PORT_PHYS_STATE_POLLING :
					     IB_PORT_PHYS_STATE_DISABLED;
	}
}

static int query_port(struct ib_device *ibdev, u32 port,
		      struct ib_port_attr *attr)
{
	struct pavo_dev *dev = to_pavo_dev(ibdev);

	attr->max_mtu = IB_MTU_4096;
	attr->gid_tbl_len = PAVO_GID_TBL_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = PAVO_MAX_MSG_SIZE;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	attr->bad_pkey_cntr = atomic_read(&dev->bad_pkeys);
	attr->qkey_viol_cntr = atomic_read(&dev->bad_qkeys);
	query_link(dev, attr);
	query_speed(dev, attr);
	return 0;
}

static int get_port_immutable(struct ib_device *ibdev, u32 port,
			      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->gid_tbl_len = PAVO_GID_TBL_LEN;
	immutable->pkey_tbl_len = 1;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = PAVO_PKEY_DEFAULT;
	return 0;
}

/* The firmware of a software adapter is the module. */
static void print_version(struct ib_device *ibdev, char *str)
{
	strscpy(str, THIS_MODULE->version, IB_FW_VERSION_NAME_MAX);
}

static int alloc_ucontext(struct ib_ucontext *ibuctx, struct ib_udata *udata)
{
	struct pavo_ucontext *uctx = to_pavo_uctx(ibuctx);
	struct pavo_alloc_ucontext_resp resp = {
		.abi_version = PAVO_ABI_VERSION,
	};
	int err;

	BUILD_BUG_ON(sizeof(struct pavo_doorbell_page) > PAGE_SIZE);
	if (udata->outlen < sizeof(resp))
		return -EINVAL;

	spin_lock_init(&uctx->db_lock);
	uctx->page_mmap =
		pavo_mmap_create(ibuctx, sizeof(*uctx->page), &resp.doorbell);
	if (!uctx->page_mmap)
		return -ENOMEM;
	uctx->page = uctx->page_mmap->addr;
	pavo_worker_init(&uctx->worker, &uctx->page->flags, PAVO_DB_NEED_KICK);

	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		pavo_mmap_destroy(uctx->page_mmap);
	return err;
}

static void dealloc_ucontext(struct ib_ucontext *ibuctx)
{
	pavo_mmap_destroy(to_pavo_uctx(ibuctx)->page_mmap);
}

/*
 * The device is removed while a process has it open. rdma core destroys its objects and reports
 * a fatal event; areas that are still mapped become plain memory. Because this op exists, rdma
 * core does not wait for the process.
 */
static void disassociate_ucontext(struct ib_ucontext *ibuctx)
{
}

static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct pavo_dev *dev = to_pavo_dev(ibpd->device);
	struct pavo_pd *pd = to_pavo_pd(ibpd);
	int err;

	if (pavo_charge(&pd->charge, sizeof(*pd), udata))
		return -ENOMEM;
	pd->account = pavo_caller_get_account_if(udata);
	err = pavo_object_take(dev, PAVO_OBJ_PD, pd->account);
	if (err) {
		pavo_charge_end(pd->charge);
		return err;
	}
	pavo_rkm_list_init(&pd->rkm);
	return 0;
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct pavo_dev *dev = to_pavo_dev(ibpd->device);

	/* A queue pair of XRC, without a PD of its own, may still have queued a walk. */
	pavo_rkm_settle(dev);
	pavo_rkm_part(dev, to_pavo_pd(ibpd));
	pavo_object_give(dev, PAVO_OBJ_PD, to_pavo_pd(ibpd)->account);
	pavo_charge_end(to_pavo_pd(ibpd)->charge);
	return 0;
}

/* The provider matches on this attribute: pavo has no driver id in the kernel's list. */
static ssize_t pavo_abi_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", PAVO_ABI_VERSION);
}

DEVICE_ATTR_RO(pavo_abi);

/* Monitoring tools read hca_type and board_id of every adapter, and leave out one without. */
static ssize_t hca_type_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "pavo\n");
}

DEVICE_ATTR_RO(hca_type);

static ssize_t board_id_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "pavo\n");
}

DEVICE_ATTR_RO(board_id);

static struct ib_mr *reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				 u64 iova, int access, PAVO_REG_MR_ARGS)
{
	return pavo_reg_user_mr(ibpd, start, length, iova, access, udata);
}

static struct ib_mr *reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length,
				   u64 iova, int fd, int access,
				   PAVO_REG_DMABUF_ARGS)
{
	return pavo_reg_dmabuf_mr(ibpd, offset, length, iova, fd, access);
}

static const struct ib_device_ops pavo_device_ops = {
	.query_device = query_device,
	.query_port = query_port,
	.query_pkey = query_pkey,
	.get_port_immutable = get_port_immutable,
	.get_link_layer = get_link_layer,
	.get_dev_fw_str = print_version,
	.alloc_hw_port_stats = pavo_alloc_hw_port_stats,
	.alloc_hw_device_stats = pavo_alloc_hw_device_stats,
	.get_hw_stats = pavo_get_hw_stats,
	.process_mad = pavo_process_mad,
	.fill_res_qp_entry = pavo_fill_res_qp_entry,
	.fill_res_cq_entry = pavo_fill_res_cq_entry,
	.fill_res_mr_entry = pavo_fill_res_mr_entry,

	.alloc_ucontext = alloc_ucontext,
	.dealloc_ucontext = dealloc_ucontext,
	.disassociate_ucontext = disassociate_ucontext,
	.mmap = pavo_mmap,
	.mmap_free = pavo_mmap_free,

	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.create_ah = pavo_create_ah,
	.create_user_ah = pavo_create_ah,
	.query_ah = pavo_query_ah,
	.destroy_ah = pavo_destroy_ah,
	.create_cq = pavo_create_cq,
	.destroy_cq = pavo_destroy_cq,
	.pavo_resize_cq_op = pavo_resize_cq,
	.modify_cq = pavo_modify_cq,
	.poll_cq = pavo_poll_cq,
	.req_notify_cq = pavo_req_notify_cq,
	.attach_mcast = pavo_attach_mcast,
	.detach_mcast = pavo_detach_mcast,
	.alloc_xrcd = pavo_alloc_xrcd,
	.dealloc_xrcd = pavo_dealloc_xrcd,
	.create_srq = pavo_create_srq,
	.modify_srq = pavo_modify_srq,
	.query_srq = pavo_query_srq,
	.destroy_srq = pavo_destroy_srq,
	.post_srq_recv = pavo_post_srq_recv,
	.create_qp = pavo_create_qp,
	.modify_qp = pavo_modify_qp,
	.query_qp = pavo_query_qp,
	.destroy_qp = pavo_destroy_qp,
	.post_send = pavo_post_send,
	.post_recv = pavo_post_recv,
	.get_dma_mr = pavo_get_dma_mr,
	.reg_user_mr = reg_user_mr,
	.alloc_mr = pavo_alloc_mr,
	.map_mr_sg = pavo_map_mr_sg,
	.reg_user_mr_dmabuf = reg_dmabuf_mr,
	.advise_mr = pavo_advise_mr,
	.rereg_user_mr = pavo_rereg_user_mr,
	.dereg_mr = pavo_dereg_mr,
	.alloc_mw = pavo_alloc_mw,
	.dealloc_mw = pavo_dealloc_mw,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, pavo_ucontext, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, pavo_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_ah, pavo_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, pavo_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, pavo_xrcd, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, pavo_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, pavo_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, pavo_mw, ib),
};

/**
 * pavo_verbs_setup - fill in ops before registration.
 * @dev: the adapter
 * @ndev: its interface; the GUID is made of its address and stays when the address changes, as
 *        IBA requires
 */
void pavo_verbs_setup(struct pavo_dev *dev, const struct net_device *ndev)
{
	struct ib_device *ib = &dev->ib;

	strscpy(ib->node_desc, "pavo", sizeof(ib->node_desc));
	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = num_possible_cpus();
	ib->local_dma_lkey = 0;
	addrconf_addr_eui48((void *)&ib->node_guid, ndev->dev_addr);
	/* kicks of the doorbell page and of receive queues, and arming a CQ */
	ib->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
			       BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
			       BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	ib_set_device_ops(ib, &pavo_device_ops);
	ib_set_device_ops(ib, &pavo_counter_ops);
	ib_set_device_ops(ib, &pavo_comp_cntr_ops);
}
