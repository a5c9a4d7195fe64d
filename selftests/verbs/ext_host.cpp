// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ext_host.cpp - see ext_host.h. */
#include "ext_host.h"

#include <endian.h>

#include "pavo_dv.h"

namespace pv {

bool ExtHost::knows_ext()
{
	return pavodv_query_ext(context()) ==
	       (PAVODV_EXT_FETCH_ADD | PAVODV_EXT_SWAP | PAVODV_EXT_CMP_SWAP |
		PAVODV_EXT_IMM64);
}

Cq ExtHost::create_ext_cq(bool events)
{
	return make_cq(
		[&](ibv_comp_channel *channel, void *id) -> ibv_cq * {
			ibv_cq_init_attr_ex attr = {
				.cqe = 1024,
				.cq_context = id,
				.channel = channel,
				.wc_flags = IBV_WC_STANDARD_FLAGS};
			ibv_cq_ex *cq = ibv_create_cq_ex(context(), &attr);

			return cq ? ibv_cq_ex_to_cq(cq) : nullptr;
		},
		events);
}

namespace {

Arrival read_arrival(ibv_cq_ex *cq)
{
	Arrival arrival = {};
	__be64 imm;

	arrival.id = cq->wr_id;
	arrival.status = cq->status;
	arrival.opcode = ibv_wc_read_opcode(cq);
	arrival.byte_len = ibv_wc_read_byte_len(cq);
	arrival.flags = ibv_wc_read_wc_flags(cq);
	if (pavodv_wc_read_imm64(cq, &imm))
		arrival.imm64 = be64toh(imm);
	return arrival;
}

} // namespace

std::vector<Arrival> ExtHost::poll_arrivals(Handle id, uint32_t most)
{
	auto *cq = reinterpret_cast<ibv_cq_ex *>(raw_cq(id));
	ibv_poll_cq_attr attr = {};
	std::vector<Arrival> all;

	if (!most || ibv_start_poll(cq, &attr))
		return all;
	do
		all.push_back(read_arrival(cq));
	while (all.size() < most && !ibv_next_poll(cq));
	ibv_end_poll(cq);
	return all;
}

} // namespace pv
