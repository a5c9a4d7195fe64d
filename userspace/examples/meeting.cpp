// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* meeting.cpp - see meeting.hpp. */
#include "meeting.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace examples {

namespace {

[[noreturn]] void fail(const std::string &what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

/* As sysfs writes it: eight groups of four digits. */
pavo::Gid parse(const std::string &text)
{
	std::istringstream groups(text);
	std::string group;
	pavo::Gid gid{};

	for (size_t i = 0; i < 8 && std::getline(groups, group, ':'); i++) {
		unsigned long value = std::stoul(group, nullptr, 16);

		gid[2 * i] = uint8_t(value >> 8);
		gid[2 * i + 1] = uint8_t(value);
	}
	return gid;
}

bool is_ipv4(const pavo::Gid &gid)
{
	for (size_t i = 0; i < 10; i++)
		if (gid[i])
			return false;
	return gid[10] == 0xff && gid[11] == 0xff;
}

bool is_link_local(const pavo::Gid &gid)
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses look_up(const std::string &host, uint16_t port)
{
	addrinfo hints{}, *found = nullptr;

	hints.ai_family = AF_UNSPEC;
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = host.empty() ? AI_PASSIVE : 0;
	int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
				std::to_string(port).c_str(), &hints, &found);
	if (error)
		throw std::runtime_error(host + ": " + gai_strerror(error));
	return {found, freeaddrinfo};
}

int open_door(const addrinfo &at)
{
	int one = 1;
	int listener = socket(at.ai_family, at.ai_socktype, at.ai_protocol);

	if (listener < 0)
		fail("socket");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, at.ai_addr, at.ai_addrlen) || listen(listener, 16))
		fail("the port cannot be used");
	return listener;
}

/* The other may not be there yet. */
int go_there(const addrinfo &at)
{
	for (int attempt = 0; attempt < 100; attempt++) {
		int fd = socket(at.ai_family, at.ai_socktype, at.ai_protocol);

		if (fd < 0)
			fail("socket");
		if (!connect(fd, at.ai_addr, at.ai_addrlen))
			return fd;
		close(fd);
		usleep(100'000);
	}
	fail("no other end is there");
}

} // namespace

Address address_of(const std::string &device, bool ipv6)
{
	std::string port = "/sys/class/infiniband/" + device + "/ports/1/";

	for (uint16_t i = 0; i < 1024; i++) {
		std::ifstream file(port + "gids/" + std::to_string(i));
		std::string text;

		if (!(file >> text))
			continue;
		pavo::Gid gid = parse(text);
		if (gid == pavo::Gid{} || is_link_local(gid))
			continue;
		if (is_ipv4(gid) != ipv6)
			return {i, gid};
	}
	throw std::runtime_error(device + ": its interface has no " +
				 (ipv6 ? "global IPv6" : "IPv4") + " address");
}

Meeting::Meeting(const std::string &host, uint16_t port)
	: Meeting(host.empty() ? Door(port).meet() :
				 Meeting(go_there(*look_up(host, port))))
{
}

Meeting::Meeting(int fd) : fd_(fd)
{
	read(&node_, sizeof(node_));
}

Meeting::Meeting(int fd, uint16_t other) : fd_(fd), other_(other)
{
	write(&other_, sizeof(other_));
}

Meeting::~Meeting()
{
	if (fd_ >= 0)
		close(fd_);
}

Meeting::Meeting(Meeting &&from) noexcept
	: fd_(std::exchange(from.fd_, -1)), node_(from.node_),
	  other_(from.other_)
{
}

bool Meeting::anything() const
{
	pollfd look{fd_, POLLIN, 0};

	return poll(&look, 1, 0) > 0;
}

void Meeting::write(const void *from, size_t bytes)
{
	if (send(fd_, from, bytes, MSG_NOSIGNAL) != ssize_t(bytes))
		fail("the other program is gone");
}

void Meeting::read(void *to, size_t bytes)
{
	if (recv(fd_, to, bytes, MSG_WAITALL) != ssize_t(bytes))
		throw std::runtime_error("the other program is gone");
}

Door::Door(uint16_t port) : fd_(open_door(*look_up("", port)))
{
}

Door::~Door()
{
	close(fd_);
}

Meeting Door::meet()
{
	int fd = accept(fd_, nullptr, nullptr);

	if (fd < 0)
		fail("no other end came");
	return {fd, ++last_};
}

namespace {

/* Numbers that each end tells the other. */
struct Card {
	pavo::Gid gid;
	pavo::WindowAddress window;
};

/* A program may have reserved it through another adapter of this machine. */
pavo::Job reserve_or_join(const pavo::Device &device, uint32_t id, uint64_t key)
{
	auto reserved = pavo::Job::reserve(device, id, key);

	if (reserved == pavo::Unexpected(std::errc::file_exists))
		return pavo::Job::join(device, id, key).value();
	return std::move(reserved).value();
}

} // namespace

Node::Node(const std::string &device_name, uint32_t job_id, uint64_t job_key,
	   uint16_t number)
	: device(pavo::Device::open(device_name).value()),
	  job(reserve_or_join(device, job_id, job_key)),
	  address(address_of(device_name)),
	  window(pavo::Window::open(job, {.node = number,
					  .gid_index = address.index})
			 .value())
{
}

pavo::WindowAddress Node::introduce(Meeting &meeting)
{
	Card theirs = meeting.exchange(Card{address.gid, window.address()});

	must(window.set_node(theirs.window.node, theirs.gid), "routes");
	return theirs.window;
}

} // namespace examples
