/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * COUNTER_SIZE: rdma core has to know the size of a driver's counter objects
 */
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

struct object {
	struct rdma_counter counter;
};

const struct ib_device_ops probe = {
	INIT_RDMA_OBJ_SIZE(rdma_counter, object, counter),
};
