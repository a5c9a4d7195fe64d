// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * handler.hpp - handlers of a window's events (sources.md#windows-interrupt):
 * several wait, each event wakes one of them.
 */
#ifndef PAVO_HANDLER_HPP
#define PAVO_HANDLER_HPP

#include <cstdint>

#include <pavo/window.hpp>

namespace pavo {

/**
 * One of up to 16 (PAVO_HANDLERS) of a window. Its eventfd is for poll and epoll.
 *
 * An event is what Window::recv_threshold() and its sibling ask for. It goes to one
 * handler that is ready, in turn, which is not ready after that. Where none is ready it
 * is the next one's that becomes it; several that found no handler ready are one. So it
 * says that it is time to look: there may be more messages than were asked for, or none,
 * if another has taken them.
 *
 * The end of the window (dead, disabled, or its adapter gone) is told to all, ready or
 * not, and to any that is ready later: look at lmt().state, or at the errors of calls.
 *
 * A thread with a handler: wait for fd(), take(), receive() what there is, ask for the
 * next event, receive() again (what came before it was asked for raises none), ready().
 * ready() and the window's own calls are for one thread at a time.
 */
class Handler {
public:
	/**
	 * Registers one, which is not ready yet. @window: has to live as long.
	 * Fails with ENOSPC: it has PAVO_HANDLERS; EMFILE, ENFILE.
	 */
	static Result<Handler> open(Window &window) noexcept;
	/** An event that it was given and did not follow by ready() is another's. */
	~Handler();
	Handler(Handler &&from) noexcept;
	Handler &operator=(Handler &&from) noexcept;

	/** An eventfd that does not block: readable when there is an event. */
	int fd() const { return fd_; }
	/** Of this window. */
	uint32_t number() const { return number_; }
	/** It may be given the next event; at once, if one is waiting or all is over. */
	Result<void> ready() noexcept;
	/** Whether it was given one, which it was told by that. */
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
