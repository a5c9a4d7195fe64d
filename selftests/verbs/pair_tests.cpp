// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs of one machine that are connected with each other: no other sender gets a packet to
 * them, and what a process writes to its memory after a completion reaches no one.
 */
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/adapter.h"
#include "forger.h"
#include "qdisc.h"
#include "tap.h"
#include "ud.h"

using namespace pv;

namespace {

constexpr uint32_t one_page = 4096;

/* Nothing but the next message of the connection has arrived there. */
void must_be_alone(Env &env, Link &link, const char *what)
{
	SendWr wr = make_wr(Op::send_imm, {}, 0);

	wr.imm = 0x900d;
	must_post(link.b, RecvWr{});
	must_post(link.a, wr);
	Wc wc = wait_recv(env, link.b, what);
	REQUIRE_EQ(wc.imm, 0x900du, what);
	expect_send(env, link.a, wr.id, what);
}

/* Packet socket of an interface, as a tenant has one; those of network namespaces by their names. */
class Capture {
public:
	Capture(const std::string &space, const std::string &interface)
	{
		std::thread([&] { open_in(space, interface); }).join();
		REQUIRE(fd_ >= 0, "packet socket: ", strerror(errno_));
	}

	~Capture() { close(fd_); }
	Capture(const Capture &) = delete;

	/* All that it holds, read now. */
	std::vector<std::string> packets()
	{
		std::vector<std::string> all;
		std::string packet(1 << 17, 0);
		ssize_t n;

		while ((n = recv(fd_, packet.data(), packet.size(),
				 MSG_DONTWAIT)) > 0)
			all.push_back(packet.substr(0, size_t(n)));
		return all;
	}

private:
	void open_in(const std::string &space, const std::string &interface)
	{
		const int room = 16 << 20;
		sockaddr_ll address = {};

		if (!space.empty()) {
			int fd = open(space.c_str(), O_RDONLY | O_CLOEXEC);

			if (fd < 0 || setns(fd, CLONE_NEWNET)) {
				errno_ = errno;
				return;
			}
			close(fd);
		}
		address.sll_family = AF_PACKET;
		address.sll_protocol = htons(ETH_P_ALL);
		address.sll_ifindex = int(if_nametoindex(interface.c_str()));
		fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC,
			     htons(ETH_P_ALL));
		errno_ = errno;
		if (fd_ < 0)
			return;
		setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &room,
			   sizeof(room));
		if (bind(fd_, reinterpret_cast<sockaddr *>(&address),
			 sizeof(address))) {
			errno_ = errno;
			close(fd_);
			fd_ = -1;
		}
	}

	int fd_ = -1;
	int errno_ = 0;
};

/* Bytes of a word as it lies in memory. */
std::string bytes_of(uint32_t word)
{
	return std::string(reinterpret_cast<const char *>(&word), sizeof(word));
}

bool any_has(const std::vector<std::string> &packets, const std::string &what)
{
	for (const std::string &packet : packets)
		if (packet.find(what) != std::string::npos)
			return true;
	return false;
}

/* The namespace of an adapter of the group paths; empty: that of this process. */
std::string space_of(Host &host)
{
	const std::string name = device_name(host);
	const std::string path = name == "a0" ? "/run/netns/A" :
				 name == "b0" ? "/run/netns/B" :
						"";

	return access(path.c_str(), F_OK) ? "" : path;
}

/* A write that completed, whose memory has other bytes then: what the receiver's wire held. */
std::vector<std::string> capture_write(Env &env, const Mr &out, const Mr &in)
{
	Link link = connect(env);
	Capture capture(space_of(env.b), interface_of(env.b));

	/* Beside what the adapters tell each other at first. */
	must_send(env, link.a, make_wr(Op::write, {out, 0}, 64, {in, 0}),
		  "short write");
	must_send(env, link.a,
		  make_wr(Op::write, {out, 0}, out.length, {in, 0}), "write");
	memset(local(env.a).memory(out.id), 0x5a, out.length);
	return capture.packets();
}

/* The command pavo of this build. */
std::string tool()
{
	return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
	       "../../userspace/tools/pavo/pavo";
}

} // namespace

PV_TEST_LOCAL("pair.forged",
	      "a packet with the addresses and numbers of a connection, but of "
	      "no sender here, is dropped and counted")
{
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
		Link link = connect(env, {.type = type});
		Forger forger(env, true, space_of(env.a));

		/* Of two namespaces: packets of B show that they get to A. */
		prove_alive(env, link);
		Moved dropped(env.b, "rx_drop_address");
		Mr in = must_reg(env.b, {one_page}, 7);
		Forged what = {.opcode = rc_send_only_imm,
			       .qpn = link.b.qp.number,
			       .psn = link.spec.psn_a + 1,
			       .imm = 0xbad};

		if (type == IBV_QPT_UC) {
			what.opcode = uc_write_only;
			what.address = in.address;
			what.key = in.rkey;
			what.data = 0xbad;
		}
		forger.send(what);
		ud::wait_moved(env, dropped, 1);
		must_be_alone(env, link, "the next message");
		REQUIRE_EQ(dropped.by(), 1u, "dropped");
		must_match(env.b, in, 0, one_page, 7, 0, "memory");
	}
}

PV_TEST_LOCAL("pair.injected",
	      "a queue pair takes no packet of another one of its peer's "
	      "adapter, which names it as its own peer")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC}) {
		Link link = connect(env, {.type = type});
		LinkSpec spec = {.type = type, .timeout = 8, .retry_count = 1};
		Link other = make_link(env, spec);
		Moved dropped(env.b, "rx_drop_address");
		SendWr wr = make_wr(Op::send_imm, {}, 0);

		/* With the PSN that link.b expects. */
		other.b = link.b;
		to_init(other, other.a);
		to_rtr(other, other.a);
		to_rts(other, other.a);
		must_post(link.b, RecvWr{});
		wr.imm = 0xbad;
		must_post(other.a, wr);
		wait_send(env, other.a, "injected");
		ud::wait_moved(env, dropped, 1);
		wr.imm = 0x900d;
		must_post(link.a, wr);
		Wc wc = wait_recv(env, link.b, "the peer's");
		REQUIRE_EQ(wc.imm, 0x900du, "whose it is");
		expect_send(env, link.a, wr.id, "the peer's");
		no_more(link.b, "injected");
	}
}

PV_TEST_LOCAL("pair.injected_early",
	      "nor before its peer has a path, first packets or "
	      "retransmitted ones")
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RC}) {
		LinkSpec spec = {.type = type, .timeout = 8, .retry_count = 3};
		Link link = make_link(env, spec), other = make_link(env, spec);
		Moved dropped(env.b, "rx_drop_address");
		SendWr wr = make_wr(Op::send_imm, {}, 0);

		env.expect_async();
		other.b = link.b;
		to_init(other, other.a);
		to_rtr(other, other.a);
		to_rts(other, other.a);
		to_init(link, link.b);
		must_post(link.b, RecvWr{});
		to_rtr(link, link.b);
		wr.imm = 0xbad;
		must_post(other.a, wr);
		wait_send(env, other.a, "injected");
		ud::wait_moved(env, dropped, 1);
		no_more(link.b, "injected");
		to_init(link, link.a);
		to_rtr(link, link.a);
		to_rts(link, link.a);
		to_rts(link, link.b);
		wr.imm = 0x900d;
		must_post(link.a, wr);
		Wc wc = wait_recv(env, link.b, "the peer's");
		REQUIRE_EQ(wc.imm, 0x900du, "whose it is");
		expect_send(env, link.a, wr.id, "the peer's");
		no_more(link.b, "injected");
	}
}

PV_TEST_LOCAL("pair.far_psns",
	      "a queue pair that gets PSNs which no loss explains is shown")
{
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
		Link link = connect(
			env, {.type = type, .timeout = 8, .retry_count = 1});
		const std::string finding = str(tool(), " status ",
						device_name(env.b),
						" | grep -q 'queue pair ",
						link.b.qp.number, " of '");

		must_post(link.b, RecvWr{});
		must_send(env, link.a, make_wr(Op::send, {}, 0), "same host");
		wait_recv(env, link.b, "same host");
		REQUIRE(system(finding.c_str()) != 0, "none yet");
		/* The same peer begins anew, somewhere else. */
		link.a.psn ^= 0x400000;
		to_state(link.a, IBV_QPS_RESET);
		to_init(link, link.a);
		to_rtr(link, link.a);
		to_rts(link, link.a);
		must_post(link.a, make_wr(Op::send, {}, 0));
		wait_send(env, link.a, "far");
		REQUIRE(eventually(env,
				   [&] { return !system(finding.c_str()); }),
			"far PSNs are not shown");
	}
}

PV_TEST_LOCAL("pair.late_bytes",
	      "UC, UD: a message that waits in a queue has the bytes that it "
	      "had when it completed")
{
	const uint64_t early = env.seed(), late = env.seed();
	Mr out = must_reg(env.a, {one_page}, early);
	Mr in = must_reg(env.b, {2 * one_page}, 1);
	Link link = connect(env, {.type = IBV_QPT_UC});
	Side a = ud::make_ud(env.a, env.info_a),
	     b = ud::make_ud(env.b, env.info_b);
	const uint32_t datagram = 1024;
	SendWr ud = ud::datagram(
		out, datagram, ud::must_ah(env.a, env.info_b.gid), b.qp.number);
	Qdisc delay(env.a, "netem limit 1000 delay 200ms");

	must_post(link.b, RecvWr{1, {{in.id, 0, one_page, 0}}});
	must_post(b, RecvWr{2, {{in.id, one_page, 40 + datagram, 0}}});
	must_send(env, link.a, make_wr(Op::send, {out, 0}, one_page), "UC");
	must_send(env, a, ud, "UD");
	env.a.fill(out.id, 0, one_page, late, 0);
	expect_recv(env, link.b, 1, "UC");
	must_match(env.b, in, 0, one_page, early, 0, "UC");
	expect_recv(env, b, 2, "UD");
	must_match(env.b, in, one_page + 40, datagram, early, 0, "UD");
}

PV_TEST_LOCAL("pair.captured",
	      "a packet that a tenant holds back has no byte of later, nor the "
	      "key of its sender's memory")
{
	/* Not in a header: keys of the receiver are there for all to see. */
	Mr out = must_reg(env.a, {16 * one_page});
	Mr in = must_reg(env.b, {16 * one_page});
	const std::string late(64, '\x5a');
	std::vector<std::string> packets;

	memset(local(env.a).memory(out.id), 0xa5, out.length);
	packets = capture_write(env, out, in);
	REQUIRE(any_has(packets, std::string(64, '\xa5')),
		"nothing was captured");
	REQUIRE(!any_has(packets, bytes_of(out.lkey)), "the key");
	REQUIRE(!any_has(packets, bytes_of(htonl(out.lkey))), "the key");
	if (space_of(env.b).empty())
		return;
	REQUIRE(!any_has(packets, late), "bytes of later");

	/* The test can see such bytes: where all tenants are trusted, they are there. */
	common::Parameter trusted("trust_namespaces", "Y");

	memset(local(env.a).memory(out.id), 0xa5, out.length);
	REQUIRE(any_has(capture_write(env, out, in), late),
		"no bytes of later");
}
