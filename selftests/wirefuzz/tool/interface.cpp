// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An interface over a window: see interface.h.
 */
#include "interface.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace wf {

namespace {

/* As guest.sh makes it. */
constexpr uint32_t interface_window = 300;
constexpr uint16_t interface_node = 2;
constexpr uint8_t kind_of_offers = 8;
constexpr size_t offer_octets = 24, ether_octets = 14;
/* The longest packet that goes through a packet socket of it. */
constexpr uint64_t packet_most = 65534;

pw::Bytes station(uint64_t node, uint64_t window)
{
	pw::Bytes address;

	pw::put(address, 2, 1);
	pw::put(address, node & 0xffff, 2);
	pw::put(address, window & 0xffffff, 3);
	return address;
}

/* Numbers of an offer are little-endian. */
void put_little(pw::Bytes &bytes, uint64_t number, unsigned octets)
{
	for (unsigned i = 0; i < octets; i++)
		bytes.push_back(static_cast<uint8_t>(number >> 8 * i));
}

uint64_t take_little(pw::View bytes, size_t at, unsigned octets)
{
	uint64_t number = 0;

	for (unsigned i = octets; i--;)
		number = number << 8 | bytes[at + i];
	return number;
}

/* Header of IP, of which @length bytes are there. */
pw::Bytes head_of(uint64_t type, size_t length)
{
	pw::Bytes head;

	switch (type) {
	case 4:
		pw::put(head, 0x45000000 | (length & 0xffff), 4);
		pw::put(head, 0x00014000, 4);
		pw::put(head, 0x40110000, 4);
		pw::put(head, 0x0a090b01, 4);
		pw::put(head, 0x0a090b02, 4);
		break;
	case 6:
		pw::put(head, 0x60000000, 4);
		pw::put(head, std::max<size_t>(length, 40) - 40, 2);
		pw::put(head, 0x1140, 2);
		head.resize(40, 0xfd);
		break;
	case 1:
		pw::put(head, 0x00010800, 4);
		pw::put(head, 0x06040001, 4);
		break;
	default:
		break;
	}
	return head;
}

uint64_t ether_type(uint64_t type)
{
	switch (type) {
	case 4:
		return 0x0800;
	case 6:
		return 0x86dd;
	case 1:
		return 0x0806;
	default:
		return type & 0xffff;
	}
}

/* @length bytes, with header for station or group @to. */
pw::Bytes frame_of(const pw::Bytes &to, const pw::Bytes &from, uint64_t type,
		   size_t length)
{
	pw::Bytes frame = to;

	frame.insert(frame.end(), from.begin(), from.end());
	pw::put(frame, ether_type(type), 2);
	const pw::Bytes head =
		head_of(type, std::max(length, ether_octets) - ether_octets);

	frame.insert(frame.end(), head.begin(), head.end());
	frame.resize(length);
	return frame;
}

} // namespace

Interface::Interface(std::string name) : name_(std::move(name))
{
	if (name_.empty())
		return;
	index_ = if_nametoindex(name_.c_str());
	control_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	packets_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	set_up(true);
}

Interface::~Interface()
{
	for (int fd : {control_, packets_})
		if (fd >= 0)
			close(fd);
}

uint32_t Interface::window() const
{
	return index_ ? interface_window : 0;
}

void Interface::write_packet(pw::Bytes &payload, uint64_t type, uint64_t node,
			     uint64_t from, uint64_t to) const
{
	const pw::Bytes frame = frame_of(station(interface_node, to),
					 station(node, from), type,
					 payload.size());

	std::copy_n(frame.begin(),
		    std::min<size_t>(frame.size(), ether_octets + 40),
		    payload.begin());
}

pw::Bytes Interface::make_offer(uint64_t tid, uint64_t pvo, uint64_t rcxt,
				uint64_t length) const
{
	pw::Bytes offer;

	put_little(offer, tid, 8);
	put_little(offer, pvo, 8);
	put_little(offer, rcxt, 4);
	put_little(offer, length, 4);
	return offer;
}

bool Interface::take_offer(WindowPacket &packet) const
{
	if (packet.opcode != 0xc0 || packet.kind != kind_of_offers ||
	    packet.payload.size() != offer_octets)
		return false;
	packet.opcode = 0xc2;
	packet.tid = take_little(packet.payload, 0, 8);
	packet.pvo = take_little(packet.payload, 8, 8);
	packet.rcxt = take_little(packet.payload, 16, 4);
	packet.total = take_little(packet.payload, 20, 4);
	packet.peer_rcxt = 9;
	packet.back = 0x2000;
	packet.flags = 3;
	packet.kind = 0;
	return true;
}

void Interface::set_up(bool up)
{
	ifreq request = {};

	name_.copy(request.ifr_name, IFNAMSIZ - 1);
	if (ioctl(control_, SIOCGIFFLAGS, &request))
		return;
	request.ifr_flags = static_cast<short>(
		up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
	(void)ioctl(control_, SIOCSIFFLAGS, &request);
}

/* isend i0 type= len= many= window= times= */
void Interface::send(const Step &step)
{
	const pw::Bytes to = step.number("many", 0) ? pw::Bytes(6, 0xff) :
						      station(1, 0x200);
	const pw::Bytes frame =
		frame_of(to, station(interface_node, interface_window),
			 step.number("type", 4),
			 std::clamp<uint64_t>(step.number("len", 100),
					      ether_octets, packet_most));
	sockaddr_ll where = {};

	where.sll_family = AF_PACKET;
	where.sll_ifindex = static_cast<int>(index_);
	for (uint64_t n = std::clamp<uint64_t>(step.number("times", 1), 1, 64);
	     n; n--)
		(void)sendto(packets_, frame.data(), frame.size(), MSG_DONTWAIT,
			     reinterpret_cast<sockaddr *>(&where),
			     sizeof(where));
}

bool Interface::carry_out(const Step &step)
{
	if (step.verb == "isend" && index_)
		send(step);
	else if ((step.verb == "iup" || step.verb == "idown") && index_)
		set_up(step.verb == "iup");
	else
		return step.verb.starts_with('i');
	return true;
}

} // namespace wf
