// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* job_open.hpp - reserve or join a job, whichever works. Private to the library. */
#ifndef PAVO_JOB_OPEN_HPP
#define PAVO_JOB_OPEN_HPP

#include <pavo/result.hpp>

namespace pavo {

/* Most attempts, since a job may end between the two calls. */
constexpr unsigned job_open_tries = 64;

/**
 * Return the Result of @reserve() or, if the job exists, of @join(). If the job has ended meanwhile,
 * since its last process has left it, try both again, up to job_open_tries times.
 */
template <class Reserve, class Join>
auto reserve_or_join(Reserve &&reserve, Join &&join)
{
	for (unsigned tries = 1;; tries++) {
		auto reserved = reserve();

		if (reserved != Unexpected(std::errc::file_exists))
			return reserved;
		auto joined = join();

		if (joined !=
			    Unexpected(std::errc::no_such_file_or_directory) ||
		    tries == job_open_tries)
			return joined;
	}
}

} // namespace pavo

#endif // PAVO_JOB_OPEN_HPP
