/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verbs.h - interface of verbs/: ib_device_ops, and the objects of rdma core that they create.
 */
#ifndef PAVO_VERBS_H
#define PAVO_VERBS_H

#include <linux/atomic.h>
#include <rdma/ib_verbs.h>
#include "../compat.h"

struct net_device;
struct pavo_dev;
struct pavo_qp;
struct pavo_srq;
struct uapi_definition;
struct uverbs_attr_bundle;

/**
 * struct pavo_xrcd - XRC domain.
 * @ib:     the object of rdma core, first
 * @charge: charge to the memory cgroup, see pavo_charge()
 * @account: user to whom it is accounted
 */
struct pavo_xrcd {
	struct ib_xrcd ib;
	void *charge;
	kuid_t account;
};

static inline struct pavo_xrcd *to_pavo_xrcd(struct ib_xrcd *ib)
{
	return container_of(ib, struct pavo_xrcd, ib);
}

/** Methods of pavo's own for verbs: doorbells, and watches. For struct ib_device's driver_def. */
extern const struct uapi_definition pavo_verbs_defs[];
/* Attributes of an adapter in sysfs. */
extern struct device_attribute dev_attr_pavo_abi;
extern struct device_attribute dev_attr_hca_type;
extern struct device_attribute dev_attr_board_id;
extern struct device_attribute dev_attr_quantum;
extern struct device_attribute dev_attr_weights;
extern struct device_attribute dev_attr_response_weights;
extern struct device_attribute dev_attr_send_credits;
extern struct device_attribute dev_attr_read_credits;

/** pavo_verbs_setup - fill in ops before registration. */
void pavo_verbs_setup(struct pavo_dev *dev, const struct net_device *ndev);

struct seq_file;

/* policy.c */

/** pavo_policy_init - set the policy of a new adapter from parameters of the module. */
void pavo_policy_init(struct pavo_dev *dev);

/** pavo_policy_show - print DRR rounds and credits of an adapter, for debugfs. */
void pavo_policy_show(struct seq_file *file, struct pavo_dev *dev);

/**
 * pavo_workers_init - register for the removal of adapters, so that workers end before rdma
 * core waits for the calls of processes.
 *
 * Return: 0, or an error of rdma core.
 */
#if IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS)
int pavo_workers_init(void);
/** pavo_workers_exit - undo pavo_workers_init(); no adapter is left. */
void pavo_workers_exit(void);
#else
static inline int pavo_workers_init(void)
{
	return 0;
}

static inline void pavo_workers_exit(void)
{
}
#endif

/* The rest is private to verbs/: the ops that device.c puts together. */

extern const struct uapi_definition pavo_watch_defs[];

int pavo_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   pavo_cq_args *args);
int pavo_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int pavo_resize_cq(struct ib_cq *ibcq, pavo_cq_size cqe,
		   struct ib_udata *udata);
int pavo_modify_cq(struct ib_cq *ibcq, u16 count, u16 us);
int pavo_poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc);
int pavo_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/** pavo_cqs_join - let overruns of its completion queues move a queue pair to Error. Sleeps. */
void pavo_cqs_join(struct pavo_qp *qp);
/** pavo_cqs_leave - balances pavo_cqs_join(). Sleeps. */
void pavo_cqs_leave(struct pavo_qp *qp);
/** pavo_cq_join_srq - the same of a shared receive queue that has a completion queue. */
void pavo_cq_join_srq(struct pavo_srq *srq);
void pavo_cq_leave_srq(struct pavo_srq *srq);

int pavo_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		   struct ib_udata *udata);
int pavo_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int pavo_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int pavo_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int pavo_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int pavo_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

int pavo_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int pavo_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

int pavo_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata);
int pavo_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int pavo_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int pavo_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int pavo_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

int pavo_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int pavo_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

int pavo_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		   struct ib_udata *udata);
int pavo_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int pavo_destroy_ah(struct ib_ah *ibah, u32 flags);

/* comp_cntr.c; empty where rdma core has no completion counters */
extern const struct ib_device_ops pavo_comp_cntr_ops;

int pavo_query_comp_cntr_caps(struct ib_device *ibdev,
			      struct ib_comp_cntr_caps *caps,
			      struct uverbs_attr_bundle *attrs);
int pavo_create_comp_cntr(struct ib_comp_cntr *ibcntr,
			  struct uverbs_attr_bundle *attrs);
int pavo_destroy_comp_cntr(struct ib_comp_cntr *ibcntr);
int pavo_modify_comp_cntr(struct ib_comp_cntr *ibcntr,
			  enum ib_comp_cntr_entry entry,
			  enum ib_comp_cntr_modify_op op, u64 value);
int pavo_read_comp_cntr(struct ib_comp_cntr *ibcntr,
			enum ib_comp_cntr_entry entry, u64 *value);
int pavo_qp_attach_comp_cntr(struct ib_qp *ibqp, struct ib_comp_cntr *ibcntr,
			     struct ib_qp_attach_comp_cntr_attr *attr);

/* restrack.c: details for `rdma resource show` */
int pavo_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int pavo_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int pavo_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);

/* counter.c: separate counters for chosen QPs */
extern const struct ib_device_ops pavo_counter_ops;

#endif /* PAVO_VERBS_H */
