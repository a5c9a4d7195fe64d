// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* io_listener.cpp - see io_listener.hpp. */
#include "io_listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>

#include <pavo/device.hpp>

namespace examples {

namespace {

pavo::Gid gid_of(const std::string &adapter)
{
	return pavo::Device::open(adapter)
		.and_then([](const pavo::Device &device) {
			return device.address();
		})
		.value()
		.gid;
}

/* As a socket address: one of IPv4 has that family. */
sockaddr_storage address_of(const pavo::Gid &gid, uint16_t port)
{
	sockaddr_storage any = {};
	in6_addr address;

	memcpy(&address, gid.data(), gid.size());
	if (IN6_IS_ADDR_V4MAPPED(&address)) {
		sockaddr_in v4 = {};

		v4.sin_family = AF_INET;
		v4.sin_port = htons(port);
		memcpy(&v4.sin_addr, gid.data() + 12, 4);
		memcpy(&any, &v4, sizeof(v4));
	} else {
		sockaddr_in6 v6 = {};

		v6.sin6_family = AF_INET6;
		v6.sin6_port = htons(port);
		v6.sin6_addr = address;
		memcpy(&any, &v6, sizeof(v6));
	}
	return any;
}

} // namespace

Listener::Listener(const std::string &adapter, uint16_t port)
	: id_(events_.make_id())
{
	sockaddr_storage at = address_of(gid_of(adapter), port);

	if (rdma_bind_addr(id_.get(), reinterpret_cast<sockaddr *>(&at)) ||
	    rdma_listen(id_.get(), 16))
		fail(errno, "port " + std::to_string(port));
}

} // namespace examples
