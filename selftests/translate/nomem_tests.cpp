// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nomem_tests.cpp - the kernel refuses memory at any place of a call: it fails with ENOMEM
 * (EFAULT, if it was a copy), nothing is half made, and the same call succeeds behind it.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <pavo/mapping_cache.hpp>
#include <pavo/window.hpp>

#include "../faults/fail_nth.h"
#include "world.h"

using namespace world;
using faults::FailNth;
using faults::in_turn;
using pavo::Device;
using pavo::Job;
using pavo::Mapping;
using pavo::Window;

namespace {

struct Nomem : testing::Test {
	void SetUp() override
	{
		const std::string lacking = FailNth::lacking();

		if (!lacking.empty())
			GTEST_SKIP() << lacking;
	}
};

/* The library's own memory may be what could not grow. */
int refused(const std::function<void()> &call)
{
	try {
		return refusal(call);
	} catch (const std::bad_alloc &) {
		return ENOMEM;
	}
}

/* An object that open() of a class makes. */
template <class Object, class... Arguments>
void makes(const std::string &what, Arguments &&...arguments)
{
	std::optional<Object> object;

	in_turn(
		what,
		[&] {
			return refused([&] {
				object.emplace(
					Object::open(arguments...).value());
			});
		},
		[&] { object.reset(); });
}

TEST_F(Nomem, Jobs)
{
	std::optional<Job> job;
	Device device = adapter();

	in_turn(
		"job reserved",
		[&] {
			return refused([&] {
				job.emplace(
					Job::reserve(device, job_id, job_key)
						.value());
			});
		},
		[&] { job.reset(); });
	Job first = Job::reserve(device, job_id, job_key).value();
	in_turn(
		"job joined",
		[&] {
			return refused([&] {
				job.emplace(Job::join(device, job_id, job_key)
						    .value());
			});
		},
		[&] { job.reset(); });
}

TEST_F(Nomem, Mappings)
{
	Device device = adapter();
	Job job = Job::reserve(device, job_id, job_key).value();
	Memory memory(64 * page);
	const size_t before = pinned();

	makes<Mapping>("mapping", job, memory.all());
	EXPECT_EQ(pinned(), before);
	EXPECT_EQ(job.info().value().mappings, 0u);
	/* A part of what is pinned already. */
	Mapping all = Mapping::open(job, memory.all()).value();
	makes<Mapping>("mapping of a part", job, memory.part(page, 5 * page));
	EXPECT_EQ(pinned(), before + 64);
}

TEST_F(Nomem, Windows)
{
	Device device = adapter();
	Job job = Job::reserve(device, job_id, job_key).value();
	pavo::WindowOptions options;

	options.send_frames = options.recv_frames = 16;
	makes<Window>("window", job, options);
	Window window = Window::open(job, options).value();
	uint32_t rcxt = 0;
	std::span one(&rcxt, 1);
	in_turn(
		"contexts",
		[&] { return window.take_rcxts(one).error_or({}).number(); },
		[&] { EXPECT_TRUE(window.return_rcxts(one).has_value()); });
}

/* A cache gives the right pieces under such circumstances, or none. */
TEST_F(Nomem, Caches)
{
	Device device = adapter();
	Job job = Job::reserve(device, job_id, job_key).value();
	Memory memory(32 * page);
	std::vector<pavo::MappingPiece> room(8);
	std::optional<pavo::MappingCache> cache;

	makes<pavo::MappingCache>("cache", job, by_hand);
	cache.emplace(pavo::MappingCache::open(job, by_hand).value());
	std::span<pavo::MappingPiece> pieces;
	in_turn(
		"first use",
		[&] {
			auto got = cache->get(memory.all(), room);
			int err = got.error_or({}).number();

			pieces = std::move(got).value_or({});
			return err;
		},
		[&] {
			for (auto &piece : pieces)
				EXPECT_EQ(job.check(piece.pvo, piece.length)
						  .value(),
					  pavo::PvoResult::ok);
			cache->put(pieces);
			memory.replace();
		});
	cache.reset();
	EXPECT_EQ(job.info().value().mappings, 0u);
}

} // namespace
