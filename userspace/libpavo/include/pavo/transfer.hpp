// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* transfer.hpp - an operation that a coroutine awaits. */
#ifndef PAVO_TRANSFER_HPP
#define PAVO_TRANSFER_HPP

#include <pavo/language.hpp>

#include <coroutine>
#include <functional>
#include <utility>

#include <pavo/result.hpp>

#pragma GCC visibility push(default)

namespace pavo {

/**
 * An operation that begins when it is awaited: co_await rdma.put(...) is a Result<void>, and the
 * coroutine goes on in progress(). An operation that cannot be begun is over at once. Without
 * coroutines: Rdma::wait(rdma.put(...)).
 */
class Transfer {
public:
	using Done = std::function<void(const Result<void> &)>;
	/** Begins the operation. If that fails, Done is not called. */
	using Begin = std::function<Result<void>(Done)>;

	explicit Transfer(Begin begin) : begin_(std::move(begin)) {}

	/** Begins the operation without a coroutine; @done is called when it is over. */
	Result<void> begin(Done done) const { return begin_(std::move(done)); }

	bool await_ready() const noexcept { return false; }
	bool await_suspend(std::coroutine_handle<> handle)
	{
		result_ = begin_([this, handle](const Result<void> &result) {
			result_ = result;
			handle.resume();
		});
		return result_.has_value();
	}
	Result<void> await_resume() const noexcept { return result_; }

private:
	Begin begin_;
	Result<void> result_;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_TRANSFER_HPP
