// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* transfer.hpp - an operation that a coroutine waits for. */
#ifndef PAVO_TRANSFER_HPP
#define PAVO_TRANSFER_HPP

#include <coroutine>
#include <functional>
#include <system_error>
#include <utility>

namespace pavo {

/**
 * An operation that begins when it is awaited: co_await rdma.put(...) is a std::error_code,
 * and the coroutine goes on in progress(). An operation that cannot be begun is over at once.
 */
class Transfer {
public:
	using Done = std::function<void(std::error_code)>;
	/** Begins the operation. Return: not 0: the reason why not; the call is not made then. */
	using Begin = std::function<std::error_code(Done)>;

	explicit Transfer(Begin begin) : begin_(std::move(begin)) {}

	bool await_ready() const noexcept { return false; }
	bool await_suspend(std::coroutine_handle<> handle)
	{
		error_ = begin_([this, handle](std::error_code error) {
			error_ = error;
			handle.resume();
		});
		return !error_;
	}
	std::error_code await_resume() const noexcept { return error_; }

private:
	Begin begin_;
	std::error_code error_;
};

} // namespace pavo

#endif // PAVO_TRANSFER_HPP
