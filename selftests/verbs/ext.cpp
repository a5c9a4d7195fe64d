// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ext.cpp - see ext.h. */
#include "ext.h"

#include <endian.h>

#include "manager.h"
#include "pavo_dv.h"
#include "tap.h"
#include "xrc.h"

namespace pv {
namespace {

Cq make_extended_cq(Host &host, bool events)
{
	LocalHost &here = local(host);

	return here.make_cq(
		[&](ibv_comp_channel *channel, void *id) -> ibv_cq * {
			ibv_cq_init_attr_ex attr = {
				.cqe = 1024,
				.cq_context = id,
				.channel = channel,
				.wc_flags = IBV_WC_STANDARD_FLAGS};
			ibv_cq_ex *cq = ibv_create_cq_ex(here.context(), &attr);

			return cq ? ibv_cq_ex_to_cq(cq) : nullptr;
		},
		events);
}

void set_place(ExtLink &link, const Place &out)
{
	name_queue(link);
	ibv_wr_set_sge(link.ex, out.mr.lkey,
		       out.mr.address + uint64_t(out.offset), sizeof(uint64_t));
}

uint64_t address_of(const Place &place)
{
	return place.mr.address + uint64_t(place.offset);
}

} // namespace

void name_queue(ExtLink &link)
{
	if (link.a.type == IBV_QPT_XRC_SEND)
		ibv_wr_set_xrc_srqn(link.ex, link.srq.number);
}

bool knows_ext(Host &host)
{
	auto *here = dynamic_cast<LocalHost *>(&host);

	return here && pavodv_query_ext(here->context()) ==
			       (PAVODV_EXT_FETCH_ADD | PAVODV_EXT_SWAP |
				PAVODV_EXT_CMP_SWAP | PAVODV_EXT_IMM64);
}

namespace {

constexpr uint64_t standard_ops =
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
	IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

/* Asks the connected ends for what posts at A and polls at B. */
void open_ends(Env &env, ExtLink &link)
{
	link.ex = ibv_qp_to_qp_ex(local(env.a).raw_qp(link.a.qp.id));
	REQUIRE(link.ex, "not an extended QP");
	if (knows_ext(env.b))
		link.cq_b = reinterpret_cast<ibv_cq_ex *>(
			local(env.b).raw_cq(link.b.recv_cq.id));
}

} // namespace

ExtLink connect_ext(Env &env, LinkSpec spec, bool events)
{
	ExtLink link;

	if (!knows_ext(env.a))
		throw Skip("the device has no extended operations");
	spec.send_ops = standard_ops;
	if (knows_ext(env.b))
		spec.cq_b = make_extended_cq(env.b, events);
	static_cast<Link &>(link) = connect(env, spec);
	open_ends(env, link);
	return link;
}

ExtLink connect_ext_xrc(Env &env)
{
	ExtLink link;

	if (!knows_ext(env.a) || !knows_ext(env.b))
		throw Skip("a device has no extended operations");
	XrcLink xrc =
		connect_xrc(env, {.min_rnr_timer = 1,
				  .send_ops = standard_ops,
				  .cq_b = make_extended_cq(env.b, false)});
	static_cast<Link &>(link) = xrc;
	link.xrcd = xrc.xrcd;
	link.srq = xrc.srq;
	open_ends(env, link);
	return link;
}

void next_ext(ExtLink &link, uint64_t id, unsigned flags)
{
	link.ex->wr_id = id;
	link.ex->wr_flags = flags;
}

void start_ext(ExtLink &link, uint64_t id, unsigned flags)
{
	ibv_wr_start(link.ex);
	next_ext(link, id, flags);
}

int end_ext(ExtLink &link)
{
	return ibv_wr_complete(link.ex);
}

void fetch_add(ExtLink &link, const Place &out, const Place &word, uint64_t add,
	       uint64_t tops)
{
	pavodv_wr_ext_fetch_add(link.ex, word.mr.rkey, address_of(word), add,
				tops);
	set_place(link, out);
}

void swap(ExtLink &link, const Place &out, const Place &word, uint64_t value)
{
	pavodv_wr_ext_swap(link.ex, word.mr.rkey, address_of(word), value);
	set_place(link, out);
}

void cmp_swap(ExtLink &link, const Place &out, const Place &word,
	      uint64_t compare, uint64_t compare_mask, uint64_t value,
	      uint64_t mask)
{
	pavodv_wr_ext_cmp_swap(link.ex, word.mr.rkey, address_of(word), compare,
			       compare_mask, value, mask);
	set_place(link, out);
}

void imm64(ExtLink &link, uint64_t value)
{
	pavodv_wr_imm64(link.ex, htobe64(value));
	name_queue(link);
}

std::optional<Arrival> poll_arrival(ExtLink &link)
{
	ibv_poll_cq_attr attr = {};
	Arrival arrival = {};
	__be64 imm;

	if (ibv_start_poll(link.cq_b, &attr))
		return {};
	arrival.id = link.cq_b->wr_id;
	arrival.status = link.cq_b->status;
	arrival.opcode = ibv_wc_read_opcode(link.cq_b);
	arrival.byte_len = ibv_wc_read_byte_len(link.cq_b);
	arrival.flags = ibv_wc_read_wc_flags(link.cq_b);
	if (pavodv_wc_read_imm64(link.cq_b, &imm))
		arrival.imm64 = be64toh(imm);
	ibv_end_poll(link.cq_b);
	return arrival;
}

Arrival wait_arrival(Env &env, ExtLink &link)
{
	std::optional<Arrival> arrival;

	REQUIRE(eventually(env,
			   [&] {
				   arrival = poll_arrival(link);
				   return arrival.has_value();
			   }),
		"nothing arrives");
	REQUIRE_EQ(int(arrival->status), IBV_WC_SUCCESS, "receive");
	return *arrival;
}

} // namespace pv
