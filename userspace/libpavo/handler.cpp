// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* handler.cpp - handlers of a window's events; see handler.hpp. */
#include <pavo/handler.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

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

Result<Handler> Handler::open(Window &window) noexcept
{
	return guarded([&]() -> Result<Handler> {
		SharedWindow &shared = shared_of(window);
		int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

		if (fd < 0)
			fail(errno, "eventfd of a handler");
		uint32_t number = 0;
		int err = Command(PAVO_OBJECT_WINDOW_MORE,
				  PAVO_METHOD_WINDOW_ADD_HANDLER)
				  .handle(PAVO_ATTR_WINDOW_HANDLE,
					  shared.handle())
				  .in(PAVO_ATTR_WINDOW_EVENT, int32_t(fd))
				  .out(PAVO_ATTR_WINDOW_HANDLER_MADE, number)
				  .run(shared.fd());
		if (err) {
			close(fd);
			fail(err, "handler of events" + advice(err));
		}
		return Handler(shared, fd, number);
	});
}

Handler::~Handler()
{
	if (fd_ < 0)
		return;
	Command(PAVO_OBJECT_WINDOW_MORE, PAVO_METHOD_WINDOW_REMOVE_HANDLER)
		.handle(PAVO_ATTR_WINDOW_HANDLE, window_->handle())
		.in(PAVO_ATTR_WINDOW_HANDLER, number_)
		.run(window_->fd());
	close(fd_);
}

Handler::Handler(Handler &&from) noexcept
	: window_(from.window_), fd_(std::exchange(from.fd_, -1)),
	  number_(from.number_)
{
}

Handler &Handler::operator=(Handler &&from) noexcept
{
	std::swap(window_, from.window_);
	std::swap(fd_, from.fd_);
	std::swap(number_, from.number_);
	return *this;
}

Result<void> Handler::ready() noexcept
{
	return window_->command_now(PAVO_WCMD_HANDLER_READY, number_);
}

bool Handler::take() noexcept
{
	uint64_t n;

	return read(fd_, &n, sizeof(n)) == sizeof(n);
}

} // namespace pavo
