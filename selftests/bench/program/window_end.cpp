// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* window_end.cpp - see window_end.h. */
#include "window_end.h"

#include <algorithm>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../common/errors.h"

namespace bench {

using common::must;
using common::must_not_fail;

namespace {

pavo::WindowOptions options_of(const Device &verbs, uint16_t node, int event,
			       pavo::WindowOptions options)
{
	options.node = node;
	options.gid_index = uint16_t(verbs.gid_index);
	options.recv_event = event;
	return options;
}

} // namespace

WindowEnd::WindowEnd(const Device &verbs, uint16_t node,
		     pavo::WindowOptions options)
	: event(must_not_fail(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
			      "eventfd")),
	  device(must(pavo::Device::open(verbs.name), "adapter")),
	  job(must(node ? pavo::Job::join(device, job_id, job_key) :
			  pavo::Job::reserve(device, job_id, job_key),
		   "job")),
	  window(must(pavo::Window::open(job, options_of(verbs, node, event,
							 options)),
		      "window")),
	  mapping(must(pavo::Mapping::open(job,
					   {reinterpret_cast<std::byte *>(out),
					    2 * area_bytes}),
		       "mapping"))
{
}

WindowEnd::~WindowEnd()
{
	close(event);
}

void WindowEnd::know(uint16_t node, const Device &peer)
{
	pavo::Gid gid;

	memcpy(gid.data(), peer.gid.raw, gid.size());
	must(window.set_node(node, gid), "a route");
}

void WindowEnd::wait(Wait how, const std::function<bool()> &look,
		     std::chrono::nanoseconds most)
{
	WindowEnd *const self = this;

	wait_for({&self, 1}, how, look, most);
}

void wait_for(std::span<WindowEnd *const> ends, Wait how,
	      const std::function<bool()> &look, std::chrono::nanoseconds most)
{
	const timespec time = {time_t(most.count() / 1'000'000'000),
			       long(most.count() % 1'000'000'000)};

	while (!look()) {
		std::vector<pollfd> until;

		if (out_of_time)
			throw std::runtime_error("hangs");
		if (how == Wait::polling)
			continue;
		for (WindowEnd *end : ends) {
			must(end->window.recv_threshold(1), "threshold");
			until.push_back({end->event, POLLIN, 0});
		}
		/* one that came between the look and the request */
		if (look())
			return;
		ppoll(until.data(), until.size(), &time, nullptr);
		for (const pollfd &one : until) {
			eventfd_t times;

			if (one.revents)
				common::must_return_0(eventfd_read(one.fd,
								   &times),
						      "eventfd");
		}
	}
}

} // namespace bench
