// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* handler.cpp - handlers of events; see handler.hpp. */
#include <pavo/handler.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
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

int make_eventfd()
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	if (fd < 0)
		fail(errno, "eventfd of a handler");
	return fd;
}

/* Return: true if an event was pending. */
bool clear(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == sizeof(n);
}

} // namespace

Result<Handler> Handler::open(Window &window) noexcept
{
	return guarded([&]() -> Result<Handler> {
		SharedWindow &shared = shared_of(window);
		int fd = make_eventfd();
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
	return clear(fd_);
}

/* ---------------------------------------------------------------- adapters */

Result<AdapterHandler> AdapterHandler::open(const Device &device) noexcept
{
	return guarded([&]() -> Result<AdapterHandler> {
		Command command(PAVO_OBJECT_HANDLER, PAVO_METHOD_HANDLER_OPEN);
		int fd = make_eventfd();
		int err = command.new_handle(PAVO_ATTR_HANDLER_HANDLE)
				  .in(PAVO_ATTR_HANDLER_EVENT, int32_t(fd))
				  .run(device.fd());

		if (err) {
			close(fd);
			fail(err, "handler of an adapter");
		}
		return AdapterHandler(device.file(), fd, command.made());
	});
}

AdapterHandler::~AdapterHandler()
{
	if (fd_ < 0)
		return;
	Command(PAVO_OBJECT_HANDLER, PAVO_METHOD_HANDLER_CLOSE)
		.handle(PAVO_ATTR_HANDLER_HANDLE, handle_)
		.run(file_->number());
	close(fd_);
}

AdapterHandler::AdapterHandler(AdapterHandler &&from) noexcept
	: file_(std::move(from.file_)), fd_(std::exchange(from.fd_, -1)),
	  handle_(from.handle_)
{
}

AdapterHandler &AdapterHandler::operator=(AdapterHandler &&from) noexcept
{
	std::swap(file_, from.file_);
	std::swap(fd_, from.fd_);
	std::swap(handle_, from.handle_);
	return *this;
}

Result<void> AdapterHandler::ready() noexcept
{
	return to_result(
		Error(Command(PAVO_OBJECT_HANDLER, PAVO_METHOD_HANDLER_READY)
			      .handle(PAVO_ATTR_HANDLER_HANDLE, handle_)
			      .run(file_->number())));
}

bool AdapterHandler::take() noexcept
{
	return clear(fd_);
}

Result<size_t> AdapterHandler::windows(std::span<uint32_t> numbers) noexcept
{
	auto some = numbers.first(
		std::min<size_t>(numbers.size(), PAVO_HANDLER_WINDOWS));
	int err = Command(PAVO_OBJECT_HANDLER, PAVO_METHOD_HANDLER_TAKE)
			  .handle(PAVO_ATTR_HANDLER_HANDLE, handle_)
			  .out_array(PAVO_ATTR_HANDLER_WINDOWS, some)
			  .run(file_->number());

	if (err)
		return Unexpected(err);
	return size_t(std::ranges::find(some, 0u) - some.begin());
}

} // namespace pavo
