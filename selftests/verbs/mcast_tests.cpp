// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The UD service: datagrams to one queue pair and to groups of them, their
 * GRH, Q_Keys, shared receive queues, and the limits of groups.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>

#include "as_user.h"
#include "link.h"
#include "manager.h"
#include "paged.h"
#include "tap.h"
#include "../common/device.h"
#include "ud.h"

using namespace pv;
using namespace pv::ud;

namespace {

constexpr uint32_t multicast_qpn = 0xffffff;

/* Group number @n, of the family the run uses. */
ibv_gid group_gid(const Env &env, uint16_t n)
{
	ibv_gid gid = {};

	if (common::is_ipv4(env.info_a.gid)) {
		gid.raw[10] = gid.raw[11] = 0xff;
		gid.raw[12] = 239;
		gid.raw[13] = 77;
	} else {
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x0e;
		gid.raw[12] = 0x77;
	}
	gid.raw[14] = uint8_t(n >> 8);
	gid.raw[15] = uint8_t(n);
	return gid;
}

void must_attach(const Side &side, const ibv_gid &gid)
{
	int error = side.host->attach(side.qp.id, gid);

	if (error == EOPNOTSUPP || error == ENOSYS)
		throw Skip("no multicast");
	REQUIRE(!error, "attach: ", strerror(error));
}

/* A queue pair and the group that it is to be in. */
struct Member {
	Side side;
	ibv_gid gid;

	int attach() const { return side.host->attach(side.qp.id, gid); }
	void must_leave() const
	{
		REQUIRE_EQ(side.host->detach(side.qp.id, gid), 0, "detach");
	}
};

/* One too many: the last has no place until the first has left, whose place that was. */
void must_be_as_many(const std::vector<Member> &all, int error = 0)
{
	const Member &first = all.front(), &last = all.back();
	auto must_find_no_room = [&](const Member &one) {
		int got = one.attach();

		REQUIRE(error ? got == error : got, "one more: ", got);
	};

	for (size_t i = 0; i < all.size() - 1; i++)
		must_attach(all[i].side, all[i].gid);
	must_find_no_room(last);
	first.must_leave();
	must_attach(last.side, last.gid);
	must_find_no_room(first);
	for (size_t i = 1; i < all.size(); i++)
		all[i].must_leave();
}

uint64_t violations(Host &host)
{
	ibv_port_attr port = {};

	REQUIRE_EQ(ibv_query_port(local(host).context(), 1, &port), 0,
		   "query_port");
	return port.qkey_viol_cntr;
}

} // namespace

PV_TEST("ud.send", "datagrams of every kind of length, with their GRH")
{
	Side a = make_ud(env.a, env.info_a), b = make_ud(env.b, env.info_b);
	uint32_t mtu = uint32_t(common_mtu(env));
	Mr out = must_reg(env.a, {mtu}), in = must_reg(env.b, {16 * slot});
	Handle ah = must_ah(env.a, env.info_b.gid);
	uint64_t id = 0;

	for (uint32_t length : {0u, 1u, 3u, 4u, 255u, 1024u, mtu - 1, mtu}) {
		SendWr wr = datagram(out, length, ah, b.qp.number);
		uint64_t seed = env.seed();

		env.a.fill(out.id, 0, mtu, seed, 0);
		must_post(b, receive(in, id));
		must_send(env, a, wr, "send");
		check_received(env, a, b, in, id++, wr, length, seed,
			       env.info_b.gid);
	}
}

PV_TEST_LOCAL("ud.answer", "an address handle made of a completion leads back")
{
	LocalHost &host = local(env.b);
	Side a = make_ud(env.a, env.info_a), b = make_ud(env.b, env.info_b);
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {slot}),
	   back = must_reg(env.a, {slot});
	SendWr wr =
		datagram(out, 64, must_ah(env.a, env.info_b.gid), b.qp.number);

	must_post(b, receive(in, 0));
	must_post(a, receive(back, 0));
	must_post(a, wr);
	Wc got = wait_recv(env, b, "receive");
	ibv_wc wc = {.src_qp = got.src_qp, .wc_flags = got.flags};
	ibv_ah *ah = ibv_create_ah_from_wc(
		host.raw_pd(0), &wc,
		reinterpret_cast<ibv_grh *>(host.memory(in.id)), 1);
	REQUIRE(ah, "ibv_create_ah_from_wc: ", strerror(errno));

	uint64_t seed = env.seed();

	env.b.fill(in.id, 0, 100, seed, 0);
	post_raw_send(b,
		      {.wr_id = 1,
		       .opcode = IBV_WR_SEND_WITH_IMM,
		       .send_flags = IBV_SEND_SIGNALED,
		       .imm_data = htonl(77),
		       .wr = {.ud = {ah, got.src_qp, qkey}}},
		      {in.address, 100, in.lkey});
	expect_send(env, b, 1, "answer");
	wr.imm = 77;
	check_received(env, b, a, back, 0, wr, 100, seed, env.info_a.gid);
	REQUIRE_EQ(ibv_destroy_ah(ah), 0, "destroy_ah");
}

PV_TEST("ud.srq", "two queue pairs take their datagrams from one queue")
{
	Srq srq = must_srq(env.b);
	Side a = make_ud(env.a, env.info_a),
	     one = make_ud(env.b, env.info_b, srq.id),
	     two = make_ud(env.b, env.info_b, srq.id);
	Mr out = must_reg(env.a, {500}), in = must_reg(env.b, {8 * slot});
	Handle ah = must_ah(env.a, env.info_b.gid);

	for (uint64_t id = 0; id < 8; id++) {
		Side &to = id % 2 ? one : two;
		SendWr wr = datagram(out, 500, ah, to.qp.number);
		uint64_t seed = env.seed();

		env.a.fill(out.id, 0, 500, seed, 0);
		must_post_srq(env.b, srq, {receive(in, id)});
		must_send(env, a, wr, "send");
		check_received(env, a, to, in, id, wr, 500, seed,
			       env.info_b.gid);
	}
}

PV_TEST("ud.qkey",
	"a wrong Q_Key is dropped; with the top bit the QP's is sent")
{
	Side a = make_ud(env.a, env.info_a), b = make_ud(env.b, env.info_b);
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {8}, seed), in = must_reg(env.b, {4 * slot});
	SendWr wr =
		datagram(out, 8, must_ah(env.a, env.info_b.gid), b.qp.number);

	must_post(b, std::vector<RecvWr>{receive(in, 0), receive(in, 1)});
	wr.qkey = qkey + 1;
	must_send(env, a, wr, "wrong");
	wr.qkey = 0x80000000;
	must_send(env, a, wr, "the QP's own");
	check_received(env, a, b, in, 0, wr, 8, seed, env.info_b.gid);
	nothing_but_marker(env, a, b, in, 1);
}

PV_TEST("ud.no_receive",
	"a datagram without a receive is lost, later ones come")
{
	Side a = make_ud(env.a, env.info_a), b = make_ud(env.b, env.info_b);
	Mr out = must_reg(env.a, {8}), in = must_reg(env.b, {slot});
	SendWr wr =
		datagram(out, 8, must_ah(env.a, env.info_b.gid), b.qp.number);

	must_post(a, std::vector<SendWr>{wr, wr});
	wait_completions(env, a, a.send_cq, 2, "sends");
	/* A datagram that waits for the receiver is dropped before a later one comes. */
	REQUIRE(env.b.poll(b.recv_cq.id, 1, 20).empty(), "nothing posted");
	must_post(b, receive(in, 0));
	nothing_but_marker(env, a, b, in, 0);
}

PV_TEST("ud.too_long", "a datagram beyond the MTU fails; RTS revives the queue")
{
	Side a = make_ud(env.a, env.info_a), b = make_ud(env.b, env.info_b);
	uint32_t mtu = uint32_t(mtu_bytes(env.info_a.port.active_mtu));
	Mr out = must_reg(env.a, {mtu + 1}), in = must_reg(env.b, {slot});
	SendWr wr = datagram(out, mtu + 1, must_ah(env.a, env.info_b.gid),
			     b.qp.number);

	env.expect_async();
	must_send(env, a, wr, "too long", IBV_WC_LOC_LEN_ERR);
	REQUIRE_EQ(int(state_of(a)), IBV_QPS_SQE, "state");
	to_state(a, IBV_QPS_RTS);
	must_post(b, receive(in, 0));
	nothing_but_marker(env, a, b, in, 0);
}

namespace {

/* Posts datagrams whose memory is not the host's own. */
class ColdSender {
public:
	ColdSender(Side &side, const ibv_gid &to) : side_(side)
	{
		ibv_ah_attr attr = common::address_vector(
			to, uint8_t(side.info.gid_index));

		ah_ = ibv_create_ah(local(*side.host).raw_pd(0), &attr);
		REQUIRE(ah_, "create_ah: ", strerror(errno));
	}
	ColdSender(const ColdSender &) = delete;
	ColdSender &operator=(const ColdSender &) = delete;
	~ColdSender() { ibv_destroy_ah(ah_); }

	void post(ibv_sge sge, const Side &to)
	{
		post_raw_send(side_,
			      {.opcode = IBV_WR_SEND,
			       .send_flags = IBV_SEND_SIGNALED,
			       .wr = {.ud = {ah_, to.qp.number, qkey}}},
			      sge);
	}

private:
	Side &side_;
	ibv_ah *ah_;
};

} // namespace

/* The GRH, too, goes to memory that is not there, and the receive may be shared. */
PV_TEST_LOCAL("odp.ud", "UD: both ends' memory not there, nothing is lost")
{
	Side a = make_ud(env.a, env.info_a);
	Srq srq = must_srq(env.b);
	Side own = make_ud(env.b, env.info_b),
	     shared = make_ud(env.b, env.info_b, srq.id);
	ColdSender sender(a, env.info_b.gid);
	Paged from(env.a), to(env.b);
	Moved faults(env.b, "odp_faults");
	uint32_t mtu = uint32_t(common_mtu(env));

	for (Side *b : {&own, &shared})
		for (uint32_t length : {1u, 100u, mtu}) {
			/* across the end of a page at both ends */
			const size_t offset = 2 * page - 10;
			uint64_t seed = env.seed();

			from.fill(seed, offset, length);
			to.fill(1);
			if (b == &shared)
				post_srq_recv(env.b, srq, to, offset,
					      grh + length);
			else
				post_recv(*b, to, offset, grh + length);
			sender.post(part_of(from, offset, length), *b);
			expect_send(env, a, 0, "datagram");
			Wc wc = expect_recv(env, *b, 0, "receive");
			REQUIRE_EQ(wc.byte_len, length + grh, "byte_len");
			to.must_hold(seed, offset + grh, length, "payload");
			to.must_hold(1, 0, offset, "what is before it");
		}
	REQUIRE(faults.by(), "no page was missing");
}

PV_TEST("mcast.copies",
	"every member of a group gets each datagram, others none")
{
	constexpr int members = 5;
	ibv_gid gid = group_gid(env, 1), other = group_gid(env, 2);
	Side a = make_ud(env.a, env.info_a);
	std::vector<Side> to;
	Side outside = make_ud(env.b, env.info_b),
	     elsewhere = make_ud(env.b, env.info_b);
	Mr out = must_reg(env.a, {2000});
	std::vector<Mr> in;

	for (int i = 0; i < members; i++) {
		to.push_back(make_ud(env.b, env.info_b));
		must_attach(to[i], gid);
		in.push_back(must_reg(env.b, {4 * slot}));
	}
	Mr spare = must_reg(env.b, {2 * slot});
	must_attach(elsewhere, other);
	must_post(outside, receive(spare, 0));
	must_post(elsewhere, receive(spare, 1));

	Handle ah = must_ah(env.a, gid);
	for (uint64_t id = 0; id < 4; id++) {
		uint32_t length = uint32_t(id) * 600;
		SendWr wr = datagram(out, length, ah, multicast_qpn);
		uint64_t seed = env.seed();

		env.a.fill(out.id, 0, 2000, seed, 0);
		for (int i = 0; i < members; i++)
			must_post(to[i], receive(in[i], id));
		must_send(env, a, wr, "send");
		for (int i = 0; i < members; i++)
			check_received(env, a, to[i], in[i], id, wr, length,
				       seed, gid);
	}
	nothing_but_marker(env, a, outside, spare, 0);
	nothing_but_marker(env, a, elsewhere, spare, 1);
}

PV_TEST("mcast.own", "a sender that is a member gets its own datagram, once")
{
	ibv_gid gid = group_gid(env, 3);
	Side a = make_ud(env.a, env.info_a), b = make_ud(env.b, env.info_b);
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {100}, seed),
	   in_a = must_reg(env.a, {2 * slot}),
	   in_b = must_reg(env.b, {2 * slot});
	SendWr wr = datagram(out, 100, must_ah(env.a, gid), multicast_qpn);

	must_attach(a, gid);
	must_attach(b, gid);
	must_post(a, std::vector<RecvWr>{receive(in_a, 0), receive(in_a, 1)});
	must_post(b, std::vector<RecvWr>{receive(in_b, 0), receive(in_b, 1)});
	must_send(env, a, wr, "send");
	check_received(env, a, a, in_a, 0, wr, 100, seed, gid);
	check_received(env, a, b, in_b, 0, wr, 100, seed, gid);
	no_more(a, "once");
	no_more(b, "once");
}

PV_TEST("mcast.detach", "who has left gets nothing, who stays still does")
{
	ibv_gid gid = group_gid(env, 4);
	Side a = make_ud(env.a, env.info_a),
	     leaves = make_ud(env.b, env.info_b),
	     stays = make_ud(env.b, env.info_b);
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {100}, seed),
	   in_l = must_reg(env.b, {2 * slot}),
	   in_s = must_reg(env.b, {2 * slot});
	SendWr wr = datagram(out, 100, must_ah(env.a, gid), multicast_qpn);

	must_attach(leaves, gid);
	must_attach(stays, gid);
	REQUIRE_EQ(env.b.detach(leaves.qp.id, gid), 0, "detach");
	REQUIRE_EQ(env.b.detach(leaves.qp.id, gid), EINVAL, "detached already");
	must_post(leaves, receive(in_l, 0));
	must_post(stays, receive(in_s, 0));
	must_send(env, a, wr, "send");
	check_received(env, a, stays, in_s, 0, wr, 100, seed, gid);
	nothing_but_marker(env, a, leaves, in_l, 0);
}

PV_TEST_LOCAL("mcast.joined",
	      "the interface is in a group as long as it has a member")
{
	ibv_gid gid = group_gid(env, 9);
	Side one = make_ud(env.a, env.info_a), two = make_ud(env.a, env.info_a);

	REQUIRE(!is_joined(gid), "joined before");
	must_attach(one, gid);
	must_attach(two, gid);
	REQUIRE(is_joined(gid), "not joined");
	REQUIRE_EQ(env.a.detach(one.qp.id, gid), 0, "detach");
	REQUIRE(is_joined(gid), "left while it has a member");
	REQUIRE_EQ(env.a.detach(two.qp.id, gid), 0, "detach");
	REQUIRE(!is_joined(gid), "joined without a member");
}

PV_TEST_LOCAL("mcast.joined_many",
	      "groups of one adapter take no room for groups of another one in "
	      "its namespace, whatever a socket may join")
{
	const Side one = make_ud(env.a, env.info_a),
		   two = make_ud(env.b, env.info_b);
	/* A socket has room for one of IPv6. */
	const common::Setting least("/proc/sys/net/core/optmem_max", 100);

	for (uint16_t i = 0; i < 20; i++)
		must_attach(one, group_gid(env, uint16_t(4000 + i)));
	must_attach(two, group_gid(env, 4100));
	REQUIRE(is_joined(group_gid(env, 4019)), "not joined");
}

PV_TEST("mcast.qkey",
	"members with another Q_Key, or without a receive, miss it")
{
	ibv_gid gid = group_gid(env, 5);
	Side a = make_ud(env.a, env.info_a), good = make_ud(env.b, env.info_b),
	     empty = make_ud(env.b, env.info_b),
	     wrong = make_ud(env.b, env.info_b);
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {100}, seed), in = must_reg(env.b, {4 * slot});
	SendWr wr = datagram(out, 100, must_ah(env.a, gid), multicast_qpn);

	for (Side *side : {&wrong, &empty, &good})
		must_attach(*side, gid);
	ibv_qp_attr attr = {.qkey = qkey + 1};
	must_modify(wrong, attr, IBV_QP_QKEY, "Q_Key");
	must_post(wrong, receive(in, 1));
	must_post(good, receive(in, 0));
	must_send(env, a, wr, "send");
	check_received(env, a, good, in, 0, wr, 100, seed, gid);
	no_more(wrong, "another Q_Key");
	must_post(empty, receive(in, 2));
	nothing_but_marker(env, a, empty, in, 2);
}

PV_TEST("mcast.refused", "what cannot be attached")
{
	ibv_gid gid = group_gid(env, 6);
	Side b = make_ud(env.b, env.info_b);
	Link rc = connect(env);

	must_attach(b, gid);
	REQUIRE_EQ(env.b.detach(b.qp.id, group_gid(env, 7)), EINVAL,
		   "another group");
	REQUIRE_EQ(env.b.attach(rc.b.qp.id, gid), EINVAL, "an RC queue pair");
	REQUIRE_EQ(env.b.attach(b.qp.id, env.info_b.gid), EINVAL,
		   "not a group's address");
	if (!env.options.two_machines)
		REQUIRE_EQ(env.b.destroy(Kind::qp, b.qp.id), EBUSY,
			   "destroyed while attached");
	REQUIRE_EQ(env.b.detach(b.qp.id, gid), 0, "detach");
	REQUIRE_EQ(env.b.destroy(Kind::qp, b.qp.id), 0, "then it goes");
}

PV_TEST("mcast.groups", "as many groups as the device says, and not one more")
{
	Side b = make_ud(env.b, env.info_b);
	int limit = env.info_b.device.max_mcast_grp;

	REQUIRE(limit > 0, "max_mcast_grp ", limit);
	if (limit > 1024)
		throw Skip(str("the device has room for ", limit));
	std::vector<Member> members;

	for (int i = 0; i <= limit; i++)
		members.push_back({b, group_gid(env, uint16_t(1000 + i))});
	must_be_as_many(members);
}

PV_TEST("mcast.members", "as many members as the device says, and not one more")
{
	ibv_gid gid = group_gid(env, 8);
	int limit = env.info_b.device.max_mcast_qp_attach;
	std::vector<Member> members;

	REQUIRE(limit > 0 &&
			limit <= env.info_b.device.max_total_mcast_qp_attach,
		"max_mcast_qp_attach ", limit);
	if (limit > 1024)
		throw Skip(str("the device has room for ", limit));
	for (int i = 0; i <= limit; i++)
		members.push_back({make_ud(env.b, env.info_b), gid});
	must_be_as_many(members);
}

PV_TEST("mcast.total",
	"as many members of all groups as the device says, and not one more")
{
	const int limit = env.info_b.device.max_total_mcast_qp_attach;
	std::vector<Member> members;

	REQUIRE(limit > 0, "max_total_mcast_qp_attach ", limit);
	/* so that it comes before the limits of groups and of queue pairs */
	if (limit > env.info_b.device.max_mcast_grp)
		throw Skip(str("the device has room for ", limit));
	const Side sides[] = {make_ud(env.b, env.info_b),
			      make_ud(env.b, env.info_b)};

	for (int i = 0; i <= limit; i++)
		members.push_back(
			{sides[i % 2], group_gid(env, uint16_t(2000 + i / 2))});
	must_be_as_many(members, ENOSPC);
}

namespace {

/* Queue pairs of B's that a user makes. */
std::vector<Side> sides_of(Env &env, uid_t user, size_t count)
{
	AsUser maker(user);
	std::vector<Side> sides;

	for (size_t i = 0; i < count; i++)
		sides.push_back(make_ud(env.b, env.info_b));
	return sides;
}

} // namespace

PV_TEST_LOCAL("mcast.share",
	      "queue pairs of one user are in a share of all groups, and have a "
	      "share of the places in one")
{
	/* of 256 each: two */
	Parameter share("share_per_user", 1);
	const std::vector<Side> own = sides_of(env, ordinary_user, 3),
				others = sides_of(env, ordinary_user + 1, 2);
	const auto group = [&](uint16_t n) {
		return group_gid(env, uint16_t(3000 + n));
	};
	const Member first = {own[0], group(0)}, second = {own[0], group(1)},
		     third = {own[0], group(2)}, beside = {own[1], group(0)},
		     beyond = {own[2], group(0)};

	for (const Side &side : others)
		must_attach(side, group(0));
	AsUser user(ordinary_user);
	for (const Member *member : {&first, &second, &beside})
		must_attach(member->side, member->gid);
	REQUIRE_EQ(third.attach(), EDQUOT, "a third group");
	REQUIRE_EQ(beyond.attach(), EDQUOT, "a third place in one");
	/* Not before its last member has left has the user a group less. */
	first.must_leave();
	REQUIRE_EQ(third.attach(), EDQUOT, "a third group, still");
	must_attach(beyond.side, beyond.gid);
	beyond.must_leave();
	beside.must_leave();
	must_attach(third.side, third.gid);
	third.must_leave();
	second.must_leave();
	for (const Side &side : others)
		must_attach(side, group(1));
}

/*
 * One datagram to a group is a violation for each member with another Q_Key, so a
 * few hundred are more than 16 bits have room for.
 */
PV_TEST_LOCAL("mcast.violations",
	      "wrong Q_Keys are counted by the port, up to 65535")
{
	constexpr uint64_t most = 65535;
	const ibv_gid gid = group_gid(env, 9);
	const auto count = uint64_t(env.info_b.device.max_mcast_qp_attach);
	Side a = make_ud(env.a, env.info_a);
	SendWr wr = datagram(Mr(), 0, must_ah(env.a, gid), multicast_qpn);
	const uint64_t before = violations(env.b);
	Moved dropped(env.b, "rx_drop_qkey");
	uint64_t sent = 0;

	for (uint64_t i = 0; i < count; i++)
		must_attach(make_ud(env.b, env.info_b), gid);
	wr.qkey = qkey + 1;
	wr.sges.clear();
	for (uint32_t n = 1; before + sent <= most + count; n = 32) {
		must_post(a, std::vector<SendWr>(n, wr));
		wait_completions(env, a, a.send_cq, n, "datagrams");
		sent += n * count;
		wait_moved(env, dropped, sent);
		REQUIRE_EQ(violations(env.b), std::min(before + sent, most),
			   "qkey_viol_cntr after ", sent);
	}
}
