/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * COUNTER_PORT: counter_bind_qp gets the port
 * COUNTER_NO_PORT: counter_bind_qp does not get the port
 */
#include <rdma/ib_verbs.h>

#ifdef PAVO_HAS_COUNTER_PORT
#define ARGS struct ib_qp *qp, u32 port
#else
#define ARGS struct ib_qp *qp
#endif

static int bind_counter(struct rdma_counter *counter, ARGS)
{
	return 0;
}

static int unbind_counter(ARGS)
{
	return 0;
}

const struct ib_device_ops probe = {
	.counter_bind_qp = bind_counter,
	.counter_unbind_qp = unbind_counter,
};
