// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* job_open_test.cpp - into a job that others make and leave meanwhile (job_open.hpp). */
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "job_open.hpp"

using pavo::job_open_tries, pavo::Result;

namespace {

/* A machine on which the job is there or not, and changes that at some calls. */
struct Machine {
	/* Results of the calls, in their order: errno; 0: success. Further calls: as the last one. */
	std::string reserve_answers, join_answers;
	unsigned reserved = 0, joined = 0;

	static Result<char> call(const std::string &answers, unsigned &calls,
				 char good)
	{
		int err =
			answers[std::min<size_t>(calls++, answers.size() - 1)];

		if (err)
			return pavo::Error(err, "job");
		return good;
	}

	Result<char> open()
	{
		return pavo::reserve_or_join(
			[this] { return call(reserve_answers, reserved, 'r'); },
			[this] { return call(join_answers, joined, 'j'); });
	}
};

int refusal(Machine &machine)
{
	return machine.open().error().number();
}

const std::string well(1, 0), there(1, EEXIST), none(1, ENOENT);

TEST(JobOpen, TheFirstMakesItAndOthersJoin)
{
	Machine first{well, none}, second{there, well};

	EXPECT_EQ(first.open().value(), 'r');
	EXPECT_EQ(first.joined, 0u);
	EXPECT_EQ(second.open().value(), 'j');
	EXPECT_EQ(second.reserved, 1u);
}

/* The others have left when it would join. */
TEST(JobOpen, OneThatEndsInBetweenIsMadeAnew)
{
	Machine once{there + well, none}, often{there, none + none + well};

	EXPECT_EQ(once.open().value(), 'r');
	EXPECT_EQ(once.reserved, 2u);
	EXPECT_EQ(once.joined, 1u);
	EXPECT_EQ(often.open().value(), 'j');
	EXPECT_EQ(often.reserved, 3u);
	EXPECT_EQ(often.joined, 3u);
}

TEST(JobOpen, NobodyTriesForEver)
{
	Machine machine{there, none};

	EXPECT_EQ(refusal(machine), ENOENT);
	EXPECT_EQ(machine.reserved, job_open_tries);
	EXPECT_EQ(machine.joined, job_open_tries);
}

TEST(JobOpen, OtherErrorsAreAnswers)
{
	Machine full{std::string(1, ENOSPC), well};
	Machine others{there, std::string(1, EACCES)};
	Machine none_at_once{none, well};

	EXPECT_EQ(refusal(full), ENOSPC);
	EXPECT_EQ(full.joined, 0u);
	EXPECT_EQ(refusal(others), EACCES);
	EXPECT_EQ(others.reserved, 1u);
	EXPECT_EQ(others.joined, 1u);
	EXPECT_EQ(refusal(none_at_once), ENOENT);
}

} // namespace
