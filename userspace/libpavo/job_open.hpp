// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* job_open.hpp - into a job, whichever of its processes is first. Private to the library. */
#ifndef PAVO_JOB_OPEN_HPP
#define PAVO_JOB_OPEN_HPP

#include <system_error>

namespace pavo {

/* As often a job may end between the two. */
constexpr unsigned job_open_tries = 64;

/**
 * The result of @reserve(), or if the job is there of @join(). If the job has ended by
 * then, for the last of its processes left it, the same again. Throws what they throw, but
 * of @reserve not that there is one; of @join that there is none only after job_open_tries
 * of them.
 */
template <class Reserve, class Join>
auto reserve_or_join(Reserve &&reserve, Join &&join)
{
	for (unsigned tries = 1;; tries++) {
		try {
			return reserve();
		} catch (const std::system_error &error) {
			if (error.code() != std::errc::file_exists)
				throw;
		}
		try {
			return join();
		} catch (const std::system_error &error) {
			if (error.code() !=
				    std::errc::no_such_file_or_directory ||
			    tries == job_open_tries)
				throw;
		}
	}
}

} // namespace pavo

#endif // PAVO_JOB_OPEN_HPP
