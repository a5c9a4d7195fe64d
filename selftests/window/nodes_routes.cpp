// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_routes.cpp - messages and RDMA between machines that have two addresses each: they
 * are what they are by one, and packets go by both.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <set>

#include "nodes.h"

namespace nodes {

namespace {

using Address = pavo::AdapterAddress;

/* 192.168.79 of the first adapter (nodes-lib.sh). */
Address second_of(const std::string &device)
{
	auto found = common::find_gid(device, [](const auto &gid) {
		return gid.is_ipv4() && gid.bytes[12] == 192 &&
		       gid.bytes[13] == 168 && gid.bytes[14] == 79;
	});

	return {found.index, found.bytes};
}

/* Counts packets of RoCE that come for an address; heads of the first are kept. */
class Coming {
public:
	explicit Coming(const pavo::Gid &gid)
		: fd_(socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP)))
	{
		uint32_t to = uint32_t(gid[12]) << 24 | gid[13] << 16 |
			      gid[14] << 8 | gid[15];
		sock_filter code[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, to, 0, 3),
			BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 22),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4791, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, head_bytes),
			BPF_STMT(BPF_RET | BPF_K, 0),
		};
		sock_fprog filter{.len = std::size(code), .filter = code};

		must(fd_ >= 0 && !setsockopt(fd_, SOL_SOCKET, SO_ATTACH_FILTER,
					     &filter, sizeof(filter)),
		     "no socket that counts");
	}
	~Coming() { close(fd_); }
	Coming(const Coming &) = delete;

	/* Also what the socket had no room for. */
	unsigned packets() const
	{
		tpacket_stats stats{};
		socklen_t size = sizeof(stats);

		must(!getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats,
				 &size),
		     "no numbers of packets");
		return stats.tp_packets;
	}

	/* By how many source ports they came, as far as there was room. */
	size_t ports() const
	{
		std::array<uint8_t, head_bytes> head;
		std::set<unsigned> seen;

		while (recv(fd_, head.data(), head.size(), MSG_DONTWAIT) > 0)
			seen.insert(head[20] << 8 | head[21]);
		return seen.size();
	}

private:
	/* Of IPv4 and UDP, up to their ports. */
	static constexpr size_t head_bytes = 24;

	int fd_;
};

/* A test, with the routes by second addresses; about as many packets come to each. */
void by_two(const Arguments &arguments, void (*test)(const Arguments &))
{
	const std::string &device = arguments.adapters[0];
	Coming first(pavo::Device::open(device).value().address().value().gid);
	Coming second(second_of(device).gid);
	Arguments two = arguments;

	two.second = true;
	test(two);
	unsigned by_first = first.packets(), by_second = second.packets();
	must(by_first + by_second > 100, "next to nothing has come");
	/* Routes differ in what routers look at, too. */
	must(first.ports() > 1 && second.ports() > 1,
	     "packets come by one source port");
	must(by_first > (by_first + by_second) / 4 &&
		     by_second > (by_first + by_second) / 4,
	     "packets keep to one of two addresses");
}

} // namespace

void introduce_second(nodes::Node &node, nodes::Meeting &meeting)
{
	Address mine = second_of(node.device.name());
	pavo::Gid theirs = meeting.exchange(mine.gid);

	must(node.window.add_route(meeting.other(), theirs,
				   {.gid_index = mine.index}),
	     "routes by second addresses");
}

void serve_messages_by_two(const Arguments &arguments)
{
	by_two(arguments, serve_messages);
}

void send_messages_by_two(const Arguments &arguments)
{
	by_two(arguments, send_messages);
}

void serve_rdma_by_two(const Arguments &arguments)
{
	by_two(arguments, serve_rdma);
}

void ask_for_rdma_by_two(const Arguments &arguments)
{
	by_two(arguments, ask_for_rdma);
}

} // namespace nodes
