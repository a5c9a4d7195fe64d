// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* handler.cpp - handlers of a window's events; see handler.hpp. */
#include <pavo/handler.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "command.hpp"
#include "error.hpp"
#include "shared_window.hpp"

namespace pavo {

namespace {

std::string advice(int err)
{
	return err == ENOSPC ?
		       ": the window has " + std::to_string(PAVO_HANDLERS) +
			       " already" :
		       "";
}

} // namespace

Handler::Handler(Window &window)
	: window_(window), fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
{
	if (fd_ < 0)
		throw error(errno, "eventfd of a handler");
	int err =
		Command(PAVO_OBJECT_WINDOW_MORE, PAVO_METHOD_WINDOW_ADD_HANDLER)
			.handle(PAVO_ATTR_WINDOW_HANDLE,
				shared_of(window).handle())
			.in(PAVO_ATTR_WINDOW_EVENT, int32_t(fd_))
			.out(PAVO_ATTR_WINDOW_HANDLER_MADE, number_)
			.run(shared_of(window).fd());
	if (err) {
		close(fd_);
		throw error(err, "handler of events" + advice(err));
	}
}

Handler::~Handler()
{
	Command(PAVO_OBJECT_WINDOW_MORE, PAVO_METHOD_WINDOW_REMOVE_HANDLER)
		.handle(PAVO_ATTR_WINDOW_HANDLE, shared_of(window_).handle())
		.in(PAVO_ATTR_WINDOW_HANDLER, number_)
		.run(shared_of(window_).fd());
	close(fd_);
}

std::error_code Handler::ready() noexcept
{
	return shared_of(window_).command_now(PAVO_WCMD_HANDLER_READY, number_);
}

bool Handler::take() noexcept
{
	uint64_t n;

	return read(fd_, &n, sizeof(n)) == sizeof(n);
}

} // namespace pavo
