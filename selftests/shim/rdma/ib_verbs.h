/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ib_verbs.h - the part of rdma core that the module's files use: objects with the fields that
 * they read, and constants, which are those of the verbs in user space.
 */
#ifndef PAVO_SHIM_IB_VERBS_H
#define PAVO_SHIM_IB_VERBS_H

#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_user_verbs.h>

union ib_gid {
	u8 raw[16];
};

enum ib_mtu {
	IB_MTU_256 = 1,
	IB_MTU_4096 = 5,
};

enum ib_qp_type {
	IB_QPT_GSI = 1,
	IB_QPT_RC,
	IB_QPT_UC,
	IB_QPT_UD,
	IB_QPT_XRC_INI = 9,
	IB_QPT_XRC_TGT,
};

enum ib_qp_state {
	IB_QPS_RESET,
	IB_QPS_INIT,
	IB_QPS_RTR,
	IB_QPS_RTS,
	IB_QPS_SQD,
	IB_QPS_SQE,
	IB_QPS_ERR,
};

enum ib_qp_attr_mask {
	IB_QP_STATE = 1 << 0,
	IB_QP_CUR_STATE = 1 << 1,
	IB_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	IB_QP_ACCESS_FLAGS = 1 << 3,
	IB_QP_PKEY_INDEX = 1 << 4,
	IB_QP_PORT = 1 << 5,
	IB_QP_QKEY = 1 << 6,
	IB_QP_AV = 1 << 7,
	IB_QP_PATH_MTU = 1 << 8,
	IB_QP_TIMEOUT = 1 << 9,
	IB_QP_RETRY_CNT = 1 << 10,
	IB_QP_RNR_RETRY = 1 << 11,
	IB_QP_RQ_PSN = 1 << 12,
	IB_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	IB_QP_ALT_PATH = 1 << 14,
	IB_QP_MIN_RNR_TIMER = 1 << 15,
	IB_QP_SQ_PSN = 1 << 16,
	IB_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	IB_QP_PATH_MIG_STATE = 1 << 18,
	IB_QP_CAP = 1 << 19,
	IB_QP_DEST_QPN = 1 << 20,
	IB_QP_RATE_LIMIT = 1 << 25,
	IB_QP_ATTR_STANDARD_BITS = (1 << 21) - 1,
};

enum ib_event_type {
	IB_EVENT_CQ_ERR,
	IB_EVENT_QP_FATAL,
	IB_EVENT_QP_REQ_ERR,
	IB_EVENT_QP_ACCESS_ERR,
	IB_EVENT_COMM_EST,
	IB_EVENT_SQ_DRAINED,
	IB_EVENT_SRQ_ERR = 14,
	IB_EVENT_SRQ_LIMIT_REACHED,
	IB_EVENT_QP_LAST_WQE_REACHED,
};

enum ib_access_flags {
	IB_ACCESS_LOCAL_WRITE = 1 << 0,
	IB_ACCESS_REMOTE_WRITE = 1 << 1,
	IB_ACCESS_REMOTE_READ = 1 << 2,
	IB_ACCESS_REMOTE_ATOMIC = 1 << 3,
	IB_ACCESS_MW_BIND = 1 << 4,
	IB_ZERO_BASED = 1 << 5,
	IB_ACCESS_ON_DEMAND = 1 << 6,
	IB_ACCESS_HUGETLB = 1 << 7,
	IB_ACCESS_FLUSH_GLOBAL = 1 << 8,
	IB_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	IB_ACCESS_RELAXED_ORDERING = 1 << 20,
	IB_ACCESS_OPTIONAL = 0x3ff00000,
	IB_ACCESS_SUPPORTED = 0x3ff003ff,
};

enum ib_wc_status {
	IB_WC_SUCCESS,
	IB_WC_LOC_LEN_ERR,
	IB_WC_LOC_QP_OP_ERR,
	IB_WC_LOC_EEC_OP_ERR,
	IB_WC_LOC_PROT_ERR,
	IB_WC_WR_FLUSH_ERR,
	IB_WC_MW_BIND_ERR,
	IB_WC_BAD_RESP_ERR,
	IB_WC_LOC_ACCESS_ERR,
	IB_WC_REM_INV_REQ_ERR,
	IB_WC_REM_ACCESS_ERR,
	IB_WC_REM_OP_ERR,
	IB_WC_RETRY_EXC_ERR,
	IB_WC_RNR_RETRY_EXC_ERR,
	IB_WC_GENERAL_ERR = 21,
};

enum ib_wc_opcode {
	IB_WC_SEND,
	IB_WC_RDMA_WRITE,
	IB_WC_RDMA_READ,
	IB_WC_COMP_SWAP,
	IB_WC_FETCH_ADD,
	IB_WC_LOCAL_INV = 6,
	IB_WC_ATOMIC_WRITE = 9,
	IB_WC_REG_MR,
	IB_WC_MASKED_COMP_SWAP,
	IB_WC_MASKED_FETCH_ADD,
	IB_WC_RECV = 1 << 7,
	IB_WC_RECV_RDMA_WITH_IMM,
};

enum ib_wc_flags {
	IB_WC_GRH = 1 << 0,
	IB_WC_WITH_IMM = 1 << 1,
	IB_WC_WITH_INVALIDATE = 1 << 2,
	IB_WC_WITH_VLAN = 1 << 3,
	IB_WC_WITH_NETWORK_HDR_TYPE = 1 << 4,
};

enum ib_wr_opcode {
	IB_WR_RDMA_WRITE,
	IB_WR_RDMA_WRITE_WITH_IMM,
	IB_WR_SEND,
	IB_WR_SEND_WITH_IMM,
	IB_WR_RDMA_READ,
	IB_WR_ATOMIC_CMP_AND_SWP,
	IB_WR_ATOMIC_FETCH_AND_ADD,
	IB_WR_SEND_WITH_INV = 8,
	IB_WR_RDMA_READ_WITH_INV = 11,
	IB_WR_LOCAL_INV,
	IB_WR_ATOMIC_WRITE = 15,
	IB_WR_REG_MR = 0x20,
	IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
	IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
	IB_WR_RESERVED1 = 0xf0,
	IB_WR_RESERVED2,
};

enum ib_send_flags {
	IB_SEND_FENCE = 1 << 0,
	IB_SEND_SIGNALED = 1 << 1,
	IB_SEND_SOLICITED = 1 << 2,
	IB_SEND_INLINE = 1 << 3,
};

enum ib_cq_notify_flags {
	IB_CQ_SOLICITED = 1,
	IB_CQ_NEXT_COMP,
	IB_CQ_SOLICITED_MASK,
	IB_CQ_REPORT_MISSED_EVENTS,
};

enum ib_sig_type {
	IB_SIGNAL_ALL_WR,
	IB_SIGNAL_REQ_WR,
};

enum ib_mr_type {
	IB_MR_TYPE_MEM_REG,
};

enum ib_mw_type {
	IB_MW_TYPE_1 = 1,
	IB_MW_TYPE_2,
};

enum ib_srq_type {
	IB_SRQT_BASIC,
	IB_SRQT_XRC,
};

enum ib_srq_attr_mask {
	IB_SRQ_MAX_WR = 1 << 0,
	IB_SRQ_LIMIT = 1 << 1,
};

enum ib_mig_state {
	IB_MIG_MIGRATED,
};

enum rdma_network_type {
	RDMA_NETWORK_IPV4 = 2,
	RDMA_NETWORK_IPV6,
};

enum {
	IB_MR_REREG_TRANS = 1,
	IB_MR_REREG_PD = 2,
	IB_MR_REREG_ACCESS = 4,
	IB_AH_GRH = 1,
	RDMA_AH_ATTR_TYPE_ROCE = 2,
	IB_DEVICE_MEM_WINDOW = IB_UVERBS_DEVICE_MEM_WINDOW,
	IB_DEVICE_MEM_WINDOW_TYPE_2B = IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B,
	IB_DEVICE_MEM_MGT_EXTENSIONS = IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS,
	IB_DEVICE_ATOMIC_WRITE = 0,
	IB_DEVICE_FLUSH_GLOBAL = 0,
	IB_DEVICE_FLUSH_PERSISTENT = 0,
	RDMA_HW_STATS_DEFAULT_LIFESPAN = 10,
};

enum ib_uverbs_advise_mr_advice {
	IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH,
};

struct ib_dmah;
struct sk_buff;
struct scatterlist;
struct uverbs_attr_bundle;

struct uapi_definition {
	int unused;
};

/* The adapter as rdma core has it. */
struct ib_device {
	char name[16];
};

/* An object of a process has one; the module only checks whether it is set. */
struct ib_uobject {
	int unused;
};

struct ib_ucontext {
	struct ib_device *device;
};

struct rdma_restrack_entry {
	u32 id;
};

struct ib_pd {
	struct ib_device *device;
	struct ib_uobject *uobject;
	struct rdma_restrack_entry res;
};

struct ib_mr {
	struct ib_device *device;
	struct ib_pd *pd;
	u32 lkey, rkey;
	u64 iova, length;
	unsigned int page_size;
};

struct ib_mw {
	struct ib_device *device;
	struct ib_pd *pd;
	u32 rkey;
	enum ib_mw_type type;
};

struct ib_xrcd {
	struct ib_device *device;
};

struct ib_ah {
	struct ib_device *device;
	int type;
};

struct ib_event;

struct ib_cq {
	struct ib_device *device;
	struct ib_uobject *uobject;
	void (*comp_handler)(struct ib_cq *cq, void *context);
	void (*event_handler)(struct ib_event *event, void *context);
	void *cq_context;
	int cqe;
};

struct ib_srq {
	struct ib_device *device;
	struct ib_pd *pd;
	struct ib_uobject *uobject;
	void (*event_handler)(struct ib_event *event, void *context);
	void *srq_context;
	enum ib_srq_type srq_type;
	struct {
		struct ib_cq *cq;
		struct {
			struct ib_xrcd *xrcd;
			u32 srq_num;
		} xrc;
	} ext;
};

struct ib_qp {
	struct ib_device *device;
	struct ib_pd *pd;
	struct ib_uobject *uobject;
	struct ib_cq *send_cq, *recv_cq;
	struct ib_srq *srq;
	struct ib_xrcd *xrcd;
	void (*event_handler)(struct ib_event *event, void *context);
	void *qp_context;
	u32 qp_num;
	enum ib_qp_type qp_type;
};

struct ib_event {
	struct ib_device *device;
	union {
		struct ib_cq *cq;
		struct ib_qp *qp;
		struct ib_srq *srq;
	} element;
	enum ib_event_type event;
};

/* Paths. */
struct ib_gid_attr {
	struct ib_device *device;
	union ib_gid gid;
};

struct ib_global_route {
	const struct ib_gid_attr *sgid_attr;
	union ib_gid dgid;
	u32 flow_label;
	u8 sgid_index;
	u8 hop_limit;
	u8 traffic_class;
};

struct rdma_ah_attr {
	struct ib_global_route grh;
	u8 sl;
	u8 ah_flags;
	u32 port_num;
	int type;
};

#define rdma_ah_read_grh(attr) (&(attr)->grh)
#define rdma_ah_get_ah_flags(attr) ((attr)->ah_flags)
#define rdma_ah_get_port_num(attr) ((attr)->port_num)
#define rdma_ah_get_sl(attr) ((attr)->sl)

struct rdma_ah_init_attr;

struct ib_port_attr {
	enum ib_mtu active_mtu;
};

static inline void ib_mark_name_assigned_by_user(struct ib_device *device)
{
}

/* core.c */
const struct ib_gid_attr *rdma_get_gid_attr(struct ib_device *device, u32 port,
					    int index);
void rdma_put_gid_attr(const struct ib_gid_attr *attr);
int ib_query_port(struct ib_device *device, u32 port,
		  struct ib_port_attr *attr);
enum ib_mtu iboe_get_mtu(int mtu);
bool ib_modify_qp_is_ok(enum ib_qp_state from, enum ib_qp_state to,
			enum ib_qp_type type, int mask);

struct ib_qp_cap {
	u32 max_send_wr;
	u32 max_recv_wr;
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_inline_data;
};

struct ib_qp_init_attr {
	void (*event_handler)(struct ib_event *event, void *context);
	void *qp_context;
	struct ib_cq *send_cq, *recv_cq;
	struct ib_srq *srq;
	struct ib_xrcd *xrcd;
	struct ib_qp_cap cap;
	enum ib_sig_type sq_sig_type;
	enum ib_qp_type qp_type;
	u32 create_flags;
	u32 port_num;
	void *rwq_ind_tbl;
};

struct ib_qp_attr {
	enum ib_qp_state qp_state, cur_qp_state;
	enum ib_mtu path_mtu;
	enum ib_mig_state path_mig_state;
	u32 qkey, rq_psn, sq_psn, dest_qp_num;
	int qp_access_flags;
	struct ib_qp_cap cap;
	struct rdma_ah_attr ah_attr;
	u16 pkey_index;
	u8 en_sqd_async_notify, sq_draining;
	u8 max_rd_atomic, max_dest_rd_atomic, min_rnr_timer;
	u32 port_num;
	u8 timeout, retry_cnt, rnr_retry;
};

struct ib_cq_init_attr {
	unsigned int cqe;
	u32 flags;
};

struct ib_srq_attr {
	u32 max_wr;
	u32 max_sge;
	u32 srq_limit;
};

struct ib_srq_init_attr {
	struct ib_srq_attr attr;
	enum ib_srq_type srq_type;
};

/* Requests of consumers in the kernel. */
struct ib_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

struct ib_recv_wr {
	struct ib_recv_wr *next;
	u64 wr_id;
	struct ib_sge *sg_list;
	int num_sge;
};

struct ib_send_wr {
	struct ib_send_wr *next;
	u64 wr_id;
	struct ib_sge *sg_list;
	int num_sge;
	enum ib_wr_opcode opcode;
	int send_flags;
	union {
		__be32 imm_data;
		u32 invalidate_rkey;
	} ex;
};

struct ib_rdma_wr {
	struct ib_send_wr wr;
	u64 remote_addr;
	u32 rkey;
};

struct ib_atomic_wr {
	struct ib_send_wr wr;
	u64 remote_addr;
	u64 compare_add, swap, compare_add_mask, swap_mask;
	u32 rkey;
};

struct ib_ud_wr {
	struct ib_send_wr wr;
	struct ib_ah *ah;
	u32 remote_qpn, remote_qkey;
};

struct ib_reg_wr {
	struct ib_send_wr wr;
	struct ib_mr *mr;
	u32 key;
	int access;
};

#define rdma_wr(wr_) container_of(wr_, struct ib_rdma_wr, wr)
#define atomic_wr(wr_) container_of(wr_, struct ib_atomic_wr, wr)
#define ud_wr(wr_) container_of(wr_, struct ib_ud_wr, wr)
#define reg_wr(wr_) container_of(wr_, struct ib_reg_wr, wr)

struct ib_wc {
	u64 wr_id;
	enum ib_wc_status status;
	enum ib_wc_opcode opcode;
	u32 vendor_err, byte_len;
	struct ib_qp *qp;
	union {
		__be32 imm_data;
		u32 invalidate_rkey;
	} ex;
	u32 src_qp;
	int wc_flags;
	u16 pkey_index;
	u8 sl, network_hdr_type;
	u8 smac[6];
	u16 vlan_id;
	u32 port_num;
};

static inline int ib_access_writable(int access)
{
	return access & (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND);
}

static inline int ib_sg_to_pages(struct ib_mr *mr, struct scatterlist *sg,
				 int count, unsigned int *offset,
				 int (*set_page)(struct ib_mr *, u64))
{
	return -EOPNOTSUPP;
}

/* The module's part of a command. */
struct ib_udata {
	struct ib_ucontext *context;
	void *out;
	size_t outlen;
};

struct uverbs_attr_bundle {
	struct ib_udata driver_udata;
};

#define rdma_udata_to_drv_context(udata, type, member) \
	container_of((udata)->context, type, member)

static inline int ib_copy_to_udata(struct ib_udata *udata, const void *from,
				   size_t size)
{
	memcpy(udata->out, from, min(size, udata->outlen));
	return 0;
}

struct rdma_user_mmap_entry {
	struct ib_ucontext *ucontext;
};

struct rdma_counter {
	int unused;
};

struct rdma_stat_desc {
	const char *name;
};

struct rdma_hw_stats {
	u64 *value;
};

/* No device attribute is read in user space. */
#define rdma_device_to_drv_device(device, type, member) ((type *)NULL)

#endif /* PAVO_SHIM_IB_VERBS_H */
