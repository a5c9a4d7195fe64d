// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ud.cpp - queue pairs for datagrams; see ud.h. */
#include <cstring>
#include <fstream>
#include <string>

#include "../common/device.h"
#include "tap.h"
#include "ud.h"

namespace pv::ud {

namespace {

/* The GRH names sender and destination. */
void check_grh(Env &env, Side &to, const Mr &in, uint64_t id,
	       const ibv_gid &from, const ibv_gid &dest)
{
	uint8_t bytes[grh];

	for (uint32_t i = 0; i < grh; i += 8) {
		uint64_t word =
			to.host->load(in.id, int64_t(id) * slot + int64_t(i));

		memcpy(bytes + i, &word, sizeof(word));
	}
	if (common::is_ipv4(env.info_a.gid)) {
		REQUIRE_EQ(bytes[20] >> 4, 4, "IP version");
		REQUIRE(!memcmp(bytes + 32, from.raw + 12, 4), "source");
		REQUIRE(!memcmp(bytes + 36, dest.raw + 12, 4), "destination");
	} else {
		REQUIRE_EQ(bytes[0] >> 4, 6, "IP version");
		REQUIRE(!memcmp(bytes + 8, from.raw, 16), "source");
		REQUIRE(!memcmp(bytes + 24, dest.raw, 16), "destination");
	}
}

} // namespace

bool is_joined(const ibv_gid &group)
{
	bool ipv4 = common::is_ipv4(group);
	std::ifstream groups(ipv4 ? "/proc/net/igmp" : "/proc/net/igmp6");
	std::string hex, word;

	/* igmp shows a word as the CPU has it, igmp6 shows bytes. */
	for (int i = ipv4 ? 12 : 0; i < 16; i++) {
		char byte[3];

		snprintf(byte, sizeof(byte), ipv4 ? "%02X" : "%02x",
			 group.raw[i]);
		hex.insert(ipv4 ? 0 : hex.size(), byte);
	}
	while (groups >> word)
		if (word == hex)
			return true;
	return false;
}

Side make_ud(Host &host, const HostInfo &info, Handle srq, uint32_t max_send_wr)
{
	Side side = {.host = &host,
		     .info = info,
		     .type = IBV_QPT_UD,
		     .send_cq = host.create_cq(512, false),
		     .recv_cq = host.create_cq(512, false)};

	side.qp = host.create_qp({.send_cq = side.send_cq.id,
				  .recv_cq = side.recv_cq.id,
				  .cap = {max_send_wr, 128, 4, 4, 64},
				  .type = IBV_QPT_UD,
				  .srq = srq});
	REQUIRE(!side.qp.error, "create_qp: ", strerror(side.qp.error));
	ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .qkey = qkey, .port_num = 1};
	must_modify(side, attr,
		    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_QKEY,
		    "INIT");
	attr.qp_state = IBV_QPS_RTR;
	must_modify(side, attr, IBV_QP_STATE, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	must_modify(side, attr, IBV_QP_STATE | IBV_QP_SQ_PSN, "RTS");
	return side;
}

Handle must_ah(Host &host, const ibv_gid &gid)
{
	Made ah = host.create_ah(gid);

	REQUIRE(!ah.error, "create_ah: ", strerror(ah.error));
	return ah.id;
}

SendWr datagram(const Mr &out, uint32_t length, Handle ah, uint32_t qpn)
{
	SendWr wr = make_wr(Op::send_imm, {out, 0}, length);

	wr.ah = ah;
	wr.remote_qpn = qpn;
	wr.qkey = qkey;
	return wr;
}

RecvWr receive(const Mr &in, uint64_t id)
{
	return {id, {{in.id, int64_t(id) * slot, slot, 0}}};
}

void check_received(Env &env, Side &from, Side &to, const Mr &in, uint64_t id,
		    const SendWr &wr, uint32_t length, uint64_t seed,
		    const ibv_gid &dest)
{
	Wc wc = expect_recv(env, to, id, "receive");
	REQUIRE_EQ(wc.byte_len, length + grh, "byte_len");
	REQUIRE_EQ(wc.src_qp, from.qp.number, "src_qp");
	REQUIRE_EQ(wc.qp_number, to.qp.number, "qp_num");
	REQUIRE(wc.flags & IBV_WC_GRH && wc.flags & IBV_WC_WITH_IMM, "flags");
	REQUIRE_EQ(wc.imm, wr.imm, "immediate data");
	must_match(*to.host, in, int64_t(id) * slot + grh, length, seed, 0,
		   "payload");
	check_grh(env, to, in, id, from.info.gid, dest);
}

void nothing_but_marker(Env &env, Side &from, Side &to, const Mr &in,
			uint64_t id)
{
	Mr out = must_reg(*from.host, {64});
	SendWr wr = datagram(out, 64, must_ah(*from.host, to.info.gid),
			     to.qp.number);
	uint64_t seed = env.seed();

	from.host->fill(out.id, 0, 64, seed, 0);
	must_send(env, from, wr, "marker");
	check_received(env, from, to, in, id, wr, 64, seed, to.info.gid);
	no_more(to, "only the marker");
}

void wait_moved(Env &env, const Moved &counter, uint64_t count)
{
	REQUIRE(eventually(env, [&] { return counter.by() >= count; }),
		"moved by ", counter.by(), ", not ", count);
}

} // namespace pv::ud
