/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * COMP_CNTR: processes can make completion counters
 */
#include <rdma/ib_verbs.h>

struct object {
	struct ib_comp_cntr counter;
};

const struct ib_device_ops probe = {
	.qp_attach_comp_cntr = NULL,
	INIT_RDMA_OBJ_SIZE(ib_comp_cntr, object, counter),
};
