/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * COUNTER_INIT: rdma core calls a driver to initialize its counter objects
 */
#include <rdma/ib_verbs.h>

static void init_counter(struct rdma_counter *counter)
{
}

const struct ib_device_ops probe = {
	.counter_init = init_counter,
};
