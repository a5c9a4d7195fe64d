// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ah.c - address handles: the destinations of datagrams.
 *
 * An address handle is an address vector in the form that WQEs carry it
 * (struct pavo_ud_seg); requester/post.c copies it into the WQEs of kernel
 * consumers. User space writes its WQEs itself.
 */
#include "adapter.h"
#include "net/net.h"
#include "accounting.h"
#include "requester/ah.h"
#include "verbs/verbs.h"

static void make_av(struct pavo_ud_seg *av, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	memcpy(av->dgid, grh->dgid.raw, sizeof(av->dgid));
	av->flow_label = grh->flow_label & PAVO_FLOW_LABEL;
	av->sgid_index = grh->sgid_index;
	av->hop_limit = grh->hop_limit;
	av->traffic_class = grh->traffic_class;
	av->port_num = PAVO_PORT;
	av->sl = rdma_ah_get_sl(attr);
	memcpy(av->dmac, attr->roce.dmac, sizeof(av->dmac));
}

int pavo_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		   struct ib_udata *udata)
{
	struct pavo_dev *dev = to_pavo_dev(ibah->device);
	const struct rdma_ah_attr *attr = init->ah_attr;
	struct pavo_ah *ah = to_pavo_ah(ibah);
	int err;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    rdma_ah_get_port_num(attr) != PAVO_PORT ||
	    rdma_ah_get_sl(attr) > PAVO_SL_MAX)
		return -EINVAL;
	if (pavo_charge(&ah->charge, sizeof(*ah), udata))
		return -ENOMEM;
	ah->account = pavo_task_account();
	err = pavo_object_take(dev, PAVO_OBJ_AH, ah->account);
	if (err) {
		pavo_charge_end(ah->charge);
		return err;
	}
	make_av(&ah->av, attr);
	return 0;
}

int pavo_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct pavo_ud_seg *av = &to_pavo_ah(ibah)->av;

	memset(attr, 0, sizeof(*attr));
	attr->type = ibah->type;
	rdma_ah_set_port_num(attr, av->port_num);
	rdma_ah_set_sl(attr, av->sl);
	rdma_ah_set_grh(attr, NULL, av->flow_label, av->sgid_index,
			av->hop_limit, av->traffic_class);
	rdma_ah_set_dgid_raw(attr, (void *)av->dgid);
	memcpy(attr->roce.dmac, av->dmac, sizeof(av->dmac));
	return 0;
}

int pavo_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct pavo_ah *ah = to_pavo_ah(ibah);

	pavo_object_give(to_pavo_dev(ibah->device), PAVO_OBJ_AH, ah->account);
	pavo_charge_end(ah->charge);
	return 0;
}
