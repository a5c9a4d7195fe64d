// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Loops of the module over many objects: none keeps a CPU from other tasks (witness.h). The members
 * of a multicast group, the entries of a completion queue, the queue pairs whose keys end or that
 * wait for a page, the targets of XRC that know a protection domain.
 */
#include <deque>
#include <map>

#include "../common/device.h"
#include "manager.h"
#include "never.h"
#include "paged.h"
#include "ud.h"
#include "window.h"
#include "witness.h"
#include "xrc.h"

using namespace pv;

namespace {

/* kernel/demux.c: copies in a tick, and those of the packet that exceeds them. */
constexpr uint64_t most_copies = 4096 + 256;
constexpr uint32_t multicast_qpn = 0xffffff;

ibv_gid group_of(const Env &env, uint8_t number = 78)
{
	ibv_gid gid = {};

	if (common::is_ipv4(env.info_a.gid)) {
		gid.raw[10] = gid.raw[11] = 0xff;
		gid.raw[12] = 239;
	} else {
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x0e;
	}
	gid.raw[13] = number;
	return gid;
}

/* A group that has as many members as it can have, on B, and a sender on A. */
struct Crowd {
	explicit Crowd(Env &env)
		: gid(group_of(env)), out(must_reg(env.a, {64})),
		  in(must_reg(env.b, {ud::slot})),
		  from(ud::make_ud(env.a, env.info_a, 0, 4096)),
		  wr(ud::datagram(out, 64, ud::must_ah(env.a, gid),
				  multicast_qpn))
	{
		const auto count =
			size_t(env.info_b.device.max_mcast_qp_attach);

		while (to.size() < count) {
			to.push_back(ud::make_ud(env.b, env.info_b));
			REQUIRE_EQ(env.b.attach(to.back().qp.id, gid), 0);
		}
	}

	ibv_gid gid;
	Mr out, in;
	Side from;
	std::vector<Side> to;
	SendWr wr;
};

} // namespace

PV_TEST_LOCAL("budget.groups",
	      "copies for as many members as a group can have are made in "
	      "ticks while others have the CPU, and what a work delivers later "
	      "overtakes nothing")
{
	constexpr uint32_t count = 60; /* fewer than may wait */
	Crowd crowd(env);
	const Loop before = loop_of("groups");
	std::vector<SendWr> wrs = many(crowd.wr, count);
	uint32_t number = 0;
	const auto began = std::chrono::steady_clock::now();

	for (SendWr &wr : wrs)
		wr.imm = number++;
	must_share("copies", [&] {
		for (Side *side : {&crowd.to.front(), &crowd.to.back()})
			must_post(*side,
				  std::vector<RecvWr>(
					  count, ud::receive(crowd.in, 0)));
		must_post(crowd.from, wrs);
		for (Side *side : {&crowd.to.front(), &crowd.to.back()}) {
			const auto wcs = wait_completions(
				env, *side, side->recv_cq, count, "datagrams");

			for (uint32_t i = 0; i < count; i++)
				REQUIRE_EQ(wcs[i].imm, i, "immediate data");
		}
		wait_completions(env, crowd.from, crowd.from.send_cq, 1,
				 "the last");
	});
	const auto time = std::chrono::steady_clock::now() - began;
	if (loop_of("groups").used_up == before.used_up &&
	    time / common::tick() * most_copies >= count * crowd.to.size())
		throw Skip("this CPU makes fewer copies in a tick");
	must_have_ended("groups", before, most_copies);
}

PV_TEST_LOCAL("budget.group_senders",
	      "one sender floods a group, so that packets wait for their "
	      "copies: no more than a quarter of the room is its own, and what "
	      "others send to another group arrives")
{
	constexpr uint32_t senders = 8, bursts = 8, burst = 400;
	Crowd crowd(env);
	const ibv_gid gid = group_of(env, 79);
	Side flood = ud::make_ud(env.a, env.info_a, 0, burst),
	     to = ud::make_ud(env.b, env.info_b);
	const SendWr wr = ud::datagram(crowd.out, 64, ud::must_ah(env.a, gid),
				       multicast_qpn);
	std::vector<Side> from;
	uint32_t arrived = 0;
	Moved dropped(env.b, "rx_drop_backlog");

	REQUIRE_EQ(env.b.attach(to.qp.id, gid), 0);
	must_post(to, std::vector<RecvWr>(senders * bursts,
					  ud::receive(crowd.in, 0)));
	while (from.size() < senders)
		from.push_back(ud::make_ud(env.a, env.info_a));
	for (uint32_t i = 0; i < bursts; i++) {
		must_post(flood, many(crowd.wr, burst));
		for (Side &side : from)
			must_post(side, wr);
		wait_completions(env, flood, flood.send_cq, 1, "the flood");
		for (Side &side : from)
			wait_completions(env, side, side.send_cq, 1, "another");
	}
	/* One may have the same hash as the flood. */
	const bool most = eventually(env, [&] {
		ibv_wc wcs[16];
		const int n = ibv_poll_cq(local(env.b).raw_cq(to.recv_cq.id),
					  16, wcs);

		arrived += uint32_t(std::max(n, 0));
		return arrived >= bursts * senders * 3 / 4;
	});
	note(str(arrived, " of ", bursts * senders, " arrived, ", dropped.by(),
		 " packets were dropped"));
	if (!dropped.by())
		throw Skip("this CPU makes fewer copies in a tick");
	REQUIRE(most, "others' datagrams were dropped: ", arrived, " of ",
		bursts * senders, " arrived");
}

namespace {

/* A queue pair whose receives are flushed into @cq. */
Side flushed(Env &env, const Cq &cq, uint32_t count)
{
	Side side = {.host = &env.a,
		     .info = env.info_a,
		     .type = IBV_QPT_UD,
		     .send_cq = cq,
		     .recv_cq = cq};
	ibv_qp_attr attr = {};

	side.qp = env.a.create_qp({.send_cq = cq.id,
				   .recv_cq = cq.id,
				   .cap = {1, count, 1, 1, 0},
				   .type = IBV_QPT_UD});
	REQUIRE_EQ(side.qp.error, 0, "create_qp");
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	must_modify(side, attr,
		    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_QKEY,
		    "INIT");
	must_post(side, numbered_receives(0, count));
	to_state(side, IBV_QPS_ERR);
	return side;
}

/* Take the completions of queue pairs that flush @count receives each, in any order of queue pairs. */
void must_poll_all(Env &env, const Cq &cq, uint32_t total, uint32_t count)
{
	ibv_cq *raw = local(env.a).raw_cq(cq.id);
	std::map<uint32_t, uint32_t> next;
	uint32_t seen = 0;

	while (seen < total) {
		ibv_wc wcs[64];
		int n = 0;

		REQUIRE(eventually(env,
				   [&] {
					   n = ibv_poll_cq(raw, 64, wcs);
					   return n != 0;
				   }) &&
				n > 0,
			seen, " of ", total, " completions");
		for (int i = 0; i < n; i++, seen++) {
			REQUIRE_EQ(wcs[i].wr_id, next[wcs[i].qp_num]++,
				   "of QP ", wcs[i].qp_num, ", number ", seen);
			REQUIRE_EQ(int(wcs[i].status), IBV_WC_WR_FLUSH_ERR);
		}
	}
	for (const auto &[qpn, last] : next)
		REQUIRE_EQ(last, count, "completions of QP ", qpn);
}

} // namespace

PV_TEST_LOCAL("budget.resize",
	      "a full completion queue gets another ring in pieces, and loses "
	      "nothing, while others have the CPU")
{
	constexpr uint32_t each = 16384, total = 4 * each;
	/* Of kernel/verbs/resize.c, where up to that many copies end with a shorter piece. */
	constexpr uint64_t piece = 4096, copies = 16;
	Cq cq = env.a.create_cq(total, false);
	std::vector<Side> sides;
	const Loop before = loop_of("rings");
	uint64_t times = 0;

	REQUIRE_EQ(cq.error, 0);
	env.expect_async();
	for (uint32_t i = 0; i < total / each; i++)
		sides.push_back(flushed(env, cq, each));
	must_share("resize", [&] {
		REQUIRE_EQ(ibv_resize_cq(local(env.a).raw_cq(cq.id), total), 0,
			   "resize");
		times++;
	});
	must_have_ended("rings", before, piece);
	/* All entries of the new ring are cleared, and then those copied that are in the old one by now. */
	const uint64_t pieces = loop_of("rings").used_up - before.used_up;

	REQUIRE(pieces > times * total / piece &&
			pieces <= times * (2 * total / piece + copies),
		pieces, " pieces");
	must_poll_all(env, cq, total, each);
}

namespace {

/*
 * Binds of a memory window, each followed by its end, which a queue pair of B posts with one call.
 */
class Rebinds {
public:
	Rebinds(Env &env, Side &side, const Mr &mr, uint32_t count)
		: env_(env), side_(side), window_(env.b, IBV_MW_TYPE_2),
		  mr_(local(env.b).raw_mr(mr.id)), wrs_(2 * count)
	{
	}

	void post()
	{
		ibv_send_wr *bad;

		fill();
		REQUIRE_EQ(ibv_post_send(local(env_.b).raw_qp(side_.qp.id),
					 wrs_.data(), &bad),
			   0, "binds and invalidations");
	}

	void wait()
	{
		REQUIRE_EQ(int(wait_send(env_, side_, "the last").status),
			   IBV_WC_SUCCESS);
	}

private:
	void fill()
	{
		uint32_t key = window_->rkey;

		for (size_t i = 0; i < wrs_.size(); i += 2) {
			ibv_send_wr &bind = wrs_[i], &end = wrs_[i + 1];

			key = (key & ~0xffu) | ((key + 1) & 0xff);
			bind = {};
			bind.next = &end;
			bind.opcode = IBV_WR_BIND_MW;
			bind.bind_mw.mw = window_.get();
			bind.bind_mw.rkey = key;
			bind.bind_mw.bind_info = {mr_, uint64_t(mr_->addr),
						  page, window_access};
			end = {};
			end.next = &end + 1;
			end.opcode = IBV_WR_LOCAL_INV;
			end.invalidate_rkey = key;
		}
		wrs_.back().next = nullptr;
		wrs_.back().send_flags = IBV_SEND_SIGNALED;
	}

	Env &env_;
	Side &side_;
	Window window_;
	ibv_mr *mr_;
	std::vector<ibv_send_wr> wrs_;
};

/* A queue pair has a slot for a write and for each read: as many as can be. */
constexpr uint32_t slots = 129;

} // namespace

PV_TEST_LOCAL("budget.walks",
	      "a ring full of binds and invalidations, each of which looks at "
	      "as many queue pairs as a walk may at once, leaves the CPU to "
	      "others")
{
	constexpr uint32_t at_once = 32; /* kernel/memory/rkm.c */
	constexpr uint64_t cost = at_once / 4; /* in packets */
	const uint32_t count = judges_time() ? 8192 : 512;
	Mr mr = must_reg(env.b, {page, 0, bindable_access});
	std::vector<Link> links;

	for (uint32_t i = 0; i < at_once; i++)
		links.push_back(connect(env, {.rd_atomic_b = slots - 1,
					      .cap = deep(i ? 1 : 2 * count)}));
	Rebinds rebinds(env, links[0].b, mr, count);
	Moved walks(env.b, "rkm_walks"), keys(env.b, "rkm_keys"),
		ns(env.b, "rkm_walk_ns");
	const Loop before = loop_of("requester");

	rebinds.post();
	rebinds.wait();
	const uint64_t slices = loop_of("requester").used_up - before.used_up;

	note(str(walks.by(), " walks, ", keys.by(), " slots, ",
		 ns.by() / 1000000, " ms, ", slices, " slices"));
	REQUIRE_EQ(walks.by(), count, "walks");
	REQUIRE_EQ(keys.by(), uint64_t(count) * at_once * slots, "slots");
	REQUIRE(slices >= count * cost / slice_packets, slices, " slices");
	must_share("walks", [&] {
		rebinds.post();
		rebinds.wait();
	});
}

PV_TEST_LOCAL("budget.long_walks",
	      "invalidations of many queue pairs, which a work makes for all of "
	      "them, leave the CPU to others")
{
	/* Each walk looks at all of them, whether half of them invalidate or all. */
	const uint32_t many = scaled(768), invalidate = many / 2;
	Mr mr = must_reg(env.b, {page, 0, bindable_access});
	const LinkSpec spec = {.rd_atomic_b = slots - 1,
			       .cap = deep(8),
			       .cq_a = env.a.create_cq(1, false)};
	std::vector<Link> links;
	std::deque<Rebinds> all;

	while (links.size() < many)
		links.push_back(connect(env, spec));
	for (uint32_t i = 0; i < invalidate; i++)
		all.emplace_back(env, links[i].b, mr, 2);
	Moved walks(env.b, "rkm_walks"), keys(env.b, "rkm_keys"),
		ns(env.b, "rkm_walk_ns");

	must_share("long walks", [&] {
		for (Rebinds &one : all)
			one.post();
		for (Rebinds &one : all)
			one.wait();
	});
	note(str(walks.by(), " walks, ", keys.by(), " slots, ",
		 ns.by() / 1000000, " ms"));
}

PV_TEST_LOCAL("budget.faults",
	      "a region ends while more queue pairs wait for its pages than a "
	      "slice has: each of them learns of it, once")
{
	constexpr uint32_t count = slice_packets + 88;
	Never never(1);
	auto region = on_demand(env.a, never.memory, page);
	const LinkSpec spec = {.cap = deep(1),
			       .cq_a = env.a.create_cq(count, false),
			       .cq_b = env.b.create_cq(1, false)};
	std::vector<Link> links;
	Moved asked(env.a, "odp_faults"), failed(env.a, "odp_fault_errors");
	std::map<uint32_t, uint32_t> ended;

	env.expect_async();
	while (links.size() < count) {
		links.push_back(connect(env, spec));
		post_raw_send(links.back().a,
			      {.opcode = IBV_WR_SEND,
			       .send_flags = IBV_SEND_SIGNALED},
			      {uintptr_t(never.memory), 8, region->lkey});
	}
	REQUIRE(eventually(env, [&] { return asked.by() == count; }), "faults");
	const Loop before = loop_of("faults");

	REQUIRE_EQ(ibv_dereg_mr(region.release()), 0, "dereg_mr");
	for (const Wc &wc : wait_completions(env, links[0].a, spec.cq_a, count,
					     "all that waited")) {
		REQUIRE_EQ(int(wc.status), IBV_WC_LOC_PROT_ERR);
		ended[wc.qp_number]++;
	}
	REQUIRE_EQ(ended.size(), count, "queue pairs that have ended");
	REQUIRE_EQ(failed.by(), count, "faults that have ended");
	must_have_ended("faults", before, slice_packets);
}

PV_TEST_LOCAL("budget.links",
	      "a protection domain ends that more targets of XRC know than a "
	      "slice has; they go on with others")
{
	constexpr uint32_t count = slice_packets + 8;
	const Handle pd = env.b.alloc_pd().id, xrcd = must_domain(env.b);
	const LinkSpec spec = {.cap = deep(1),
			       .cq_a = env.a.create_cq(16, false),
			       .cq_b = env.b.create_cq(16, false)};
	const Srq srq = must_srq(env, xrcd, spec.cq_b, pd);
	std::vector<XrcLink> links;
	const auto use = [&](XrcLink &link, const Srq &queue) {
		must_post_srq(env.b, queue, {{1, {}}});
		must_send(env, link.a, to_srq(queue, make_wr(Op::send, {}, 0)),
			  "send");
		expect_recv(env, link.b, 1, "receive");
	};

	while (links.size() < count) {
		links.push_back(connect_xrc(env, spec, xrcd));
		use(links.back(), srq);
	}
	REQUIRE_EQ(env.b.destroy(Kind::srq, srq.id), 0, "destroy_srq");
	const Loop before = loop_of("links");

	REQUIRE_EQ(env.b.destroy(Kind::pd, pd), 0, "dealloc_pd");
	must_have_ended("links", before, slice_packets);
	for (XrcLink *link : {&links.front(), &links.back()})
		use(*link, link->srq);
}

PV_TEST_LOCAL("budget.windows_end",
	      "a queue pair ends on which 32,768 memory windows are bound, each "
	      "with a walk, while others have the CPU")
{
	constexpr uint32_t at_once = 32, each = 64;
	const uint32_t count = judges_time() ? 32768 : 512;
	std::deque<Window> windows;
	std::vector<Link> crowd;
	BindSpec spec = {must_reg(env.b, {page, 0, bindable_access}), 0, page};

	while (crowd.size() < at_once - 1)
		crowd.push_back(connect(env, {.rd_atomic_b = slots - 1,
					      .cap = deep(1)}));
	while (windows.size() < count)
		windows.emplace_back(env.b, IBV_MW_TYPE_2);
	must_share("windows", [&] {
		Link link = connect(env, {.cap = deep(2 * each)});

		for (uint32_t n = 1; n <= count; n++) {
			spec.flags = n % each ? 0 : IBV_SEND_SIGNALED;
			const uint64_t id =
				post_bind(link.b, windows[n - 1], spec);

			if (spec.flags)
				expect_send(env, link.b, id, "bind");
		}
		REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0,
			   "destroy_qp");
	});
}
