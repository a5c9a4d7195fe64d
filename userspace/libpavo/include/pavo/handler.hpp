// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * handler.hpp - handlers of a window's events (sources.md#windows-interrupt): each event goes to
 * one of them.
 */
#ifndef PAVO_HANDLER_HPP
#define PAVO_HANDLER_HPP

#include <cstdint>

#include <pavo/window.hpp>

namespace pavo {

/**
 * Event handler of a window, one of up to 16 (PAVO_HANDLERS). Its eventfd is for poll and epoll.
 *
 * Window::recv_threshold() and recv_threshold_early() request events. Ready handlers are served
 * round-robin; a handler that was served is not ready. If no handler is ready, the window keeps one
 * event, however many there were, for the next handler that becomes ready. When a thread calls
 * receive() there may be more messages than it requested, or none, if another thread has taken them.
 *
 * When the window is dead or disabled, or its adapter is gone, all handlers are signalled, ready or
 * not, and so is each handler that becomes ready after that: lmt().state and the errors of calls
 * show why.
 *
 * A thread with a handler waits for fd(), calls take(), receives all messages, requests the next
 * event, calls receive() again (messages that arrived before the request raise no event), and then
 * ready(). ready() and the calls of the window are for one thread at a time.
 */
class Handler {
public:
	/**
	 * Registers a handler, which is not ready yet. @window: has to live longer. Fails with
	 * ENOSPC: it has PAVO_HANDLERS; EMFILE, ENFILE; EIO: the adapter is gone.
	 */
	static Result<Handler> open(Window &window) noexcept;
	/** Unregisters it. An event after which it has not called ready() goes to another handler. */
	~Handler();
	Handler(Handler &&from) noexcept;
	Handler &operator=(Handler &&from) noexcept;

	/** Returns its eventfd, nonblocking: readable when an event is pending. */
	int fd() const { return fd_; }
	/** Returns its number in the window, 0 to 15. */
	uint32_t number() const { return number_; }
	/**
	 * Makes it ready for one event, which may be raised at once: if the window has kept one, or
	 * has ended. Fails with EIO: the adapter is gone.
	 */
	Result<void> ready() noexcept;
	/** Clears the eventfd. Return: true if an event was pending. */
	bool take() noexcept;

private:
	/** Takes over @fd. */
	Handler(SharedWindow &window, int fd, uint32_t number)
		: window_(&window), fd_(fd), number_(number)
	{
	}

	SharedWindow *window_;
	int fd_;
	uint32_t number_;
};

} // namespace pavo

#endif // PAVO_HANDLER_HPP
