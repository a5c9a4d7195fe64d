// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * comp_cntr.cpp - completion counters (ibv_create_comp_cntr(3)), which libibverbs has from private
 * interface 65 on. The module counts; all other operations are libibverbs' own (context.cpp).
 */
#include "provider.h"

#if PAVO_VERBS_ABI >= 65

#include <cerrno>

namespace pavo {

ibv_comp_cntr *create_comp_cntr(ibv_context *context,
				ibv_comp_cntr_init_attr *attr)
{
	int err;

	/* The kernel's method has no argument for bytes in place of requests. */
	if (attr->comp_mask || attr->flags ||
	    attr->type != IBV_COMP_CNTR_TYPE_WRS) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	auto counter = make_object<ibv_comp_cntr>();
	if (!counter)
		return nullptr;
	err = ibv_cmd_create_comp_cntr(context, counter.get(), nullptr);
	if (err) {
		errno = err;
		return nullptr;
	}
	return counter.release();
}

int destroy_comp_cntr(ibv_comp_cntr *counter)
{
	int err = ibv_cmd_destroy_comp_cntr(counter);

	if (!err)
		adopt_object(counter).reset();
	return err;
}

} // namespace pavo

#endif
