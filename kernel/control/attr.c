// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * attr.c - attributes of QPs: check, set and query.
 *
 * The only writer of qp->attr, under modify_mutex. Called by state.c (modify)
 * and verbs/qp_verbs.c (query). rdma core's table (ib_modify_qp_is_ok()) says which attributes a
 * transition takes; this file checks their values.
 */
#include <rdma/ib_cache.h>
#include "control/control.h"
#include "qp/qp.h"
#include "requester/requester.h"

/*
 * Access flags that a QP takes. Programs pass the flags of their regions; only the rights of
 * peers have an effect. A right that no region of this kernel can have, to flush, is accepted: no
 * peer can use it. A bit that verbs do not define is an error of the program.
 */
#define PAVO_QP_ACCESS                                    \
	(IB_ACCESS_SUPPORTED | PAVO_ACCESS_FLUSH_GLOBAL | \
	 PAVO_ACCESS_FLUSH_PERSISTENT)

static int check_av(struct pavo_qp *qp, const struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *sgid;

	if (ah->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(ah) & IB_AH_GRH) ||
	    rdma_ah_get_port_num(ah) != PAVO_PORT ||
	    rdma_ah_get_sl(ah) > PAVO_SL_MAX)
		return -EINVAL;
	sgid = rdma_get_gid_attr(&qp->dev->ib, PAVO_PORT,
				 rdma_ah_read_grh(ah)->sgid_index);
	if (IS_ERR(sgid))
		return PTR_ERR(sgid);
	rdma_put_gid_attr(sgid);
	return 0;
}

static int check_mtu(struct pavo_qp *qp, enum ib_mtu mtu)
{
	struct ib_port_attr port;
	int err;

	err = ib_query_port(&qp->dev->ib, PAVO_PORT, &port);
	if (err)
		return err;
	return mtu >= IB_MTU_256 && mtu <= port.active_mtu ? 0 : -EINVAL;
}

/* Check the attributes of the path: destination, port, P_Key, MTU. */
static int check_path(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	int err;

	/* An adapter has one port, so it has no path to migrate to. */
	if (mask & IB_QP_ALT_PATH)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PATH_MIG_STATE) &&
	    attr->path_mig_state != IB_MIG_MIGRATED)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PORT) && attr->port_num != PAVO_PORT)
		return -EINVAL;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index)
		return -EINVAL;
	if ((mask & IB_QP_DEST_QPN) && attr->dest_qp_num > PAVO_QPN_MASK)
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU) {
		err = check_mtu(qp, attr->path_mtu);
		if (err)
			return err;
	}
	return mask & IB_QP_AV ? check_av(qp, &attr->ah_attr) : 0;
}

int pavo_attr_check(struct pavo_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & (IB_QP_CAP | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	if ((mask & IB_QP_ACCESS_FLAGS) &&
	    (attr->qp_access_flags & ~PAVO_QP_ACCESS))
		return -EINVAL;
	if ((mask & IB_QP_RQ_PSN) && attr->rq_psn > PAVO_PSN_MASK)
		return -EINVAL;
	if ((mask & IB_QP_SQ_PSN) && attr->sq_psn > PAVO_PSN_MASK)
		return -EINVAL;
	if ((mask & IB_QP_TIMEOUT) && attr->timeout > 31)
		return -EINVAL;
	if ((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7)
		return -EINVAL;
	if ((mask & IB_QP_RNR_RETRY) && attr->rnr_retry > 7)
		return -EINVAL;
	if ((mask & IB_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
		return -EINVAL;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	    attr->max_rd_atomic > PAVO_MAX_RD_ATOMIC)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    attr->max_dest_rd_atomic > PAVO_MAX_RD_ATOMIC)
		return -EINVAL;
	return check_path(qp, attr, mask);
}

static void apply_path(struct pavo_qp_attrs *to, const struct ib_qp_attr *attr,
		       int mask)
{
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = attr->pkey_index;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qpn = attr->dest_qp_num;
	if (mask & IB_QP_PATH_MTU) {
		to->mtu_code = attr->path_mtu;
		to->mtu = pavo_mtu_to_bytes(attr->path_mtu);
	}
	if (mask & IB_QP_AV) {
		to->ah = attr->ah_attr;
		to->ah.grh.flow_label &= PAVO_FLOW_LABEL;
		/* The flow holds the reference, not this copy. */
		to->ah.grh.sgid_attr = NULL;
	}
}

void pavo_attr_apply(struct pavo_qp *qp, const struct ib_qp_attr *attr,
		     int mask)
{
	struct pavo_qp_attrs *to = &qp->attr;

	if (mask & IB_QP_QKEY)
		WRITE_ONCE(to->qkey, attr->qkey);
	if (mask & IB_QP_ACCESS_FLAGS)
		WRITE_ONCE(to->access, attr->qp_access_flags);
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = attr->sq_psn;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		WRITE_ONCE(to->min_rnr_timer, attr->min_rnr_timer);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	apply_path(to, attr, mask);
}

void pavo_qp_query(struct pavo_qp *qp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	const struct pavo_qp_attrs *from = &qp->attr;

	memset(attr, 0, sizeof(*attr));
	mutex_lock(&qp->modify_mutex);
	attr->qp_state = pavo_qp_get_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = from->mtu_code;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->qkey = from->qkey;
	/* RDMA netlink queries with mask 0 and shows the result to every user: no PSNs then. */
	if (mask & IB_QP_RQ_PSN)
		attr->rq_psn = from->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		attr->sq_psn = from->sq_psn;
	attr->dest_qp_num = from->dest_qpn;
	attr->qp_access_flags = from->access;
	attr->ah_attr = from->ah;
	attr->pkey_index = from->pkey_index;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD &&
			    !pavo_requester_idle(qp);
	attr->max_rd_atomic = from->max_rd_atomic;
	attr->max_dest_rd_atomic = from->max_dest_rd_atomic;
	attr->min_rnr_timer = from->min_rnr_timer;
	attr->port_num = PAVO_PORT;
	attr->timeout = from->timeout;
	attr->retry_cnt = from->retry_cnt;
	attr->rnr_retry = from->rnr_retry;
	mutex_unlock(&qp->modify_mutex);

	attr->cap = qp->cap;
	init->cap = qp->cap;
	init->event_handler = qp->ib.event_handler;
	init->qp_context = qp->ib.qp_context;
	init->send_cq = qp->ib.send_cq;
	init->recv_cq = qp->ib.recv_cq;
	init->srq = qp->ib.srq;
	init->sq_sig_type = qp->sq_sig_all ? IB_SIGNAL_ALL_WR :
					     IB_SIGNAL_REQ_WR;
	init->qp_type = qp->ib.qp_type;
	init->port_num = PAVO_PORT;
}
