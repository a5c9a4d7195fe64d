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
 * Event handler of a window, one of up to 16 (PAVO_HANDLERS). Its eventfd is for poll and epoll.
 *
 * Window::recv_threshold() and recv_threshold_early() ask for events. Ready handlers are served
 * round-robin; a handler that was served is not ready. An event that finds no handler ready
 * is kept for the next that becomes ready, several of them as one. When a thread looks there may be
 * more messages than were asked for, or none, if another thread has taken them.
 *
 * When the window ends (dead, disabled, or its adapter gone) all handlers are signalled, ready or
 * not, and so is each that becomes ready later: lmt().state and the errors of calls say why.
 *
 * A thread with a handler: wait for fd(), take(), receive() what there is, ask for the
 * next event, receive() again (what came before it was asked for raises none), ready().
 * ready() and the window's own calls are for one thread at a time.
 */
class Handler {
public:
	/**
	 * Registers a handler, which is not ready yet. @window: has to live as long.
	 * Fails with ENOSPC: it has PAVO_HANDLERS; EMFILE, ENFILE.
	 */
	static Result<Handler> open(Window &window) noexcept;
	/** Unregisters it. An event that it took and did not follow by ready() goes to another. */
	~Handler();
	Handler(Handler &&from) noexcept;
	Handler &operator=(Handler &&from) noexcept;

	/** An eventfd that does not block: readable when there is an event. */
	int fd() const { return fd_; }
	/** Its number in the window, 0 to 15. */
	uint32_t number() const { return number_; }
	/**
	 * Makes it ready for one event, which is raised at once if one is kept, or if the window has
	 * ended. Fails with EIO: the adapter is gone.
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
