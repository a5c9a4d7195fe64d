// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* meeting.cpp - see meeting.h. */
#include "meeting.h"

#include <poll.h>

#include "../common/errors.h"
#include "error.hpp"

namespace nodes {

namespace {

/* The other program may not be there yet, or be busy with something else. */
pavo::TimeLimit patience()
{
	return {pavo::TimeLimit::Clock::now() + std::chrono::minutes(10)};
}

template <class Call> pavo::Stream must_open(Call call)
{
	return common::must(pavo::guarded(
		[&]() -> pavo::Result<pavo::Stream> { return call(); }));
}

} // namespace

Meeting::Meeting(const std::string &host, uint16_t port)
	: Meeting(host.empty() ? Listener(port).meet() : Meeting(must_open([&] {
		  return pavo::connect_to(host, port, patience());
	  })))
{
}

Meeting::Meeting(pavo::Stream stream) : stream_(std::move(stream))
{
	read(&node_, sizeof(node_));
}

Meeting::Meeting(pavo::Stream stream, uint16_t other)
	: stream_(std::move(stream)), other_(other)
{
	write(&other_, sizeof(other_));
}

bool Meeting::anything() const
{
	return !stream_.wait(POLLIN, {});
}

void Meeting::write(const void *from, size_t bytes)
{
	common::must_return_0(
		stream_.write({static_cast<const std::byte *>(from), bytes},
			      patience()),
		"the other program");
}

void Meeting::read(void *to, size_t bytes)
{
	common::must_return_0(
		stream_.read({static_cast<std::byte *>(to), bytes}, patience()),
		"the other program");
}

Listener::Listener(uint16_t port)
	: stream_(must_open([&] { return pavo::listen_at("", port); }))
{
}

Meeting Listener::meet()
{
	common::must_return_0(stream_.wait(POLLIN, patience()),
			      "the other end");
	return {stream_.accept(), ++last_};
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
