// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* window_group.cpp - groups of a window, and its bindings; see window.hpp. */
#include <algorithm>
#include <cstring>

#include <pavo/window.hpp>

#include "command.hpp"
#include "error.hpp"
#include "shared_window.hpp"

namespace pavo {

namespace {

/* @method about a group, with its argument. */
template <class Argument>
Result<void> about_group(const Window &window, pavo_window_more_method method,
			 pavo_window_attr attribute,
			 const Argument &argument) noexcept
{
	const SharedWindow &shared = shared_of(window);

	return to_result(
		Error(Command(PAVO_OBJECT_WINDOW_MORE, method)
			      .handle(PAVO_ATTR_WINDOW_HANDLE, shared.handle())
			      .in(attribute, argument)
			      .run(shared.fd())));
}

} // namespace

static_assert(window_group == PAVO_WINDOW_GROUP &&
	      group_rcxts == PAVO_GROUP_RCXTS);

Result<void> Window::join(const Gid &gid, uint32_t group) noexcept
{
	pavo_group_join_args args{};

	memcpy(args.gid, gid.data(), gid.size());
	args.group = group;
	return about_group(*this, PAVO_METHOD_WINDOW_JOIN,
			   PAVO_ATTR_WINDOW_JOIN_ARGS, args);
}

Result<void> Window::leave(uint32_t group) noexcept
{
	return about_group(*this, PAVO_METHOD_WINDOW_LEAVE,
			   PAVO_ATTR_WINDOW_GROUP, group);
}

Result<void> Window::bind(uint32_t group, uint32_t rcxt, Pvo pvo,
			  uint64_t length, uint64_t tid) noexcept
{
	const pavo_group_bind_args args = {.group = group,
					   .rcxt = rcxt,
					   .pvo = pvo.value,
					   .length = length,
					   .tid = tid};

	return about_group(*this, PAVO_METHOD_WINDOW_BIND,
			   PAVO_ATTR_WINDOW_BIND_ARGS, args);
}

Result<void> Window::unbind(uint32_t group, uint32_t rcxt) noexcept
{
	const pavo_group_unbind_args args = {.group = group, .rcxt = rcxt};

	return about_group(*this, PAVO_METHOD_WINDOW_UNBIND,
			   PAVO_ATTR_WINDOW_UNBIND_ARGS, args);
}

GroupDoneFrame Message::group_done() const
{
	pavo_group_done done{};

	memcpy(&done, payload.data(), std::min(sizeof(done), payload.size()));
	return {.group = done.group,
		.rcxt = done.rcxt,
		.peer_rcxt = done.peer_rcxt,
		.length = done.length,
		.tid = done.tid,
		.tag = done.tag,
		.attempts = done.attempts,
		.status = PvoResult(done.status)};
}

} // namespace pavo
