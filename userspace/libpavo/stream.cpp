// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* stream.cpp - see stream.hpp. */
#include "stream.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "error.hpp"

namespace pavo {

namespace {

/* Between two attempts to connect to a process that does not listen yet. */
constexpr int retry_pause_ms = 50;
/* Of connections that wait to be accepted. */
constexpr int backlog = 64;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses look_up(const std::string &host, uint16_t port)
{
	addrinfo hints{}, *found = nullptr;

	hints.ai_family = AF_UNSPEC;
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = host.empty() ? AI_PASSIVE : 0;
	int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
				std::to_string(port).c_str(), &hints, &found);
	if (error == EAI_MEMORY)
		throw std::bad_alloc();
	if (error)
		fail(EHOSTUNREACH, host + ": " + gai_strerror(error));
	return {found, freeaddrinfo};
}

Stream open_socket(const addrinfo &at)
{
	int one = 1;
	Stream made(socket(at.ai_family,
			   at.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
			   at.ai_protocol));

	if (made)
		setsockopt(made.fd(), IPPROTO_TCP, TCP_NODELAY, &one,
			   sizeof(one));
	return made;
}

/* Return: 0 or an errno. */
int try_to_listen(const Stream &stream, const addrinfo &at)
{
	int one = 1, none = 0;

	setsockopt(stream.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (at.ai_family == AF_INET6)
		setsockopt(stream.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &none,
			   sizeof(none));
	if (bind(stream.fd(), at.ai_addr, at.ai_addrlen) ||
	    listen(stream.fd(), backlog))
		return errno;
	return 0;
}

/* Return: 0 or an errno. */
int try_to_connect(const Stream &stream, const addrinfo &at,
		   const TimeLimit &limit)
{
	int error = 0;
	socklen_t length = sizeof(error);

	if (!connect(stream.fd(), at.ai_addr, at.ai_addrlen))
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (int late = stream.wait(POLLOUT, limit))
		return late;
	if (getsockopt(stream.fd(), SOL_SOCKET, SO_ERROR, &error, &length))
		return errno;
	return error;
}

} // namespace

int TimeLimit::sleep() const
{
	using std::chrono::milliseconds;
	auto left = std::chrono::ceil<milliseconds>(end - Clock::now());

	if (meanwhile)
		return 0;
	return int(
		std::clamp(left, milliseconds(0), milliseconds(1000)).count());
}

void pause_before_retry(const TimeLimit &limit)
{
	poll(nullptr, 0, std::min(retry_pause_ms, limit.sleep()));
}

Stream::~Stream()
{
	if (fd_ >= 0)
		close(fd_);
}

int Stream::wait(short events, const TimeLimit &limit) const
{
	for (;;) {
		pollfd look{fd_, events, 0};
		int found = poll(&look, 1, limit.sleep());

		if (found > 0)
			return 0;
		if (found < 0 && errno != EINTR)
			return errno;
		if (limit.is_over())
			return ETIMEDOUT;
		if (limit.meanwhile)
			(*limit.meanwhile)();
	}
}

ssize_t Stream::read_some(std::span<std::byte> bytes) const
{
	ssize_t n = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);

	if (n > 0)
		return n;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

int Stream::read(std::span<std::byte> bytes, const TimeLimit &limit) const
{
	while (!bytes.empty()) {
		if (int error = wait(POLLIN, limit))
			return error;
		ssize_t n = read_some(bytes);

		if (n < 0)
			return ECONNRESET;
		bytes = bytes.subspan(size_t(n));
	}
	return 0;
}

int Stream::write(std::span<const std::byte> bytes,
		  const TimeLimit &limit) const
{
	while (!bytes.empty()) {
		ssize_t n = send(fd_, bytes.data(), bytes.size(),
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n >= 0) {
			bytes = bytes.subspan(size_t(n));
			continue;
		}
		if (errno == EPIPE)
			return ECONNRESET;
		if (errno != EAGAIN && errno != EINTR)
			return errno;
		if (int error = wait(POLLOUT, limit))
			return error;
	}
	return 0;
}

Stream Stream::accept() const
{
	int one = 1;
	Stream made(
		accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));

	if (made)
		setsockopt(made.fd(), IPPROTO_TCP, TCP_NODELAY, &one,
			   sizeof(one));
	return made;
}

/* Of IPv6 it takes connections of IPv4, too, where it has all addresses. */
Stream listen_at(const std::string &host, uint16_t port)
{
	Addresses all = look_up(host, port);
	int error = EADDRNOTAVAIL;

	for (int family : {AF_INET6, AF_INET})
		for (addrinfo *at = all.get(); at; at = at->ai_next) {
			if (at->ai_family != family)
				continue;
			Stream made = open_socket(*at);

			error = made ? try_to_listen(made, *at) : errno;
			if (!error)
				return made;
		}
	fail(error, "port " + std::to_string(port) +
			    (host.empty() ? "" : " of " + host));
}

Stream connect_to(const std::string &host, uint16_t port,
		  const TimeLimit &limit)
{
	Addresses all = look_up(host, port);
	int error = ETIMEDOUT;

	for (;;) {
		for (addrinfo *at = all.get(); at; at = at->ai_next) {
			Stream made = open_socket(*at);

			error = made ? try_to_connect(made, *at, limit) : errno;
			if (!error)
				return made;
		}
		if (limit.is_over())
			break;
		/* The process that is to listen may not have begun. */
		pause_before_retry(limit);
	}
	fail(ETIMEDOUT, "port " + std::to_string(port) + " of " + host + ": " +
				Error(error).message());
}

} // namespace pavo
