// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* c_broadcast.cpp - pavo_broadcast.h by the C++ classes. */
#include <pavo/broadcast.hpp>
#include <pavo/pavo_broadcast.h>

#include <chrono>
#include <cstring>
#include <memory>

#include "c_objects.hpp"

using pavo::c::object_of;
using pavo::c::status;
using pavo::c::status_of;
using pavo::c::unless_no_memory;

struct pavo_broadcast {
	pavo::Broadcast broadcast;
};

struct pavo_broadcast_target {
	pavo::BroadcastTarget target;
};

namespace {

pavo::Gid group_gid_of(const uint8_t *gid)
{
	pavo::Gid copy;

	memcpy(copy.data(), gid, copy.size());
	return copy;
}

pavo::BroadcastGroup group_of(const pavo_broadcast_options &options)
{
	pavo::BroadcastGroup group{.gid = group_gid_of(options.gid),
				   .number = options.group};

	if (options.contexts)
		group.contexts = options.contexts;
	return group;
}

pavo::BroadcastOptions
broadcast_options_of(const pavo_broadcast_options &options)
{
	using std::chrono::microseconds;
	pavo::BroadcastOptions all{.group = group_of(options),
				   .node = options.node};

	if (options.piece)
		all.piece = options.piece;
	if (options.timeout)
		all.timeout = microseconds(options.timeout);
	if (options.max_timeout)
		all.max_timeout = microseconds(options.max_timeout);
	if (options.attempts)
		all.attempts = options.attempts;
	return all;
}

} // namespace

/* ------------------------------------------------------------------ windows */

int pavo_window_join(pavo_window *window, const uint8_t *gid, uint32_t group)
{
	return status_of(window->window.join(group_gid_of(gid), group));
}

int pavo_window_leave(pavo_window *window, uint32_t group)
{
	return status_of(window->window.leave(group));
}

int pavo_window_bind(pavo_window *window, uint32_t group, uint32_t rcxt,
		     uint64_t pvo, uint64_t bytes, uint64_t tid)
{
	return status_of(window->window.bind(group, rcxt, {pvo}, bytes, tid));
}

int pavo_window_unbind(pavo_window *window, uint32_t group, uint32_t rcxt)
{
	return status_of(window->window.unbind(group, rcxt));
}

/* ------------------------------------------------------------------- source */

pavo_broadcast *pavo_broadcast_open(pavo_rdma *rdma,
				    const pavo_broadcast_options *options)
{
	return object_of<pavo_broadcast>(pavo::Broadcast::open(
		rdma->rdma, broadcast_options_of(*options)));
}

void pavo_broadcast_close(pavo_broadcast *broadcast)
{
	delete broadcast;
}

int pavo_broadcast_add(pavo_broadcast *broadcast, uint16_t node,
		       uint32_t window)
{
	return status_of(broadcast->broadcast.add({node, window}));
}

int pavo_broadcast_remove(pavo_broadcast *broadcast, uint16_t node,
			  uint32_t window)
{
	return status_of(broadcast->broadcast.remove({node, window}));
}

int pavo_broadcast_put(pavo_broadcast *broadcast, uint64_t local_pvo,
		       uint64_t offset, uint32_t bytes, uint32_t tag,
		       pavo_done_call *done, void *context)
{
	return status([&] {
		return status_of(broadcast->broadcast.put(
			{.local = {local_pvo},
			 .offset = offset,
			 .length = bytes,
			 .tag = tag},
			[=](const pavo::Result<void> &ended) {
				if (done)
					done(context, status_of(ended));
			}));
	});
}

int pavo_broadcast_progress(pavo_broadcast *broadcast)
{
	return status(
		[&] { return status_of(broadcast->broadcast.progress()); });
}

size_t pavo_broadcast_pending(const pavo_broadcast *broadcast)
{
	return broadcast->broadcast.pending();
}

int64_t pavo_broadcast_due(const pavo_broadcast *broadcast)
{
	const auto now = pavo::Broadcast::Clock::now();
	const auto due = broadcast->broadcast.due();

	if (due == due.max())
		return -1;
	if (due <= now)
		return 0;
	return std::chrono::ceil<std::chrono::microseconds>(due - now).count();
}

uint64_t pavo_broadcast_retries(const pavo_broadcast *broadcast)
{
	return broadcast->broadcast.retries();
}

/* ------------------------------------------------------------------- member */

pavo_broadcast_target *pavo_broadcast_target_open(
	pavo_rdma *rdma, const pavo_broadcast_options *options, uint64_t pvo,
	uint64_t bytes, pavo_broadcast_arrival_call *arrival, void *context)
{
	return unless_no_memory([&] {
		std::unique_ptr<pavo_broadcast_target> made(
			object_of<pavo_broadcast_target>(
				pavo::BroadcastTarget::open(rdma->rdma,
							    group_of(*options),
							    {pvo}, bytes)));

		if (made && arrival)
			made->target.on_arrival(
				[=](const pavo::BroadcastArrival &a) {
					arrival(context, a.from.node,
						a.from.window, a.tag);
				});
		return made.release();
	});
}

void pavo_broadcast_target_close(pavo_broadcast_target *target)
{
	delete target;
}
