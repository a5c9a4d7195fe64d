// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * management.c - QP 1 of the engine, as rdma core's connection management makes it: a consumer in
 * the kernel. It posts nothing, so datagrams to it are checked and then dropped.
 */
#include <linux/slab.h>

#include "control/control.h"
#include "memory/pd.h"
#include "qp/qp.h"
#include "rings/cq_ring.h"
#include "runtime.h"
#include "verbs/verbs.h"

#define MANAGEMENT_QKEY 0x80010000

static struct {
	struct pavo_pd pd;
	struct pavo_cq cq;
	struct pavo_qp qp;
} * management;

static void nothing(struct ib_cq *cq, void *context)
{
}

static void move(enum ib_qp_state state, int mask)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.qkey = MANAGEMENT_QKEY,
		.port_num = 1,
	};

	ENGINE_MUST(!pavo_modify_qp(&management->qp.ib, &attr,
				    IB_QP_STATE | mask, NULL));
}

void engine_open_management(void)
{
	const struct ib_cq_init_attr of_cq = {.cqe = 1};
	struct ib_device *device = &engine_dev->ib;
	struct ib_qp_init_attr of_qp = {.qp_type = IB_QPT_GSI};
	struct ib_cq *cq;

	management = kzalloc(sizeof(*management), GFP_KERNEL);
	ENGINE_MUST(management);
	management->pd.ib.device = device;
	pavo_rkm_list_init(&management->pd.rkm);
	cq = &management->cq.ib;
	cq->device = device;
	cq->comp_handler = nothing;
	ENGINE_MUST(!pavo_create_cq(cq, &of_cq, NULL));
	management->qp.ib.device = device;
	management->qp.ib.pd = &management->pd.ib;
	management->qp.ib.qp_type = IB_QPT_GSI;
	of_qp.send_cq = cq;
	of_qp.recv_cq = cq;
	ENGINE_MUST(!pavo_create_qp(&management->qp.ib, &of_qp, NULL));
	move(IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	move(IB_QPS_RTR, 0);
	move(IB_QPS_RTS, IB_QP_SQ_PSN);
}

void engine_close_management(void)
{
	pavo_destroy_qp(&management->qp.ib, NULL);
	pavo_destroy_cq(&management->cq.ib, NULL);
	engine_settle();
	kfree(management);
	management = NULL;
}
