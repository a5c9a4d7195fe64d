// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* raw.cpp - see raw.h. */
#include "raw.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "../wire/tool/icrc.h"

namespace windows {

namespace {

constexpr size_t type = 12, ip = 14, udp = 34, bth = 42, crc_bytes = 4;
/* By so much the header of IPv6 is longer. */
constexpr size_t longer = 20;
constexpr uint64_t roce = 4791;

} // namespace

uint64_t field(const Frame &frame, size_t at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | frame.at(at + i);
	return value;
}

void set_field(Frame &frame, size_t at, size_t bytes, uint64_t value)
{
	for (size_t i = bytes; i--; value >>= 8)
		frame.at(at + i) = uint8_t(value);
}

void resize(Frame &frame, size_t headers, size_t payload)
{
	size_t pad = -payload & 3;

	frame.resize(headers + payload + pad + crc_bytes);
	set_field(frame, ip + 2, 2, frame.size() - ip);
	set_field(frame, udp + 4, 2, frame.size() - udp);
	frame[bth + 1] = uint8_t((frame[bth + 1] & ~0x30) | pad << 4);
}

void finish_checksums(Frame &frame)
{
	uint32_t sum = 0;

	set_field(frame, ip + 10, 2, 0);
	for (size_t i = 0; i < 20; i += 2)
		sum += uint32_t(field(frame, ip + i, 2));
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	set_field(frame, ip + 10, 2, ~sum & 0xffff);

	uint32_t crc = pw::icrc(
		pw::View(frame).subspan(ip, frame.size() - ip - crc_bytes));
	for (size_t i = 0; i < crc_bytes; i++, crc >>= 8)
		frame[frame.size() - crc_bytes + i] = uint8_t(crc);
}

Wire::Wire(const char *interface, Way way)
	: fd_(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL))), way_(way)
{
	int room = 8 << 20;
	sockaddr_ll address = {.sll_family = AF_PACKET,
			       .sll_protocol = htons(ETH_P_ALL),
			       .sll_ifindex = int(if_nametoindex(interface))};

	if (fd_ < 0 ||
	    bind(fd_, reinterpret_cast<sockaddr *>(&address), sizeof(address)))
		throw std::runtime_error("no raw socket");
	setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
}

Wire::~Wire()
{
	close(fd_);
}

std::vector<Frame> Wire::recorded(uint8_t opcode, bool ipv6)
{
	const size_t more = ipv6 ? longer : 0;
	std::vector<Frame> frames;
	Frame frame(2048);
	sockaddr_ll from{};
	socklen_t size = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(fd_, frame.data(), frame.size(), MSG_DONTWAIT,
			     reinterpret_cast<sockaddr *>(&from), &size)) > 0)
		if ((from.sll_pkttype == PACKET_OUTGOING) ==
			    (way_ == Way::OUT) &&
		    n > ssize_t(bth + more) &&
		    field(frame, type, 2) == (ipv6 ? ETH_P_IPV6 : ETH_P_IP) &&
		    field(frame, udp + more + 2, 2) == roce &&
		    frame[bth + more] == opcode)
			frames.emplace_back(frame.begin(), frame.begin() + n);
	return frames;
}

void Wire::send(const Frame &frame)
{
	if (::send(fd_, frame.data(), frame.size(), 0) != ssize_t(frame.size()))
		throw std::runtime_error("the wire did not take it");
}

} // namespace windows
