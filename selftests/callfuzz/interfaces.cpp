// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * interfaces.cpp - see hands.h: what root of a namespace does with interfaces over windows, and
 * with no others.
 */
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "hands.h"

namespace callfuzz {
namespace {

/* A socket by which an interface is changed, and its name. */
class Control {
public:
	explicit Control(uint64_t ifindex)
		: fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))
	{
		request_.ifr_ifindex = int(ifindex);
		ok_ = fd_ >= 0 && !ioctl(fd_, SIOCGIFNAME, &request_) &&
		      is_own();
	}
	~Control()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	Control(const Control &) = delete;

	/* It is one of the module's. */
	bool ok() const { return ok_; }
	ifreq &request() { return request_; }
	int change(unsigned long what)
	{
		return ioctl(fd_, what, &request_) ? errno : 0;
	}

private:
	bool is_own()
	{
		ethtool_drvinfo info = {};
		ifreq asked = request_;

		info.cmd = ETHTOOL_GDRVINFO;
		asked.ifr_data = reinterpret_cast<char *>(&info);
		return !ioctl(fd_, SIOCETHTOOL, &asked) &&
		       !strcmp(info.driver, "pavo");
	}

	int fd_;
	ifreq request_ = {};
	bool ok_ = false;
};

/* A packet of @length bytes for a station, a group or all; some are no IP, or malformed. */
std::vector<uint8_t> make_packet(const uint8_t *to, uint64_t kind,
				 size_t length)
{
	std::vector<uint8_t> packet(std::max<size_t>(length, 64));
	uint8_t *ip = &packet[14];
	const size_t bytes = packet.size() - 14;
	const bool six = kind & 1;

	memcpy(packet.data(), to, 6);
	packet[6] = 2;
	packet[12] = six ? 0x86 : 0x08;
	packet[13] = six ? 0xdd : 0x00;
	ip[0] = six ? 0x60 : kind & 8 ? 0x47 : 0x45;
	if (six) {
		const size_t behind = bytes - 40;

		ip[4] = uint8_t(behind >> 8);
		ip[5] = uint8_t(behind);
		/* Hop by hop options, then UDP. */
		ip[6] = kind & 8 ? 0 : 17;
		ip[7] = 64;
		ip[40] = 17;
	} else {
		ip[2] = uint8_t(bytes >> 8);
		ip[3] = uint8_t(bytes);
		/* Don't fragment; or a fragment. */
		ip[6] = kind & 16 ? 0x20 : 0x40;
		ip[8] = 64;
		ip[9] = 17;
		/* Options: one that all fragments carry. */
		ip[20] = 0x83;
		ip[21] = 7;
	}
	if (kind & 4)
		packet[12] = 0x55;
	return packet;
}

} // namespace

int set_netif(Hands &, const uint64_t *args, uint64_t *)
{
	Control control(args[0]);

	if (!control.ok())
		return EPERM;
	control.request().ifr_flags =
		short((args[1] ? IFF_UP : 0) | (args[2] ? IFF_PROMISC : 0));
	return control.change(SIOCSIFFLAGS);
}

int set_netif_mtu(Hands &, const uint64_t *args, uint64_t *)
{
	Control control(args[0]);

	if (!control.ok())
		return EPERM;
	control.request().ifr_mtu = int(args[1]);
	return control.change(SIOCSIFMTU);
}

/* ifindex node window kind length times: by a packet socket */
int send_netif(Hands &, const uint64_t *args, uint64_t *)
{
	const uint64_t node = args[1], window = args[2], kind = args[3];
	uint8_t to[6] = {2,
			 uint8_t(node >> 8),
			 uint8_t(node),
			 uint8_t(window >> 16),
			 uint8_t(window >> 8),
			 uint8_t(window)};
	const auto packet = [&] {
		if (kind & 2)
			memset(to, kind & 32 ? 0x33 : 0xff, sizeof(to));
		return make_packet(to, kind, args[4] % 66000);
	}();
	sockaddr_ll where = {};
	Control control(args[0]);

	if (!control.ok())
		return EPERM;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int error = fd < 0 ? errno : 0;

	where.sll_family = AF_PACKET;
	where.sll_ifindex = int(args[0]);
	for (uint64_t n = 0; !error && n < std::min<uint64_t>(args[5], 64); n++)
		if (sendto(fd, packet.data(), packet.size(), MSG_DONTWAIT,
			   reinterpret_cast<sockaddr *>(&where),
			   sizeof(where)) < 0)
			error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

/* As `ip link delete`. */
int unlink_netif(Hands &, const uint64_t *args, uint64_t *)
{
	struct {
		nlmsghdr header;
		ifinfomsg link;
	} message = {};
	Control control(args[0]);

	if (!control.ok())
		return EPERM;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int error = fd < 0 ? errno : 0;

	message.header.nlmsg_len = sizeof(message);
	message.header.nlmsg_type = RTM_DELLINK;
	message.header.nlmsg_flags = NLM_F_REQUEST;
	message.link.ifi_index = int(args[0]);
	if (!error && send(fd, &message, sizeof(message), 0) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

} // namespace callfuzz
