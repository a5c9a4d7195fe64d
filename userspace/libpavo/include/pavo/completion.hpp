// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * completion.hpp - the end of an operation for those who would rather look for it than
 * be called, or wait in a coroutine.
 */
#ifndef PAVO_COMPLETION_HPP
#define PAVO_COMPLETION_HPP

#include <functional>
#include <memory>
#include <system_error>

namespace pavo {

/**
 * The outcome of the operation that it was given to last, in place of a call:
 *
 *	Completion moved;
 *	if (auto error = rdma.put(peer, move, moved))
 *		return error;
 *	while (!moved.over())
 *		rdma.progress();
 *	return moved.error();
 *
 * May be destroyed, or given to the next operation, before the last one is over.
 */
class Completion {
public:
	/** Never, where the operation was not begun or who carried it out is gone. */
	bool over() const noexcept { return end_ && end_->over; }
	/** How it ended: as the call would have been told; none before over(). */
	std::error_code error() const noexcept
	{
		return over() ? end_->error : std::error_code();
	}

	/** The call that it is told by. Throws std::bad_alloc. */
	std::function<void(std::error_code)> begun()
	{
		end_ = std::make_shared<End>();
		return [end = end_](std::error_code error) {
			end->error = error;
			end->over = true;
		};
	}

private:
	struct End {
		bool over = false;
		std::error_code error;
	};
	std::shared_ptr<End> end_;
};

} // namespace pavo

#endif // PAVO_COMPLETION_HPP
