// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * completion.hpp - the end of an operation for those who would rather look for it than
 * be called, or wait in a coroutine.
 */
#ifndef PAVO_COMPLETION_HPP
#define PAVO_COMPLETION_HPP

#include <functional>
#include <memory>

#include <pavo/result.hpp>

namespace pavo {

/**
 * The outcome of the operation that it was given to last, in place of a call:
 *
 *	Completion moved;
 *	rdma.put(peer, move, moved).value();
 *	while (!moved.over())
 *		rdma.progress().value();
 *	return moved.result();
 *
 * May be destroyed, or given to the next operation, before the last one is over.
 */
class Completion {
public:
	/** Never, where the operation was not begun or who carried it out is gone. */
	bool over() const noexcept { return end_ && end_->over; }
	/** How it ended: as the call would have been told; ok before over(). */
	Result<void> result() const noexcept
	{
		return over() ? end_->result : Result<void>();
	}

	/** The call that it is told by. Throws std::bad_alloc. */
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

#endif // PAVO_COMPLETION_HPP
