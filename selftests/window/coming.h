// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* coming.h - packets of RoCE that come to a machine: how many, and where from. */
#ifndef PAVO_WINDOW_COMING_H
#define PAVO_WINDOW_COMING_H

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <set>
#include <string>

#include <pavo/address.hpp>

#include "../common/errors.h"

namespace nodes {

using common::must;

/* Counts packets of RoCE that come for an address; heads of the first are kept. */
class Coming {
public:
	struct Sources {
		size_t addresses;
		size_t ports;
	};

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

	/* From how many addresses and ports, as far as there was room. Takes those packets. */
	Sources sources() const
	{
		std::array<uint8_t, head_bytes> head;
		std::set<std::string> addresses;
		std::set<unsigned> ports;

		while (recv(fd_, head.data(), head.size(), MSG_DONTWAIT) > 0) {
			addresses.emplace(head.begin() + 12, head.begin() + 16);
			ports.insert(head[20] << 8 | head[21]);
		}
		return {addresses.size(), ports.size()};
	}

private:
	/* Of IPv4 and UDP, up to their ports. */
	static constexpr size_t head_bytes = 24;

	int fd_;
};

} // namespace nodes

#endif // PAVO_WINDOW_COMING_H
