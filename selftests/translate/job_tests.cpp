// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* job_tests.cpp - job slots: who gets one, who may join, when they are free. */
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <type_traits>
#include <vector>

#include <pavo/handler.hpp>
#include <pavo/rcxt.hpp>
#include <pavo/rdma.hpp>
#include <pavo/mapping_cache.hpp>
#include <pavo/striped.hpp>
#include <pavo/window.hpp>

#include "world.h"

using namespace world;
using pavo::Job;

namespace {

TEST(Job, IsOneForAllAdapters)
{
	pavo::Device a = adapter(), b = other_adapter();
	Job job = Job::reserve(a, job_id, job_key).value();
	Job other = Job::join(b, job_id, job_key).value();

	EXPECT_EQ(job.info().value().id, job_id);
	EXPECT_EQ(other.info().value().id, job_id);
	EXPECT_EQ(other.info().value().slot, job.info().value().slot);
	EXPECT_EQ(job.info().value().members, 2u);
}

/* For a module that was built without jobs (guest.sh). */
TEST(Job, DISABLED_IsRefusedOfAModuleWithoutThem)
{
	pavo::Device device = adapter();
	auto job = Job::open(device, job_id, job_key);

	ASSERT_FALSE(job.has_value());
	EXPECT_EQ(job.error(), std::errc::operation_not_supported);
	EXPECT_NE(job.error().message().find("WINDOWS=y"), std::string::npos)
		<< job.error().message();
}

/* Its file stays open with it: no other file gets the number, and the job is not left. */
TEST(Job, OutlivesItsDevice)
{
	auto device = std::make_unique<pavo::Device>(adapter());
	const int number = device->fd();
	auto job = std::make_unique<Job>(
		Job::reserve(*device, job_id, job_key).value());
	std::vector<std::byte> buffer(1 << 16);
	auto mapping = std::make_unique<pavo::Mapping>(
		pavo::Mapping::open(*job, buffer).value());

	device.reset();
	EXPECT_EQ(job->info().value().id, job_id);
	EXPECT_NE(fcntl(number, F_GETFD), -1) << "the file is open";
	job.reset();
	EXPECT_NE(fcntl(number, F_GETFD), -1) << "the mapping needs it";
	mapping.reset();
	EXPECT_EQ(fcntl(number, F_GETFD), -1) << "no object needs it";
}

/* Objects that would be closed twice. */
static_assert(!std::is_copy_constructible_v<Job> &&
	      !std::is_copy_assignable_v<Job>);
static_assert(!std::is_copy_constructible_v<pavo::Mapping> &&
	      !std::is_copy_assignable_v<pavo::Mapping>);
static_assert(!std::is_copy_constructible_v<pavo::Window> &&
	      !std::is_copy_assignable_v<pavo::Window>);
static_assert(!std::is_copy_constructible_v<pavo::Handler> &&
	      !std::is_copy_assignable_v<pavo::Handler>);
static_assert(!std::is_copy_constructible_v<pavo::Rcxts> &&
	      !std::is_copy_assignable_v<pavo::Rcxts>);
static_assert(!std::is_copy_constructible_v<pavo::Rdma> &&
	      !std::is_copy_assignable_v<pavo::Rdma>);
static_assert(!std::is_copy_constructible_v<pavo::Striped> &&
	      !std::is_copy_assignable_v<pavo::Striped>);
static_assert(!std::is_copy_constructible_v<pavo::MappingCache> &&
	      !std::is_copy_assignable_v<pavo::MappingCache>);

TEST(Job, HasOneReserver)
{
	pavo::Device a = adapter();
	Job job = Job::reserve(a, job_id, job_key).value();

	EXPECT_EQ(refusal([&] { Job::reserve(a, job_id, job_key).value(); }),
		  EEXIST);
	EXPECT_EQ(refusal([&] { Job::reserve(a, 0, job_key).value(); }),
		  EINVAL);
}

TEST(Job, IsJoinedByItsKeyOnly)
{
	pavo::Device a = adapter();
	Job job = Job::reserve(a, job_id, job_key).value();

	EXPECT_EQ(refusal([&] { Job::join(a, job_id, job_key + 1).value(); }),
		  EACCES);
	EXPECT_EQ(refusal([&] { Job::join(a, job_id + 1, job_key).value(); }),
		  ENOENT);
	EXPECT_EQ(job.info().value().members, 1u);
}

TEST(Job, IsItsUsersOnly)
{
	pavo::Device a = adapter();
	Job job = Job::reserve(a, job_id, job_key).value();
	Process child([](Process &) {
		pavo::Device own = adapter();

		become_user(1 << 20);
		return refusal([&] {
			       Job::join(own, job_id, job_key).value();
		       }) == EACCES;
	});

	EXPECT_TRUE(child.good());
}

TEST(Job, GetsNoSlotWhenAllAreTaken)
{
	pavo::Device a = adapter();
	unsigned slots = parameter("job_slots");
	std::vector<Job> jobs;

	for (uint32_t i = 0; i < slots; i++)
		jobs.push_back(Job::reserve(a, job_id + i, job_key).value());
	EXPECT_EQ(refusal([&] { Job::reserve(a, job_id + slots, 0).value(); }),
		  ENOSPC);
	jobs.erase(jobs.begin());
	EXPECT_EQ(refusal([&] { Job::reserve(a, job_id + slots, 0).value(); }),
		  0);
}

/* As many as the module lets a user have by default. */
constexpr unsigned quarter_of_slots = 1;

/* Reserves as many job slots as this user gets, none at or above @first + 100. */
std::vector<Job> all_slots(const pavo::Device &device, uint32_t first)
{
	std::vector<Job> jobs;

	for (uint32_t id = first; id < first + 100; id++) {
		auto job = Job::reserve(device, id, job_key);

		if (!job.has_value())
			break;
		jobs.push_back(std::move(job).value());
	}
	return jobs;
}

TEST(Job, ThreeUsersHaveNotAllSlots)
{
	const unsigned slots = parameter("job_slots");
	std::vector<std::unique_ptr<Process>> users;

	ASSERT_EQ(slots, 5u);
	for (uint32_t n = 1; n <= 3; n++) {
		users.push_back(
			std::make_unique<Process>([n](Process &process) {
				pavo::Device own = adapter();

				become_user(1 << 20, 5000 + n);
				std::vector<Job> jobs = all_slots(own, n * 100);

				process.meet();
				process.meet();
				return jobs.size() == quarter_of_slots;
			}));
		users.back()->meet();
	}
	Process fourth([](Process &) {
		pavo::Device own = adapter();

		become_user(1 << 20, 5004);
		return all_slots(own, 400).size() == quarter_of_slots;
	});
	EXPECT_TRUE(fourth.good()) << "no slot is left";
	{
		/* Root may have all that are left. */
		pavo::Device own = adapter();

		EXPECT_EQ(all_slots(own, 500).size(),
			  slots - 3 * quarter_of_slots);
	}
	for (auto &user : users) {
		user->meet();
		EXPECT_TRUE(user->good());
	}
}

TEST(Job, AUserHasNotAllSlots)
{
	constexpr unsigned most = 3;
	Parameter jobs("jobs_per_user", most);
	Process child([](Process &) {
		pavo::Device own = adapter();
		std::vector<Job> jobs;

		become_user(1 << 20);
		for (uint32_t i = 0; i < most; i++)
			jobs.push_back(
				Job::reserve(own, job_id + i, job_key).value());
		return refusal([&] {
			       Job::reserve(own, job_id + most, job_key).value();
		       }) == EDQUOT;
	});

	ASSERT_LT(most, parameter("job_slots"));
	EXPECT_TRUE(child.good());
}

/* A user is one user in all user namespaces that it makes. */
TEST(Job, AUserHasNotMoreInNamespaces)
{
	constexpr unsigned most = 2, user = 4711;
	Parameter slots("jobs_per_user", most);

	for (unsigned taken = 0; taken <= most; taken++) {
		Process first([&](Process &process) {
			pavo::Device own = adapter();
			std::vector<Job> jobs;

			become_user(1 << 20, user);
			for (unsigned i = 0; i < taken; i++)
				jobs.push_back(
					Job::reserve(own, 100 + i, 1).value());
			process.meet();
			process.meet();
			return true;
		});

		first.meet();
		Process second([&](Process &) {
			pavo::Device own = adapter();
			std::vector<Job> jobs;

			become_user(1 << 20, user);
			if (unshare(CLONE_NEWUSER))
				return false;
			for (unsigned i = taken; i < most; i++)
				jobs.push_back(
					Job::reserve(own, 200 + i, 1).value());
			return refusal([&] {
				       Job::reserve(own, 300, 1).value();
			       }) == EDQUOT;
		});
		EXPECT_TRUE(second.good()) << taken;
		first.meet();
		EXPECT_TRUE(first.good()) << taken;
	}
}

TEST(Job, EndsWithItsLastProcess)
{
	pavo::Device a = adapter();
	Process child([](Process &self) {
		pavo::Device own = adapter();
		Job job = Job::reserve(own, job_id, job_key).value();
		Memory memory(8 * page);
		pavo::Mapping mapping =
			pavo::Mapping::open(job, memory.all()).value();

		self.meet();
		pause();
		return true;
	});

	child.meet();
	EXPECT_EQ(refusal([&] { Job::reserve(a, job_id, job_key).value(); }),
		  EEXIST);
	child.kill();
	EXPECT_EQ(refusal([&] { Job::reserve(a, job_id, job_key).value(); }),
		  0);
}

TEST(Job, StaysWhileABufferIsMapped)
{
	pavo::Device a = adapter();
	Memory memory(page);
	Job *job = new Job(Job::reserve(a, job_id, job_key).value());
	pavo::Mapping mapping = pavo::Mapping::open(*job, memory.all()).value();

	delete job;
	EXPECT_EQ(refusal([&] { Job::reserve(a, job_id, job_key).value(); }),
		  EEXIST);
	Job again = Job::join(a, job_id, job_key).value();
	EXPECT_EQ(again.check(mapping.pvo(), page).value(),
		  pavo::PvoResult::ok);
}

} // namespace
