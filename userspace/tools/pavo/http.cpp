// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * http.cpp - see http.h. One thread: a client that is slow, or sends nothing, keeps no other one
 * waiting.
 */
#include "http.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "device.h"

namespace pavo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t CONNECTIONS = 64;
constexpr size_t LONGEST_REQUEST = 8192;
constexpr std::chrono::seconds PATIENCE(5); /* from accept to the last byte */

struct Connection {
	int fd;
	Clock::time_point end;
	std::string request;
	/* bytes that are left; empty: the request is not complete */
	std::string answer;
};

/* "[::1]:80" is "::1" and "80". */
std::pair<std::string, std::string> split_address(const std::string &where)
{
	const size_t colon = where.rfind(':');
	std::string host = "127.0.0.1";

	if (colon == where.npos)
		return {host, where};
	host = where.substr(0, colon);
	if (host.size() > 1 && host.front() == '[' && host.back() == ']')
		host = host.substr(1, host.size() - 2);
	return {host, where.substr(colon + 1)};
}

/* Return: the socket, or a negative errno. */
int listen_at(const addrinfo &at)
{
	const int on = 1, off = 0;
	int fd = socket(at.ai_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* All addresses of IPv6 are those of IPv4, too. */
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(fd, at.ai_addr, at.ai_addrlen) && !listen(fd, CONNECTIONS))
		return fd;
	const int error = errno;

	close(fd);
	return -error;
}

int open_listener(const std::string &where)
{
	const auto [host, port] = split_address(where);
	addrinfo hints = {}, *found;
	int fd = -EADDRNOTAVAIL, error;

	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = AI_PASSIVE;
	error = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(),
			    &hints, &found);
	if (error)
		throw Error(fmt::format("--listen {}: {}", where,
					gai_strerror(error)));
	const std::unique_ptr<addrinfo, void (*)(addrinfo *)> all(found,
								  freeaddrinfo);

	for (int family : {AF_INET6, AF_INET})
		for (const addrinfo *one = found; one && fd < 0;
		     one = one->ai_next)
			if (one->ai_family == family)
				fd = listen_at(*one);
	if (fd < 0)
		throw Error(
			fmt::format("--listen {}: {}", where, strerror(-fd)));
	return fd;
}

std::string make_answer(std::string_view status, std::string_view type,
			std::string_view body, bool with_body)
{
	return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\n"
			   "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
			   status, type, body.size(),
			   with_body ? body : std::string_view());
}

/* @line: "GET /metrics HTTP/1.1" */
std::string answer_request(std::string_view line,
			   const std::function<std::string()> &make)
{
	const bool head = line.starts_with("HEAD ");
	const size_t method = line.find(' ');
	std::string_view path =
		line.substr(std::min(method, line.size() - 1) + 1);

	path = path.substr(0, path.find_first_of(" ?"));
	if (!head && !line.starts_with("GET "))
		return make_answer("405 Method Not Allowed", "text/plain",
				   "GET only\n", true);
	if (path != "/metrics")
		return make_answer("404 Not Found", "text/plain",
				   "see /metrics\n", !head);
	try {
		return make_answer("200 OK", "text/plain; version=0.0.4",
				   make(), !head);
	} catch (const Error &error) {
		return make_answer("503 Service Unavailable", "text/plain",
				   fmt::format("{}\n", error.what()), !head);
	}
}

/* Return: is the connection over? */
bool read_request(Connection &connection,
		  const std::function<std::string()> &make)
{
	char part[1024];
	const ssize_t n = recv(connection.fd, part, sizeof(part), 0);

	if (n <= 0)
		return !n || (errno != EAGAIN && errno != EINTR);
	connection.request.append(part, static_cast<size_t>(n));
	if (connection.request.find("\r\n\r\n") != std::string::npos)
		connection.answer = answer_request(
			connection.request.substr(
				0, connection.request.find("\r\n")),
			make);
	else if (connection.request.size() > LONGEST_REQUEST)
		connection.answer =
			make_answer("431 Request Header Fields Too Large",
				    "text/plain", "too long\n", true);
	return false;
}

bool write_answer(Connection &connection)
{
	const ssize_t n = send(connection.fd, connection.answer.data(),
			       connection.answer.size(), MSG_NOSIGNAL);

	if (n < 0)
		return errno != EAGAIN && errno != EINTR;
	connection.answer.erase(0, static_cast<size_t>(n));
	return connection.answer.empty();
}

bool advance_connection(Connection &connection, short ready,
			const std::function<std::string()> &make)
{
	if (Clock::now() >= connection.end)
		return true;
	if (!ready)
		return false;
	return connection.answer.empty() ? read_request(connection, make) :
					   write_answer(connection);
}

} // namespace

void serve_metrics(const std::string &where,
		   const std::function<std::string()> &make)
{
	const int listener = open_listener(where);
	std::vector<Connection> connections;

	for (;;) {
		std::vector<pollfd> polled;

		for (const Connection &one : connections)
			polled.push_back(
				{one.fd,
				 short(one.answer.empty() ? POLLIN : POLLOUT),
				 0});
		/* While too many are there, others wait in the kernel's queue. */
		polled.push_back(
			{connections.size() < CONNECTIONS ? listener : -1,
			 POLLIN, 0});
		poll(polled.data(), polled.size(),
		     connections.empty() ? -1 : 1000);
		for (size_t i = connections.size(); i--;) {
			if (!advance_connection(connections[i],
						polled[i].revents, make))
				continue;
			close(connections[i].fd);
			connections.erase(connections.begin() +
					  static_cast<ptrdiff_t>(i));
		}
		if (!polled.back().revents)
			continue;
		const int fd = accept4(listener, nullptr, nullptr,
				       SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			connections.push_back(
				{fd, Clock::now() + PATIENCE, {}, {}});
	}
}

} // namespace pavo
