// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * stream.hpp - TCP connections with a time limit on each call.
 * Private to the library.
 */
#ifndef PAVO_STREAM_HPP
#define PAVO_STREAM_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace pavo {

/** Limit of the time to wait, and a function to call meanwhile. */
struct TimeLimit {
	using Clock = std::chrono::steady_clock;

	Clock::time_point end;
	/** Called repeatedly while waiting, if set; the wait does not sleep then. */
	const std::function<void()> *meanwhile = nullptr;

	bool is_over() const { return Clock::now() >= end; }
	/** Milliseconds that poll() may sleep: 0 to 1000. */
	int sleep() const;
};

/** Sleeps between two attempts. */
void pause_before_retry(const TimeLimit &limit);

/** A socket, closed with this. Calls return 0 or an errno. */
class Stream {
public:
	Stream() = default;
	/** Takes over @fd. */
	explicit Stream(int fd) noexcept : fd_(fd) {}
	~Stream();
	Stream(Stream &&from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
	Stream &operator=(Stream &&from) noexcept
	{
		std::swap(fd_, from.fd_);
		return *this;
	}

	int fd() const { return fd_; }
	explicit operator bool() const { return fd_ >= 0; }

	/** Waits for @events of poll(). Return: 0; ETIMEDOUT. */
	int wait(short events, const TimeLimit &limit) const;
	/** Write or read all of @bytes. Return: 0; ETIMEDOUT; ECONNRESET: the peer has closed it. */
	int read(std::span<std::byte> bytes, const TimeLimit &limit) const;
	int write(std::span<const std::byte> bytes,
		  const TimeLimit &limit) const;
	/**
	 * Reads up to the length of @bytes; does not wait. Return: number of bytes; 0: none yet;
	 * negative: the peer has closed it, or an error.
	 */
	ssize_t read_some(std::span<std::byte> bytes) const;

	/** Accepts a connection of a listening socket; empty if there is none yet. Sets errno. */
	Stream accept() const;

private:
	int fd_ = -1;
};

/**
 * Makes a listening socket, for all local addresses if @host is empty. Throws Failure:
 * getaddrinfo(3), bind(2).
 */
Stream listen_at(const std::string &host, uint16_t port);

/**
 * Connects to @host, and retries until the limit. Throws Failure: EHOSTUNREACH: there is no such
 * host; ETIMEDOUT.
 */
Stream connect_to(const std::string &host, uint16_t port,
		  const TimeLimit &limit);

} // namespace pavo

#endif // PAVO_STREAM_HPP
