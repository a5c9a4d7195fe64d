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

namespace {

constexpr uint64_t standard_ops =
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
	IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

/* Asks the connected end A for what posts there. */
void open_poster(Env &env, ExtLink &link)
{
	link.ex = ibv_qp_to_qp_ex(local(env.a).raw_qp(link.a.qp.id));
	REQUIRE(link.ex, "not an extended QP");
}

} // namespace

ExtLink connect_ext(Env &env, LinkSpec spec, bool events)
{
	ExtLink link;

	if (!env.a.knows_ext())
		throw Skip("the device has no extended operations");
	spec.send_ops = standard_ops;
	if (env.b.knows_ext())
		spec.cq_b = env.b.create_ext_cq(events);
	static_cast<Link &>(link) = connect(env, spec);
	open_poster(env, link);
	return link;
}

ExtLink connect_ext_xrc(Env &env)
{
	ExtLink link;

	if (!env.a.knows_ext() || !env.b.knows_ext())
		throw Skip("a device has no extended operations");
	XrcLink xrc = connect_xrc(env, {.min_rnr_timer = 1,
					.send_ops = standard_ops,
					.cq_b = env.b.create_ext_cq(false)});
	static_cast<Link &>(link) = xrc;
	link.xrcd = xrc.xrcd;
	link.srq = xrc.srq;
	open_poster(env, link);
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
	const std::vector<Arrival> there =
		link.b.host->poll_arrivals(link.b.recv_cq.id, 1);

	return there.empty() ? std::optional<Arrival>{} : there[0];
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
