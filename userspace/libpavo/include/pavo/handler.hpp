// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * handler.hpp - handlers of events of a window, or of all windows of an adapter
 * (sources.md#windows-interrupt): each event goes to one of them.
 */
#ifndef PAVO_HANDLER_HPP
#define PAVO_HANDLER_HPP

#include <pavo/language.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <pavo/window.hpp>

#pragma GCC visibility push(default)

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

/**
 * Event handler of an adapter, one of up to 64 of a Device: for the events of all windows that were
 * made through that Device, also later. Each event goes to one of these handlers that is ready,
 * beside WindowOptions::recv_event and the window's own handlers. If none is ready, one event is
 * kept for the next that becomes ready.
 *
 * A thread with such a handler waits for fd(), calls take(), then windows() until that returns less
 * than there is space for, looks at each of these windows as at one with a Handler, and then calls
 * ready(). No other handler gets the numbers that it took. There may be no window, if another thread took it.
 * Each handler is for one thread at a time; different handlers may be used by different threads.
 */
class AdapterHandler {
public:
	/**
	 * Registers a handler, which is not ready yet. Fails with ENOSPC: @device has 64; EMFILE,
	 * ENFILE; ENOMEM; EIO: the adapter is gone.
	 */
	static Result<AdapterHandler> open(const Device &device) noexcept;
	/** Unregisters it. An event after which it has not called ready() goes to another handler. */
	~AdapterHandler();
	AdapterHandler(AdapterHandler &&from) noexcept;
	AdapterHandler &operator=(AdapterHandler &&from) noexcept;

	/** Returns its eventfd, nonblocking. The removal of the adapter raises it, too. */
	int fd() const { return fd_; }
	/** Makes it ready for one event. Fails with EIO: the adapter is gone. */
	Result<void> ready() noexcept;
	/** Clears the eventfd. Return: true if an event was pending. */
	bool take() noexcept;
	/**
	 * Takes the numbers of windows that had events. @numbers: set. Return: how many there are.
	 * Fails with EIO: the adapter is gone.
	 */
	Result<size_t> windows(std::span<uint32_t> numbers) noexcept;

private:
	/** Takes over @fd. */
	AdapterHandler(std::shared_ptr<const File> file, int fd,
		       uint32_t handle)
		: file_(std::move(file)), fd_(fd), handle_(handle)
	{
	}

	std::shared_ptr<const File> file_;
	int fd_;
	uint32_t handle_;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_HANDLER_HPP
