// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* meeting.cpp - see meeting.h. */
#include "meeting.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace nodes {

namespace {

[[noreturn]] void fail(const std::string &what)
{
	throw std::system_error(errno, std::generic_category(), what);
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

int open_listener(const addrinfo &at)
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

Meeting::Meeting(const std::string &host, uint16_t port)
	: Meeting(host.empty() ? Listener(port).meet() :
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

Listener::Listener(uint16_t port) : fd_(open_listener(*look_up("", port)))
{
}

Listener::~Listener()
{
	close(fd_);
}

Meeting Listener::meet()
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

} // namespace

Node::Node(const std::string &device_name, uint32_t job_id, uint64_t job_key,
	   uint16_t number)
	: device(pavo::Device::open(device_name).value()),
	  job(pavo::Job::open(device, job_id, job_key).value()),
	  address(device.address().value()),
	  window(pavo::Window::open(job, {.node = number,
					  .gid_index = address.index})
			 .value())
{
}

pavo::WindowAddress Node::introduce(Meeting &meeting)
{
	Card theirs = meeting.exchange(Card{address.gid, window.address()});

	window.set_node(theirs.window.node, theirs.gid).value();
	return theirs.window;
}

} // namespace nodes
