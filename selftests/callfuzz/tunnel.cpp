// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * tunnel.cpp - see hands.h and tunnel.h: C sends packets through a tunnel whose inner protocol
 * is its to choose. The stack notes that in the packet, where it finds the module's
 * segmentation by it.
 */
#include "tunnel.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../wire/tool/icrc.h"
#include "hands.h"
#include "netlink.h"

namespace callfuzz {
namespace {

constexpr uint16_t roce = 0x8915;
/* Extension headers at most. */
constexpr size_t most_headers = 28;

/* A packet socket takes it in front of a packet: struct virtio_net_hdr is not C++. */
struct Segmentation {
	uint8_t flags, type;
	uint16_t headers, size, checksum_from, checksum_at;
};

/* How tunnel_send() sends. */
enum : uint64_t {
	right_icrc = 1, /* else zeros, and what stands for metadata */
	in_segments = 2,
	as_ip = 4, /* the inner protocol is not RoCE */
};

void add_word(Bytes &bytes, uint64_t word)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		bytes.push_back(uint8_t(word >> shift));
}

void add_native(Bytes &bytes, uint32_t word)
{
	const auto *at = reinterpret_cast<const uint8_t *>(&word);

	bytes.insert(bytes.end(), at, at + sizeof(word));
}

/* Headers of IP and UDP as they are behind the rule, for @size bytes of transport. */
Bytes make_headers(const Places &places, size_t size)
{
	Bytes bytes;

	add_word(bytes, 0x45000000 | (28 + size));
	add_word(bytes, tunnel_identification);
	add_word(bytes, 0x40110000);
	bytes.insert(bytes.end(), places.gid[2] + 12, places.gid[2] + 16);
	bytes.insert(bytes.end(), places.gid[3] + 12, places.gid[3] + 16);
	add_word(bytes, uint64_t{tunnel_port} << 16 | 4791);
	add_word(bytes, (8 + size) << 16);
	return bytes;
}

/* psn headers va rkey bytes: the third word of the BTH, extension headers, payload */
Bytes make_rest(const uint64_t *args)
{
	Bytes rest, headers;
	const size_t size = std::min<size_t>(args[1], most_headers) & ~3u;
	const size_t payload = args[4] % 8193;

	add_word(rest, 0x80000000 | (args[0] & 0xffffff));
	add_word(headers, args[2] >> 32);
	add_word(headers, args[2]);
	add_word(headers, args[3]);
	add_word(headers, payload);
	headers.resize(most_headers, 0xa5);
	rest.insert(rest.end(), headers.begin(), headers.begin() + long(size));
	rest.resize(rest.size() + (payload & ~3u), 0xbd);
	return rest;
}

void add_icrc(Bytes &rest, const Places &places, uint64_t opcode, uint64_t qpn)
{
	Bytes packet = make_headers(places, 8 + rest.size() + 4);

	add_word(packet, bth_opcode(opcode));
	add_word(packet, bth_qpn(qpn));
	packet.insert(packet.end(), rest.begin(), rest.end());
	add_native(rest, pw::icrc(packet));
}

/* The place of the ICRC; MAC, key, token, port, QPN, flags, coalesced packets. */
void add_metadata(Bytes &rest, uint64_t port, uint64_t qpn, uint64_t flags)
{
	for (uint64_t word : {0ul, 0ul, 0ul, 0ul, 0ul, port, qpn, flags, 1ul})
		add_native(rest, uint32_t(word));
}

/* Errors are those of the socket, or ENODEV without a tunnel. */
int send_inner(const Bytes &bytes, uint64_t kind)
{
	/* VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_GSO_TCPV4 */
	const Segmentation header = {1, 1, 64, 1400, 20, 16};
	const int yes = 1;
	sockaddr_ll to = {};
	Bytes all;

	to.sll_family = AF_PACKET;
	to.sll_protocol = htons(kind & as_ip ? ETH_P_IP : roce);
	to.sll_ifindex = int(if_nametoindex("gi"));
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int error = fd < 0 || !to.sll_ifindex ? errno : 0;
	if (kind & in_segments) {
		const auto *at = reinterpret_cast<const uint8_t *>(&header);

		all.assign(at, at + sizeof(header));
		if (!error && setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &yes,
					 sizeof(yes)))
			error = errno;
	}
	all.insert(all.end(), bytes.begin(), bytes.end());
	if (!error &&
	    sendto(fd, all.data(), all.size(), MSG_DONTWAIT,
		   reinterpret_cast<const sockaddr *>(&to), sizeof(to)) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

} // namespace

/* opcode qpn psn headers va rkey bytes kind port from flags */
int send_tunnel(Hands &hands, const uint64_t *args, uint64_t *)
{
	Bytes rest = make_rest(args + 2);

	if (args[7] & right_icrc)
		add_icrc(rest, hands.shared.places, args[0], args[1]);
	else
		add_metadata(rest, args[8], args[9], args[10]);
	return send_inner(rest, args[7]);
}

} // namespace callfuzz
