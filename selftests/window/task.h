// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* task.h - a coroutine for tests of what can be awaited. */
#ifndef PAVO_WINDOW_TASK_H
#define PAVO_WINDOW_TASK_H

#include <coroutine>
#include <exception>

/* No caller waits for it. */
struct Task {
	struct promise_type {
		Task get_return_object() { return {}; }
		std::suspend_never initial_suspend() { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

#endif // PAVO_WINDOW_TASK_H
