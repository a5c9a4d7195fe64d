// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * layout.cpp - where the library that runs expects members which moved under one number.
 *
 * Called by context.cpp and qp_ex.cpp.
 */
#include "layout.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace pavo {

namespace {

/*
 * ibv_qp_to_qp_ex() looks at one bit of comp_mask and at nothing else: find the offset from which
 * it reads that bit. 0: it is in no place that the provider has memory for.
 */
size_t find_comp_mask()
{
	constexpr size_t own =
		sizeof(uint32_t) + sizeof(void *) + sizeof(uint32_t);
	const uint32_t bit = VERBS_QP_HAS_EX;
	verbs_qp qp = {};

	for (size_t at = sizeof(ibv_qp); at + own <= sizeof(qp);
	     at += sizeof(bit)) {
		memcpy(qp.bytes + at, &bit, sizeof(bit));
		if (ibv_qp_to_qp_ex(&qp.qp))
			return at;
		memset(qp.bytes + at, 0, sizeof(bit));
	}
	return 0;
}

/*
 * rdma-core 62 added operations in the middle of their table, and two members at the beginning of
 * verbs_context, under the number of 59.
 */
bool has_same_operations()
{
	bool has = dlsym(RTLD_DEFAULT, "ibv_query_port_speed");

	return PAVO_VERBS_ABI != 59 || has == PAVO_VERBS_PORT_SPEED;
}

} // namespace

size_t get_comp_mask()
{
	static const size_t at = find_comp_mask();

	return at;
}

int check_library()
{
	if (get_comp_mask() && has_same_operations())
		return 0;
	fprintf(stderr,
		"libpavo: this libibverbs has other structures than the one that the provider "
		"was built with, under the same number (%d). Build and install the provider "
		"on this machine.\n",
		PAVO_VERBS_ABI);
	return EPROTO;
}

void announce_qp_ex(verbs_qp *qp)
{
	uint32_t mask;

	memcpy(&mask, qp->bytes + get_comp_mask(), sizeof(mask));
	mask |= VERBS_QP_HAS_EX;
	memcpy(qp->bytes + get_comp_mask(), &mask, sizeof(mask));
}

} // namespace pavo
