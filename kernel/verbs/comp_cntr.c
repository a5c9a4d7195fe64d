// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * comp_cntr.c - the life of completion counters.
 *
 * Called by rdma core for processes; kernels without completion counters call nothing of it. rdma
 * core keeps a counter while a QP is attached to it, and attaches one counter to an operation.
 */
#include <rdma/uverbs_ioctl.h>
#include "adapter.h"
#include "accounting.h"
#include "qp/comp_cntr.h"
#include "verbs/verbs.h"

#define PAVO_COMP_OPS_MASK (BIT(PAVO_COMP_OPS) - 1)

int pavo_query_comp_cntr_caps(struct ib_device *ibdev,
			      struct ib_comp_cntr_caps *caps,
			      struct uverbs_attr_bundle *attrs)
{
	caps->max_value = U64_MAX;
	caps->max_counters = pavo_limit(PAVO_OBJ_COMP_CNTR);
	caps->supported_qp_attach_ops = PAVO_COMP_OPS_MASK;
	return 0;
}

int pavo_create_comp_cntr(struct ib_comp_cntr *ibcntr,
			  struct uverbs_attr_bundle *attrs)
{
	struct pavo_comp_cntr *cntr = to_pavo_comp_cntr(ibcntr);
	int err;

	if (pavo_charge(&cntr->charge, sizeof(*cntr), &attrs->driver_udata))
		return -ENOMEM;
	cntr->account = pavo_caller_account();
	err = pavo_object_take(to_pavo_dev(ibcntr->device), PAVO_OBJ_COMP_CNTR,
			       cntr->account);
	if (err)
		pavo_charge_end(cntr->charge);
	return err;
}

int pavo_destroy_comp_cntr(struct ib_comp_cntr *ibcntr)
{
	struct pavo_comp_cntr *cntr = to_pavo_comp_cntr(ibcntr);

	pavo_object_give(to_pavo_dev(ibcntr->device), PAVO_OBJ_COMP_CNTR,
			 cntr->account);
	pavo_charge_end(cntr->charge);
	return 0;
}

int pavo_modify_comp_cntr(struct ib_comp_cntr *ibcntr,
			  enum ib_comp_cntr_entry entry,
			  enum ib_comp_cntr_modify_op op, u64 value)
{
	struct pavo_comp_cntr *cntr = to_pavo_comp_cntr(ibcntr);

	if (entry >= ARRAY_SIZE(cntr->values))
		return -EINVAL;
	switch (op) {
	case IB_COMP_CNTR_MODIFY_OP_SET:
		atomic64_set(&cntr->values[entry], value);
		return 0;
	case IB_COMP_CNTR_MODIFY_OP_INC:
		atomic64_add(value, &cntr->values[entry]);
		return 0;
	default:
		return -EINVAL;
	}
}

int pavo_read_comp_cntr(struct ib_comp_cntr *ibcntr,
			enum ib_comp_cntr_entry entry, u64 *value)
{
	struct pavo_comp_cntr *cntr = to_pavo_comp_cntr(ibcntr);

	if (entry >= ARRAY_SIZE(cntr->values))
		return -EINVAL;
	*value = atomic64_read(&cntr->values[entry]);
	return 0;
}

/* Only a QP that neither sends nor receives is attached, so that a counter misses nothing. */
int pavo_qp_attach_comp_cntr(struct ib_qp *ibqp, struct ib_comp_cntr *ibcntr,
			     struct ib_qp_attach_comp_cntr_attr *attr)
{
	struct pavo_qp *qp = to_pavo_qp(ibqp);
	unsigned long ops = attr->op_mask;
	unsigned int op;
	int err = 0;

	if (attr->op_mask & ~PAVO_COMP_OPS_MASK)
		return -EOPNOTSUPP;
	mutex_lock(&qp->modify_mutex);
	if (pavo_qp_get_state(qp) == IB_QPS_RESET ||
	    pavo_qp_get_state(qp) == IB_QPS_INIT) {
		for_each_set_bit(op, &ops, PAVO_COMP_OPS) {
			/* Pairs with the dependency in pavo_comp_count(). */
			smp_store_release(&qp->comp_cntrs[op],
					  to_pavo_comp_cntr(ibcntr));
		}
	} else {
		err = -EINVAL;
	}
	mutex_unlock(&qp->modify_mutex);
	return err;
}

const struct ib_device_ops pavo_comp_cntr_ops = { PAVO_COMP_CNTR_OPS };
