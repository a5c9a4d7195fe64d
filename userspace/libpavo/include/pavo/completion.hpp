// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * completion.hpp - the result of an operation, for programs that poll for it in place of a callback
 * or a coroutine.
 */
#ifndef PAVO_COMPLETION_HPP
#define PAVO_COMPLETION_HPP

#include <pavo/language.hpp>

#include <functional>
#include <memory>

#include <pavo/result.hpp>

#pragma GCC visibility push(default)

namespace pavo {

/**
 * The result of the operation that it was last passed to, in place of a callback:
 *
 *	Completion moved;
 *	rdma.put(peer, move, moved).value();
 *	return rdma.wait(moved);
 *
 * May be destroyed, or passed to another operation, before the operation is over.
 */
class Completion {
public:
	/**
	 * True when the operation is over. It stays false where put() or get() failed, and where the
	 * Rdma or Striped was destroyed before.
	 */
	bool over() const noexcept { return end_ && end_->over; }
	/** Returns the result of the operation; before over() a success. */
	Result<void> result() const noexcept
	{
		return over() ? end_->result : Result<void>();
	}

	/** Returns a Done that sets it, for the next operation. Throws std::bad_alloc. */
	std::function<void(const Result<void> &)> begun()
	{
		end_ = std::make_shared<End>();
		return [end = end_](const Result<void> &result) {
			end->result = result;
			end->over = true;
		};
	}

private:
	struct End {
		bool over = false;
		Result<void> result;
	};
	std::shared_ptr<End> end_;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_COMPLETION_HPP
