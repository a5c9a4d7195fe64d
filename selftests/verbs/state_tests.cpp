// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The RC queue pair state machine (IBA 10.3.1, 11.2.5.2): which transitions
 * exist, which attributes each needs and allows, which values are refused,
 * and that query returns what was set.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
				   IBV_QPS_RTS,	  IBV_QPS_SQD,	IBV_QPS_ERR};
const char *const names[] = {"RESET", "INIT", "RTR", "RTS",
			     "SQD",   "SQE",  "ERR"};

/* A transition of an RC QP: attributes it must have and may have. */
struct Transition {
	ibv_qp_state from;
	ibv_qp_state to;
	int required;
	int optional;
};

constexpr int rtr_required = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER;
constexpr int rts_required = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			     IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int init_required = IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      IBV_QP_ACCESS_FLAGS;
constexpr int rts_optional = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH |
			     IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
			     IBV_QP_PATH_MIG_STATE;
constexpr int sqd_optional =
	IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
	IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
	IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;

const Transition legal[] = {
	{IBV_QPS_RESET, IBV_QPS_RESET, 0, 0},
	{IBV_QPS_RESET, IBV_QPS_INIT, init_required, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, init_required},
	{IBV_QPS_INIT, IBV_QPS_RTR, rtr_required,
	 IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	{IBV_QPS_INIT, IBV_QPS_RESET, 0, 0},
	{IBV_QPS_INIT, IBV_QPS_ERR, 0, 0},
	{IBV_QPS_RTR, IBV_QPS_RTS, rts_required, rts_optional},
	{IBV_QPS_RTR, IBV_QPS_RESET, 0, 0},
	{IBV_QPS_RTR, IBV_QPS_ERR, 0, 0},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, rts_optional},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_RTS, IBV_QPS_RESET, 0, 0},
	{IBV_QPS_RTS, IBV_QPS_ERR, 0, 0},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, rts_optional},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0, sqd_optional},
	{IBV_QPS_SQD, IBV_QPS_RESET, 0, 0},
	{IBV_QPS_SQD, IBV_QPS_ERR, 0, 0},
	{IBV_QPS_ERR, IBV_QPS_RESET, 0, 0},
	{IBV_QPS_ERR, IBV_QPS_ERR, 0, 0},
};

const Transition *find(ibv_qp_state from, ibv_qp_state to)
{
	for (const Transition &t : legal)
		if (t.from == from && t.to == to)
			return &t;
	return nullptr;
}

/* An attribute structure in which every field has a value that is right. */
ibv_qp_attr full_attr(const Link &link, ibv_qp_state to)
{
	ibv_qp_attr attr = rtr_attr(link, link.a, link.b);
	ibv_qp_attr rts = rts_attr(link, link.a);

	attr.qp_state = to;
	attr.port_num = 1;
	attr.qp_access_flags = link.spec.access;
	attr.sq_psn = rts.sq_psn;
	attr.timeout = rts.timeout;
	attr.retry_cnt = rts.retry_cnt;
	attr.rnr_retry = rts.rnr_retry;
	attr.max_rd_atomic = rts.max_rd_atomic;
	attr.qkey = 0x1234;
	return attr;
}

int try_modify(Link &link, ibv_qp_state to, int mask)
{
	return link.a.host->modify(link.a.qp.id, full_attr(link, to), mask);
}

/* Brings end A from RESET to a state by the legal way. */
void bring_to(Link &link, ibv_qp_state state)
{
	to_state(link.a, IBV_QPS_RESET);
	if (state == IBV_QPS_RESET)
		return;
	to_init(link, link.a);
	if (state == IBV_QPS_INIT)
		return;
	if (state == IBV_QPS_ERR) {
		to_state(link.a, IBV_QPS_ERR);
		return;
	}
	to_rtr(link, link.a);
	if (state == IBV_QPS_RTR)
		return;
	to_rts(link, link.a);
	if (state == IBV_QPS_SQD)
		to_state(link.a, IBV_QPS_SQD);
}

std::string arrow(ibv_qp_state from, ibv_qp_state to)
{
	return str(names[from], " to ", names[to]);
}

/* Every attribute with another value than usual. */
LinkSpec unusual_spec()
{
	LinkSpec spec = {.mtu = 512,
			 .psn_a = 0xabcdef,
			 .timeout = 11,
			 .retry_count = 5,
			 .rnr_retry = 3,
			 .min_rnr_timer = 21,
			 .rd_atomic = 2,
			 .access = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_ATOMIC,
			 .signal_all = true};

	return spec;
}

void must_be_unusual(const ibv_qp_attr &got, const Link &link)
{
	REQUIRE_EQ(int(got.qp_state), IBV_QPS_RTS, "qp_state");
	REQUIRE_EQ(int(got.cur_qp_state), IBV_QPS_RTS, "cur_qp_state");
	REQUIRE_EQ(int(got.path_mtu), IBV_MTU_512, "path_mtu");
	REQUIRE_EQ(got.dest_qp_num, link.b.qp.number, "dest_qp_num");
	REQUIRE_EQ(got.rq_psn, link.spec.psn_b, "rq_psn");
	REQUIRE_EQ(got.sq_psn, link.spec.psn_a, "sq_psn");
	REQUIRE_EQ(unsigned(got.qp_access_flags), link.spec.access,
		   "access flags");
	REQUIRE_EQ(got.timeout, 11, "timeout");
	REQUIRE_EQ(got.retry_cnt, 5, "retry_cnt");
	REQUIRE_EQ(got.rnr_retry, 3, "rnr_retry");
	REQUIRE_EQ(got.min_rnr_timer, 21, "min_rnr_timer");
	REQUIRE_EQ(got.max_rd_atomic, 2, "max_rd_atomic");
	REQUIRE_EQ(got.max_dest_rd_atomic, 2, "max_dest_rd_atomic");
	REQUIRE_EQ(got.port_num, 1, "port_num");
	REQUIRE_EQ(got.pkey_index, 0, "pkey_index");
}

void must_be_address(const ibv_ah_attr &got, const Link &link)
{
	const ibv_global_route &grh = got.grh;

	REQUIRE_EQ(got.is_global, 1, "is_global");
	REQUIRE(!memcmp(&grh.dgid, &link.b.info.gid, 16), "dgid");
	REQUIRE_EQ(grh.sgid_index, link.a.info.gid_index, "sgid_index");
	REQUIRE_EQ(grh.flow_label, 0x12345u, "flow_label");
	/* The RDMA core puts the route's own in place of what was asked for. */
	REQUIRE(grh.hop_limit, "hop_limit");
	REQUIRE_EQ(grh.traffic_class, 0x68, "traffic_class");
}

void must_be_capacities(const ibv_qp_cap &got, const ibv_qp_cap &made)
{
	REQUIRE_EQ(got.max_send_wr, made.max_send_wr, "send wr");
	REQUIRE_EQ(got.max_recv_wr, made.max_recv_wr, "recv wr");
	REQUIRE_EQ(got.max_send_sge, made.max_send_sge, "send sge");
	REQUIRE_EQ(got.max_recv_sge, made.max_recv_sge, "recv sge");
	REQUIRE_EQ(got.max_inline_data, made.max_inline_data, "inline");
}

/* One attribute that is wrong where all others are right. */
struct BadValue {
	const char *what;
	ibv_qp_state from;
	ibv_qp_state to;
	void (*spoil)(ibv_qp_attr &attr, const HostInfo &info);
};

const BadValue bad_values[] = {
	{"port 0", IBV_QPS_RESET, IBV_QPS_INIT,
	 [](ibv_qp_attr &a, const HostInfo &) { a.port_num = 0; }},
	{"port 2", IBV_QPS_RESET, IBV_QPS_INIT,
	 [](ibv_qp_attr &a, const HostInfo &) { a.port_num = 2; }},
	{"pkey_index beyond the table", IBV_QPS_RESET, IBV_QPS_INIT,
	 [](ibv_qp_attr &a, const HostInfo &i) {
		 a.pkey_index = i.port.pkey_tbl_len;
	 }},
	{"path_mtu 0", IBV_QPS_INIT, IBV_QPS_RTR,
	 [](ibv_qp_attr &a, const HostInfo &) { a.path_mtu = ibv_mtu(0); }},
	{"path_mtu 6", IBV_QPS_INIT, IBV_QPS_RTR,
	 [](ibv_qp_attr &a, const HostInfo &) { a.path_mtu = ibv_mtu(6); }},
	{"sgid_index beyond the table", IBV_QPS_INIT, IBV_QPS_RTR,
	 [](ibv_qp_attr &a, const HostInfo &i) {
		 a.ah_attr.grh.sgid_index =
			 uint8_t(std::min(i.port.gid_tbl_len, 255));
	 }},
	{"no GRH", IBV_QPS_INIT, IBV_QPS_RTR,
	 [](ibv_qp_attr &a, const HostInfo &) { a.ah_attr.is_global = 0; }},
	{"max_dest_rd_atomic", IBV_QPS_INIT, IBV_QPS_RTR,
	 [](ibv_qp_attr &a, const HostInfo &i) {
		 a.max_dest_rd_atomic =
			 uint8_t(std::min(i.device.max_qp_rd_atom + 1, 255));
	 }},
	{"min_rnr_timer 32", IBV_QPS_INIT, IBV_QPS_RTR,
	 [](ibv_qp_attr &a, const HostInfo &) { a.min_rnr_timer = 32; }},
	{"max_rd_atomic", IBV_QPS_RTR, IBV_QPS_RTS,
	 [](ibv_qp_attr &a, const HostInfo &i) {
		 a.max_rd_atomic = uint8_t(
			 std::min(i.device.max_qp_init_rd_atom + 1, 255));
	 }},
	{"timeout 32", IBV_QPS_RTR, IBV_QPS_RTS,
	 [](ibv_qp_attr &a, const HostInfo &) { a.timeout = 32; }},
	{"retry_cnt 8", IBV_QPS_RTR, IBV_QPS_RTS,
	 [](ibv_qp_attr &a, const HostInfo &) { a.retry_cnt = 8; }},
	{"rnr_retry 8", IBV_QPS_RTR, IBV_QPS_RTS,
	 [](ibv_qp_attr &a, const HostInfo &) { a.rnr_retry = 8; }},
};

} // namespace

PV_TEST("state.legal",
	"every transition of IBA with just the attributes it requires")
{
	Link link = make_link(env);

	for (const Transition &t : legal) {
		bring_to(link, t.from);
		int error = try_modify(link, t.to, IBV_QP_STATE | t.required);

		REQUIRE(!error, arrow(t.from, t.to), ": ", strerror(error));
		REQUIRE_EQ(int(state_of(link.a)), t.to, arrow(t.from, t.to));
	}
}

PV_TEST("state.illegal",
	"every other transition is refused and the state stays")
{
	Link link = make_link(env);
	constexpr int masks[] = {0, init_required, rtr_required, rts_required};

	for (ibv_qp_state from : states) {
		for (int to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++) {
			if (find(from, ibv_qp_state(to)))
				continue;
			bring_to(link, from);
			for (int mask : masks) {
				int error = try_modify(link, ibv_qp_state(to),
						       IBV_QP_STATE | mask);

				REQUIRE(error, arrow(from, ibv_qp_state(to)),
					" was allowed");
				REQUIRE_EQ(int(state_of(link.a)), from,
					   "refused ",
					   arrow(from, ibv_qp_state(to)));
			}
		}
	}
}

PV_TEST("state.unknown", "a state that does not exist is refused")
{
	Link link = make_link(env);

	for (int to : {7, 8, 255}) {
		bring_to(link, IBV_QPS_INIT);
		REQUIRE(try_modify(link, ibv_qp_state(to), IBV_QP_STATE),
			"state ", to, " was allowed");
		REQUIRE_EQ(int(state_of(link.a)), IBV_QPS_INIT, "state");
	}
}

PV_TEST("state.missing_attribute",
	"a transition without one of its required attributes is refused")
{
	Link link = make_link(env);

	for (const Transition &t : legal) {
		for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
			if (!(t.required & bit))
				continue;
			bring_to(link, t.from);
			REQUIRE(try_modify(link, t.to,
					   IBV_QP_STATE | (t.required & ~bit)),
				arrow(t.from, t.to), " without attribute ", bit,
				" was allowed");
			REQUIRE_EQ(int(state_of(link.a)), t.from,
				   arrow(t.from, t.to), " without ", bit);
		}
	}
}

PV_TEST("state.foreign_attribute",
	"a transition with an attribute that does not belong there is refused")
{
	Link link = make_link(env);

	for (const Transition &t : legal) {
		for (int bit = IBV_QP_CUR_STATE; bit <= IBV_QP_DEST_QPN;
		     bit <<= 1) {
			if ((t.required | t.optional) & bit)
				continue;
			/* Resizing is a capability of its own. */
			if (bit == IBV_QP_CAP)
				continue;
			bring_to(link, t.from);
			REQUIRE(try_modify(link, t.to,
					   IBV_QP_STATE | t.required | bit),
				arrow(t.from, t.to), " with attribute ", bit,
				" was allowed");
			REQUIRE_EQ(int(state_of(link.a)), t.from,
				   arrow(t.from, t.to), " with ", bit);
		}
	}
}

PV_TEST("state.optional_attribute",
	"a transition takes its optional attributes, and query shows them")
{
	Link link = make_link(env);

	bring_to(link, IBV_QPS_RTS);
	ibv_qp_attr attr = full_attr(link, IBV_QPS_RTS);

	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	attr.min_rnr_timer = 19;
	must_modify(link.a, attr, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER,
		    "attributes in RTS, no state");
	QpState now = env.a.query(link.a.qp.id, IBV_QP_ACCESS_FLAGS |
							IBV_QP_MIN_RNR_TIMER |
							IBV_QP_STATE);
	REQUIRE_EQ(unsigned(now.attr.qp_access_flags), IBV_ACCESS_REMOTE_READ,
		   "access flags");
	REQUIRE_EQ(now.attr.min_rnr_timer, 19, "min_rnr_timer");
	REQUIRE_EQ(int(now.attr.qp_state), IBV_QPS_RTS, "state");
}

PV_TEST("state.current", "who names the current state must know it")
{
	Link link = make_link(env);
	ibv_qp_attr attr = full_attr(link, IBV_QPS_RTS);
	constexpr int mask = IBV_QP_STATE | IBV_QP_CUR_STATE;

	bring_to(link, IBV_QPS_RTS);
	for (ibv_qp_state wrong : {IBV_QPS_RTR, IBV_QPS_SQD, IBV_QPS_SQE}) {
		attr.cur_qp_state = wrong;
		REQUIRE(env.a.modify(link.a.qp.id, attr, mask), names[wrong],
			" was taken for RTS");
	}
	attr.cur_qp_state = IBV_QPS_RTS;
	must_modify(link.a, attr, mask, "the right one");
	bring_to(link, IBV_QPS_RTR);
	REQUIRE(env.a.modify(link.a.qp.id, attr, mask | rts_required),
		"RTS was taken for RTR");
	attr.cur_qp_state = IBV_QPS_RTR;
	must_modify(link.a, attr, mask | rts_required, "the right one");
	REQUIRE_EQ(int(state_of(link.a)), IBV_QPS_RTS, "state");
}

PV_TEST("state.query",
	"ibv_query_qp returns every attribute that was set, and the capacities")
{
	Link link = make_link(env, unusual_spec());
	QpState fresh = env.a.query(link.a.qp.id, IBV_QP_STATE | IBV_QP_CAP);

	REQUIRE_EQ(fresh.error, 0, "query in RESET");
	REQUIRE_EQ(int(fresh.attr.qp_state), IBV_QPS_RESET, "state");

	bring_to(link, IBV_QPS_INIT);
	ibv_qp_attr rtr = rtr_attr(link, link.a, link.b);

	/* Not the hop limit: the kernel takes the route's instead. */
	/* A flow label has 20 bits; there are programs that set all 32. */
	rtr.ah_attr.grh.flow_label = 0xfff12345;
	rtr.ah_attr.grh.traffic_class = 0x68;
	must_modify(link.a, rtr, rtr_mask, "to RTR");
	to_rts(link, link.a);

	QpState state = env.a.query(link.a.qp.id, 0x1fffff);

	REQUIRE_EQ(state.error, 0, "query in RTS");
	must_be_unusual(state.attr, link);
	must_be_address(state.attr.ah_attr, link);
	must_be_capacities(state.cap, link.a.qp.cap);
	REQUIRE_EQ(state.signal_all, 1, "sq_sig_all");
}

PV_TEST("state.bad_value",
	"values outside their range are refused, and the state stays")
{
	Link link = make_link(env);
	std::string allowed;

	for (const BadValue &c : bad_values) {
		ibv_qp_attr attr = full_attr(link, c.to);
		const Transition *t = find(c.from, c.to);

		bring_to(link, c.from);
		c.spoil(attr, link.a.info);
		if (!env.a.modify(link.a.qp.id, attr,
				  IBV_QP_STATE | t->required))
			allowed += str(" ", c.what, ";");
		else
			REQUIRE_EQ(int(state_of(link.a)), c.from, c.what);
	}
	REQUIRE(allowed.empty(), "allowed:", allowed);
}

/*
 * Bits of regions, of abilities that the adapter has not, and optional ones of later issues.
 * libibverbs of Debian 12 has no names for the rights to flush (1 << 8, 1 << 9).
 */
PV_TEST_LOCAL("state.access_flags",
	      "access flags that no peer can use are taken, and allow nothing")
{
	constexpr unsigned flush = 1u << 8 | 1u << 9;
	constexpr unsigned without_use =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
		IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |
		IBV_ACCESS_HUGETLB | flush | IBV_ACCESS_OPTIONAL_RANGE;
	Link link = make_link(env, {.access = without_use});
	std::string wrong;

	bring_to(link, IBV_QPS_INIT);
	for (unsigned bit = 0; bit < 32; bit++) {
		unsigned flags = 1u << bit;
		bool known = flags & (without_use | IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_READ |
				      IBV_ACCESS_REMOTE_ATOMIC);
		ibv_qp_attr attr = {.qp_access_flags = flags};
		int err = env.a.modify(link.a.qp.id, attr, IBV_QP_ACCESS_FLAGS);

		if (err != (known ? 0 : EINVAL))
			wrong += str(" bit ", bit, ": ", err, ";");
		if (!err && env.a.query(link.a.qp.id, IBV_QP_ACCESS_FLAGS)
					    .attr.qp_access_flags != flags)
			wrong += str(" bit ", bit, " is not shown;");
	}
	REQUIRE(wrong.empty(), "wrong:", wrong);
	REQUIRE(env.a.reg_mr({4096, 0, flush | IBV_ACCESS_LOCAL_WRITE}).error,
		"a region whose data cannot be flushed");

	/* All of them together are no right of a peer. */
	bring_to(link, IBV_QPS_RESET);
	Link closed = connect(env, {.access = without_use});
	Mr target = must_reg(
		   env.b,
		   {64, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
	   source = must_reg(env.a, {64});

	env.expect_async();
	must_send(env, closed.a,
		  make_wr(Op::write, {source, 0}, 64, {target, 0}), "a write",
		  IBV_WC_REM_INV_REQ_ERR);
}

PV_TEST("state.path_mtu_too_large",
	"a path MTU above the port's active MTU is refused")
{
	Link link = make_link(env);
	int above = mtu_bytes(env.info_a.port.active_mtu) * 2;

	if (above > 4096)
		throw Skip("the port has the largest MTU there is");
	ibv_qp_attr attr = full_attr(link, IBV_QPS_RTR);

	bring_to(link, IBV_QPS_INIT);
	attr.path_mtu = mtu_code(above);
	REQUIRE(env.a.modify(link.a.qp.id, attr, rtr_mask), "was allowed");
}

/* rdma core knows migration on InfiniBand only; nothing must come of asking. */
PV_TEST("state.alternate_path",
	"an alternate path is refused, and the pair goes on")
{
	Link link = connect(env);
	ibv_qp_attr attr = full_attr(link, IBV_QPS_RTS);

	attr.alt_ah_attr = full_attr(link, IBV_QPS_RTR).ah_attr;
	attr.alt_port_num = 1;
	attr.path_mig_state = IBV_MIG_REARM;
	REQUIRE_EQ(env.a.modify(link.a.qp.id, attr, IBV_QP_ALT_PATH), EINVAL,
		   "alternate path");
	REQUIRE(env.a.modify(link.a.qp.id, attr, IBV_QP_PATH_MIG_STATE),
		"migration was armed");
	QpState now = env.a.query(link.a.qp.id, IBV_QP_PATH_MIG_STATE);
	REQUIRE_EQ(int(now.attr.path_mig_state), IBV_MIG_MIGRATED, "state");
	prove_alive(env, link);
}

PV_TEST("state.reuse_after_reset",
	"RESET forgets everything: the pair works again with other PSNs")
{
	Link link = connect(env);

	for (uint32_t round = 0; round < 5; round++) {
		prove_alive(env, link);
		to_state(link.a, IBV_QPS_RESET);
		to_state(link.b, IBV_QPS_RESET);
		link.a.psn = 0xfffff0 + round;
		link.b.psn = 77 * round;
		bring_up(link);
	}
	prove_alive(env, link);
}

PV_TEST("state.reuse_after_error",
	"a pair in ERR works again after RESET, nothing of before appears")
{
	env.expect_async();
	Link link = connect(env);
	Mr mr = must_reg(env.a, {4096}), target = must_reg(env.b, {4096});
	SendWr bad = make_wr(Op::write, {mr, 0}, 64, {target, 0});

	for (int round = 0; round < 3; round++) {
		bad.rkey = target.rkey ^ 0xffff00;
		must_post(link.b, std::vector<RecvWr>{{1, {}}, {2, {}}});
		must_send(env, link.a, bad, "bad key", IBV_WC_REM_ACCESS_ERR);
		wait_state(env, link.a, IBV_QPS_ERR);
		to_state(link.b, IBV_QPS_ERR);
		wait_completions(env, link.b, link.b.recv_cq, 2, "flushed");
		reconnect(link);
		no_more(link.a, "after RESET");
		no_more(link.b, "after RESET");
		prove_alive(env, link);
	}
}

PV_TEST("state.sqd_holds_sends", "in SQD new sends wait; back in RTS they go")
{
	Link link = connect(env);
	Mr out = must_reg(env.a, {4096}, 3), in = must_reg(env.b, {4096}, 4);
	SendWr wr = make_wr(Op::write, {out, 0}, 4096, {in, 0});

	to_state(link.a, IBV_QPS_SQD);
	must_post(link.a, wr);
	none_sent(link.a, 50, "completed in SQD");
	must_match(env.b, in, 0, 4096, 4, 0, "not written in SQD");
	/* The other direction is not concerned. */
	must_post(link.a, RecvWr{5, {}});
	must_post(link.b, make_wr(Op::send, {}, 0));
	expect_recv(env, link.a, 5, "receive in SQD");
	wait_send(env, link.b, "send to SQD");
	to_state(link.a, IBV_QPS_RTS);
	expect_send(env, link.a, wr.id, "after SQD");
	must_match(env.b, in, 0, 4096, 3, 0, "written after SQD");
}

PV_TEST("state.sqd_drained_event",
	"SQ_DRAINED comes when the sends before SQD are done, not earlier")
{
	Link link = connect(env);
	SendWr wr = make_wr(Op::send, {}, 0);

	must_post(link.a, wr); /* waits: no receive */
	to_sqd(link.a);
	REQUIRE_EQ(env.a.async_event(50).type, -1,
		   "event while one is under way");
	must_post(link.b, RecvWr{});
	expect_send(env, link.a, wr.id, "the send begun before SQD");
	must_event(env, env.a, IBV_EVENT_SQ_DRAINED, link.a.qp.id);
}

PV_TEST("state.sqd_drained_at_once",
	"SQ_DRAINED is told also to who goes on at once, and once each time")
{
	Link link = connect(env);

	for (int round = 0; round < 10; round++) {
		bool busy = round % 2;
		SendWr wr = make_wr(Op::send, {}, 0);

		if (busy)
			must_post(link.a, wr);
		to_sqd(link.a);
		if (busy) {
			must_post(link.b, RecvWr{});
			expect_send(env, link.a, wr.id, "the send before SQD");
			wait_recv(env, link.b, "receive");
		}
		to_state(link.a, IBV_QPS_RTS);
		must_event(env, env.a, IBV_EVENT_SQ_DRAINED, link.a.qp.id);
	}
	/* Not asked for, not told. */
	to_state(link.a, IBV_QPS_SQD);
	to_state(link.a, IBV_QPS_RTS);
	REQUIRE_EQ(env.a.async_event(50).type, -1, "a surplus event");
}
