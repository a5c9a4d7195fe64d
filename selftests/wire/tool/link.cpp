// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The tool's end of the wire: see link.h.
 */
#include "link.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../common/errors.h"

namespace pw {

namespace {

constexpr int64_t second = 1000000000;
constexpr size_t frame_max = 1 << 16;

void set_option(int socket, int level, int name, int value)
{
	common::must_not_fail(setsockopt(socket, level, name, &value,
					 sizeof(value)),
			      "setsockopt");
}

} // namespace

int64_t now_ns()
{
	timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * second + ts.tv_nsec;
}

Mac mac_of(const std::string &interface)
{
	ifreq request{};
	Mac mac;
	int fd = common::must_not_fail(
		socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");

	interface.copy(request.ifr_name, IFNAMSIZ - 1);
	if (ioctl(fd, SIOCGIFHWADDR, &request)) {
		close(fd);
		common::throw_errno(errno, "hardware address of " + interface);
	}
	close(fd);
	std::copy_n(reinterpret_cast<uint8_t *>(request.ifr_hwaddr.sa_data),
		    mac.size(), mac.begin());
	return mac;
}

Stamping::Stamping()
	: socket_(common::must_not_fail(
		  socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"))
{
	set_option(socket_, SOL_SOCKET, SO_TIMESTAMPNS, 1);
}

Stamping::~Stamping()
{
	close(socket_);
}

Link::Link(const std::string &interface)
{
	/* Protocol 0: nothing arrives before the socket is bound to one interface. */
	socket_ = common::must_not_fail(
		socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
		"packet socket");
	set_option(socket_, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20);
	set_option(socket_, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	set_option(socket_, SOL_PACKET, PACKET_AUXDATA, 1);
	set_option(socket_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
	sockaddr_ll address = {.sll_family = AF_PACKET,
			       .sll_protocol = htons(ETH_P_ALL)};
	address.sll_ifindex =
		static_cast<int>(if_nametoindex(interface.c_str()));
	if (!address.sll_ifindex)
		common::throw_errno(errno, interface);
	common::must_not_fail(bind(socket_,
				   reinterpret_cast<sockaddr *>(&address),
				   sizeof(address)),
			      "bind to " + interface);
}

Link::~Link()
{
	close(socket_);
}

void Link::send(View frame)
{
	if (::send(socket_, frame.data(), frame.size(), 0) !=
	    static_cast<ssize_t>(frame.size()))
		common::throw_errno(errno,
				    "sending a frame of " +
					    std::to_string(frame.size()));
}

std::optional<Arrival> Link::read_one()
{
	static uint8_t buffer[frame_max];
	alignas(cmsghdr) char control[256];
	iovec vector{buffer, sizeof(buffer)};
	Arrival arrival{now_ns(), {}};
	bool csum_done = true;
	msghdr message = {.msg_iov = &vector,
			  .msg_iovlen = 1,
			  .msg_control = control,
			  .msg_controllen = sizeof(control)};

	const ssize_t length = recvmsg(socket_, &message, 0);

	if (length < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return std::nullopt;
		common::throw_errno(errno, "recvmsg");
	}
	for (cmsghdr *c = CMSG_FIRSTHDR(&message); c;
	     c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS) {
			timespec ts;

			std::memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			arrival.time = ts.tv_sec * second + ts.tv_nsec;
		} else if (c->cmsg_level == SOL_PACKET &&
			   c->cmsg_type == PACKET_AUXDATA) {
			tpacket_auxdata aux;

			std::memcpy(&aux, CMSG_DATA(c), sizeof(aux));
			csum_done = !(aux.tp_status & TP_STATUS_CSUMNOTREADY);
		}
	}
	try {
		auto opened = open(View(buffer, static_cast<size_t>(length)),
				   csum_done);

		if (!opened)
			return std::nullopt;
		arrival.frame = std::move(*opened);
		return arrival;
	} catch (const Malformed &bad) {
		throw Mismatch("a malformed frame of " +
			       std::to_string(length) +
			       " bytes arrived: " + bad.what());
	}
}

std::optional<Arrival> Link::next(int64_t deadline)
{
	for (;;) {
		pollfd wait{socket_, POLLIN, 0};
		const int64_t left = deadline - now_ns();
		const int ms = static_cast<int>(
			(std::max<int64_t>(left, 0) + 999999) / 1000000);

		if (poll(&wait, 1, ms) > 0) {
			if (auto arrival = read_one())
				return arrival;
			continue;
		}
		if (now_ns() >= deadline)
			return std::nullopt;
	}
}

} // namespace pw
