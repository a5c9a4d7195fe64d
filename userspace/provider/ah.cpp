// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ah.cpp - address handles: created in the kernel, and kept here as the address vector that
 * post_send.cpp copies into each datagram's WQE.
 */
#include <cerrno>
#include <cstring>
#include <memory>

#include "provider.h"

namespace pavo {

ibv_ah *create_ah(ibv_pd *pd, ibv_ah_attr *attr)
{
	ib_uverbs_create_ah_resp resp = {};
	std::unique_ptr<Ah> ah;
	uint16_t vlan;
	int err;

	/* RoCE has no address without a GID. */
	if (!attr->is_global) {
		errno = EINVAL;
		return nullptr;
	}
	ah = make_object<Ah>();
	if (!ah)
		return nullptr;
	err = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp, sizeof(resp));
	if (err) {
		errno = err;
		return nullptr;
	}

	memcpy(ah->av.dgid, &attr->grh.dgid, sizeof(ah->av.dgid));
	ah->av.flow_label = attr->grh.flow_label & 0xfffff;
	ah->av.sgid_index = attr->grh.sgid_index;
	ah->av.hop_limit = attr->grh.hop_limit;
	ah->av.traffic_class = attr->grh.traffic_class;
	ah->av.port_num = attr->port_num;
	ah->av.sl = attr->sl;

	/*
	 * The kernel has just resolved the same address, so this finds it in
	 * the neighbour table. Left zero if user space may not read that table: the module then
	 * resolves the GID.
	 */
	if (ibv_resolve_eth_l2_from_gid(pd->context, attr, ah->av.dmac, &vlan))
		memset(ah->av.dmac, 0, sizeof(ah->av.dmac));
	return &ah.release()->ah;
}

int destroy_ah(ibv_ah *ah)
{
	int err = ibv_cmd_destroy_ah(ah);

	if (!err)
		adopt_object(to_ah(ah)).reset();
	return err;
}

} // namespace pavo
