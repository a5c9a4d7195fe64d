// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A tenant on the way between two adapters who has none: root of its network namespaces, with
 * tunnels, rules of tc, and sockets of all kinds. To the adapters its packets are those of the
 * network, whatever fields of an skb they bring along. Only in namespaces of the group paths
 * (topology.sh, tenants).
 */
#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
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

/* Namespaces of the tenant, with a tunnel between them; the first is between the adapters. */
constexpr const char *near_space = "/run/netns/R";
constexpr const char *far_space = "/run/netns/T";
constexpr const char *far_address = "10.9.6.2";
/* MAC of the interface that has adapter B. */
constexpr const char *receiver = "02:00:00:00:00:0b";

/* ETH_P_IBOE: by this number the stack finds the module's cut. */
constexpr uint16_t ethertype = 0x8915;

/* Bytes of a message of SCTP in a packet that fits the tunnel; three of them fit a path MTU. */
constexpr size_t chunk = 1232;

/* The number that the module gives the first adapter. */
constexpr uint32_t first_port = 1;

/* A packet socket takes it in front of a packet: struct virtio_net_hdr, whose header is not C++. */
struct Segmentation {
	uint8_t flags, type;
	uint16_t headers, size, checksum_from, checksum_at;
};

/* A thread of its own does it in that namespace. */
void in_space(const char *space, const std::function<void()> &run)
{
	std::exception_ptr failure;

	std::thread([&] {
		int fd = open(space, O_RDONLY | O_CLOEXEC);

		try {
			REQUIRE(fd >= 0 && !setns(fd, CLONE_NEWNET), space);
			run();
		} catch (...) {
			failure = std::current_exception();
		}
		close(fd);
	}).join();
	if (failure)
		std::rethrow_exception(failure);
}

class Socket {
public:
	Socket(int family, int type, int protocol)
		: fd(socket(family, type | SOCK_CLOEXEC, protocol))
	{
		REQUIRE(fd >= 0, "socket: ", strerror(errno));
	}

	~Socket() { close(fd); }
	Socket(const Socket &) = delete;

	const int fd;
};

class Tenant {
public:
	/* All that it sends by its tunnel becomes that packet: headers of RoCE, from A to B. */
	explicit Tenant(const std::vector<uint8_t> &packet) : packet_(packet)
	{
		std::string headers;

		/* Identification and flags of IPv4, then BTH and immediate data. */
		add_word(headers, 4);
		for (size_t at = 0; at < 16; at += 4)
			add_word(headers, forged_headers + at);
		const std::string change = str(
			"action pedit ex munge eth dst set ", receiver,
			" munge ip src set ", address(12), " munge ip dst set ",
			address(16), " munge udp sport set ", 0xc123,
			" munge udp dport set 4791", headers,
			" pipe action csum iph "
			"pipe action mirred egress redirect dev rb");

		/* Packets of the socket below, and long ones of SCTP. */
		add_rule("u16 0x8915 0xffff at 30", change);
		add_rule("u16 0x0800 0xf800 at 2", change);
	}

	~Tenant() { tc("filter del dev w1 egress"); }
	Tenant(const Tenant &) = delete;

	/* By a packet socket, with the inner protocol by which the stack calls for a cut. */
	void send_marked(bool right_icrc) const
	{
		/* The first 8 bytes of the BTH are those of the tunnel's header. */
		std::string bytes(packet_.begin() + forged_headers + 8,
				  packet_.end());

		if (!right_icrc)
			bytes.back() = char(~bytes.back());
		send(bytes, nullptr);
	}

	/*
	 * The same, of two segments: the stack asks the cut before the tunnel's interface gets it,
	 * and drops what the cut refuses.
	 */
	void send_segments() const
	{
		/* VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_GSO_TCPV4 */
		const Segmentation header = {1, 1, 64, 1400, 20, 16};

		send(std::string(2800, '\xbd'), &header);
	}

	/*
	 * Chunks of one message of SCTP, some of which the stack takes for one packet that devices cut.
	 * Each ends with what the receiver would take for metadata.
	 */
	void send_sctp(uint32_t qpn) const
	{
		const uint32_t metadata[8] = {0, 0, 0, 0, first_port, qpn};
		std::string message(30 * chunk, '\xbd');
		sockaddr_in to = {.sin_family = AF_INET};

		for (size_t end = chunk; end <= message.size(); end += chunk)
			memcpy(message.data() + end - sizeof(metadata),
			       metadata, sizeof(metadata));
		to.sin_port = htons(7000);
		inet_pton(AF_INET, far_address, &to.sin_addr);
		in_space(far_space, [&] {
			Socket listener(AF_INET, SOCK_STREAM, IPPROTO_SCTP);

			must_call(bind(listener.fd, as_address(to), sizeof(to)),
				  "bind");
			must_call(listen(listener.fd, 1), "listen");
			in_space(near_space, [&] { give(to, message); });
		});
	}

private:
	/* By SCTP, as far as it goes: packets that become others do not come. */
	static void give(const sockaddr_in &to, const std::string &message)
	{
		Socket client(AF_INET, SOCK_STREAM, IPPROTO_SCTP);

		must_call(connect(client.fd, as_address(to), sizeof(to)),
			  "connect");
		REQUIRE_EQ(::send(client.fd, message.data(), message.size(), 0),
			   ssize_t(message.size()), strerror(errno));
	}

	static int tc(const std::string &arguments)
	{
		return system(
			("ip netns exec R tc " + arguments + " 2>&1").c_str());
	}

	static void add_rule(const std::string &match,
			     const std::string &actions)
	{
		REQUIRE_EQ(
			tc("filter add dev w1 egress protocol ip u32 match " +
			   match + " " + actions),
			0, match);
	}

	static void must_call(int result, const char *what)
	{
		REQUIRE(!result, what, ": ", strerror(errno));
	}

	static const sockaddr *as_address(const sockaddr_in &address)
	{
		return reinterpret_cast<const sockaddr *>(&address);
	}

	/* A word of the packet, put at the same place. */
	void add_word(std::string &rules, size_t at) const
	{
		uint32_t word;

		memcpy(&word, packet_.data() + at, sizeof(word));
		rules += str(" munge offset ", at, " u32 set ", ntohl(word));
	}

	std::string address(size_t at) const
	{
		char text[INET_ADDRSTRLEN];

		inet_ntop(AF_INET, packet_.data() + at, text, sizeof(text));
		return text;
	}

	static void send(std::string bytes, const Segmentation *header)
	{
		in_space(near_space, [&] {
			const int yes = 1;
			Socket socket(AF_PACKET, SOCK_RAW, 0);
			sockaddr_ll to = {};

			to.sll_family = AF_PACKET;
			to.sll_protocol = htons(ethertype);
			to.sll_ifindex = int(if_nametoindex("g1"));
			if (header) {
				must_call(setsockopt(socket.fd, SOL_PACKET,
						     PACKET_VNET_HDR, &yes,
						     sizeof(yes)),
					  "PACKET_VNET_HDR");
				bytes.insert(
					0,
					reinterpret_cast<const char *>(header),
					sizeof(*header));
			}
			const ssize_t sent = sendto(
				socket.fd, bytes.data(), bytes.size(), 0,
				reinterpret_cast<sockaddr *>(&to), sizeof(to));

			REQUIRE_EQ(sent, header ? -1 : ssize_t(bytes.size()),
				   strerror(errno));
		});
	}

	const std::vector<uint8_t> packet_;
};

} // namespace

PV_TEST_LOCAL("pair.tenant",
	      "packets that a tenant without an adapter makes of a tunnel, tc "
	      "and sockets are of the network: checked, dropped and counted")
{
	if (access(far_space, F_OK))
		throw Skip("no tenant here");

	Link link = connect(env, {.mtu = 4096});

	/* Packets of B show that they get to A. */
	prove_alive(env, link);
	Mr in = must_reg(env.b, {2 * page}, 7);
	Moved icrc(env.b, "rx_icrc_encapsulated"),
		address(env.b, "rx_drop_address");
	Tenant tenant(Forger(env, true).packet({.opcode = rc_send_only_imm,
						.qpn = link.b.qp.number,
						.psn = link.spec.psn_a + 1,
						.imm = 0xbad}));
	SendWr wr = make_wr(Op::send_imm, {}, 0);

	must_post(link.b, RecvWr{1, {{in.id, 0, 2 * page, 0}}});
	tenant.send_marked(false);
	ud::wait_moved(env, icrc, 1);
	/* With a right ICRC it is a packet of the network, which has none for this queue pair. */
	tenant.send_marked(true);
	ud::wait_moved(env, address, 1);
	tenant.send_segments();
	tenant.send_sctp(link.a.qp.number);
	REQUIRE(eventually(env,
			   [&] {
				   no_more(link.b, "of the tenant");
				   return icrc.by() >= 2;
			   }),
		"not dropped for their ICRC");
	wr.imm = 0x900d;
	must_post(link.a, wr);
	REQUIRE_EQ(wait_recv(env, link.b, "the peer's").imm, 0x900du,
		   "whose it is");
	expect_send(env, link.a, wr.id, "the peer's");
	must_match(env.b, in, 0, 2 * page, 7, 0, "memory");
	REQUIRE_EQ(address.by(), 1u, "dropped for their sender");
}
