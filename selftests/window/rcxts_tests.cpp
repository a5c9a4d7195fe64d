// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rcxts_tests.cpp - pavo::Rcxts: contexts that are given back by themselves. */
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <pavo/rcxt.hpp>
#include <pavo/rdma.hpp>

#include "adapter.h"

using namespace windows;
using pavo::Rcxts;

namespace {

uint32_t owned(const pavo::Window &window)
{
	return window.lmt().rcxts_owned;
}

/* Another window of the first adapter. */
std::unique_ptr<pavo::Window> beside(const Pair &pair)
{
	pavo::WindowOptions options = {.gid_index = pair.address_a.index};

	return std::make_unique<pavo::Window>(pair.job_a, options);
}

std::vector<uint32_t> copy(const Rcxts &rcxts)
{
	return {rcxts.numbers().begin(), rcxts.numbers().end()};
}

TEST(Rcxts, AreGivenBack)
{
	Pair pair;

	{
		Rcxts none(pair.a);
		Rcxts three(pair.a, 3);
		/* More than the kernel gives by one call. */
		Rcxts many(pair.a, 2 * PAVO_RCXTS_AT_ONCE + 1);

		EXPECT_EQ(none.size(), 0u);
		EXPECT_EQ(owned(pair.a), 3 + many.size());
		must(three.take(2));
		EXPECT_EQ(three.size(), 5u);
		EXPECT_EQ(owned(pair.a), 5 + many.size());
		std::set<uint32_t> all(many.numbers().begin(),
				       many.numbers().end());
		for (size_t i = 0; i < three.size(); i++) {
			EXPECT_EQ(three[i], three.numbers()[i]);
			all.insert(three[i]);
		}
		EXPECT_EQ(all.size(), owned(pair.a));
	}
	EXPECT_EQ(owned(pair.a), 0u);
	EXPECT_EQ(owned(pair.b), 0u);
}

TEST(Rcxts, CanBeMoved)
{
	Pair pair;
	Rcxts first(pair.a, 3);
	auto numbers = copy(first);

	static_assert(!std::is_copy_constructible_v<Rcxts>);
	static_assert(!std::is_copy_assignable_v<Rcxts>);
	{
		Rcxts second(std::move(first));
		Rcxts other(pair.b, 2);

		EXPECT_EQ(first.size(), 0u);
		EXPECT_EQ(copy(second), numbers);
		EXPECT_EQ(owned(pair.a), 3u);
		second = std::move(other);
		EXPECT_EQ(second.size(), 2u);
		EXPECT_EQ(copy(other), numbers);
		must(other.take(1));
		EXPECT_EQ(owned(pair.a), 4u);
		EXPECT_EQ(owned(pair.b), 2u);
	}
	EXPECT_EQ(owned(pair.a), 0u);
	EXPECT_EQ(owned(pair.b), 0u);
	must(first.take(1));
	EXPECT_EQ(owned(pair.a), 1u);
}

/* Also in the middle of an operation: nothing of it comes after that. */
TEST(Rcxts, EndWhatTheyAreAt)
{
	constexpr uint32_t length = 1 << 20;
	Ends ends(length);

	for (int round = 0; round < 20; round++) {
		std::optional<Rcxts> here(std::in_place, ends.a, 1);
		std::optional<Rcxts> there(std::in_place, ends.b, 1);
		auto request = ends.request(1, length, 0);

		request.local_rcxt = (*here)[0];
		request.remote_rcxt = (*there)[0];
		must(ends.a.prepare_rdma(pavo::Direction::write,
					 {node_b, ends.b.number()}, request));
		must(ends.a.start());
		if (round % 2) {
			must(there->cancel());
			there.reset();
			ends.there.fill(7);
			EXPECT_TRUE(ends.there.holds(7));
			here.reset();
		} else {
			must(here->cancel());
			here.reset();
			there.reset();
			ends.there.fill(7);
		}
		EXPECT_EQ(owned(ends.a), 1u);
		EXPECT_EQ(owned(ends.b), 1u);
		EXPECT_TRUE(ends.there.holds(7));
	}
}

TEST(Rcxts, OthersTakeTheirPlaceAfterARecovery)
{
	Pair pair;
	Rcxts rcxts(pair.a, 3);
	auto old = copy(rcxts);

	must(rcxts.renew());
	EXPECT_EQ(copy(rcxts), old) << "there was none";
	recover(pair.device_a);
	EXPECT_EQ(owned(pair.a), 0u);
	EXPECT_EQ(rcxts.cancel(), std::errc::invalid_argument);
	/* One that was taken after it is of no use to the order. */
	must(rcxts.take(1));
	EXPECT_EQ(owned(pair.a), 1u);
	EXPECT_EQ(rcxts.size(), 4u);
	must(rcxts.renew());
	EXPECT_EQ(rcxts.size(), 4u);
	EXPECT_EQ(owned(pair.a), 4u);
	for (size_t i = 0; i < old.size(); i++)
		EXPECT_NE(rcxts[i] >> PAVO_RCXT_INDEX_BITS,
			  old[i] >> PAVO_RCXT_INDEX_BITS);
	must(rcxts.cancel());
	auto now = copy(rcxts);
	must(rcxts.renew());
	EXPECT_EQ(copy(rcxts), now) << "once is enough";
}

/* There are none for a while; then there are. */
TEST(Rcxts, MayBeRenewedLater)
{
	Pair pair;
	size_t all = world::parameter("max_rcxts");
	std::optional<Rcxts> rcxts(std::in_place, pair.a, 3);
	auto other = beside(pair);

	recover(pair.device_a);
	{
		Rcxts greedy(*other, all - 2);

		EXPECT_EQ(world::refusal([&] { Rcxts some(*other, 3); }),
			  ENOSPC);
		EXPECT_EQ(greedy.take(3), std::errc::no_space_on_device);
		EXPECT_EQ(greedy.size(), all - 2);
		EXPECT_EQ(owned(*other), all - 2);
		for (int i = 0; i < 2; i++)
			EXPECT_EQ(rcxts->renew(),
				  std::errc::no_space_on_device);
		EXPECT_EQ(owned(pair.a), 0u);
		/* They are another's, who keeps them. */
		must(greedy.take(2));
		EXPECT_EQ(rcxts->renew(), std::errc::no_space_on_device);
		EXPECT_EQ(owned(*other), all);
	}
	must(rcxts->renew());
	EXPECT_EQ(owned(pair.a), 3u);
	rcxts.reset();
	EXPECT_EQ(owned(pair.a), 0u);
}

/* Contexts that a failed renewal gave back are the next one's, and not given back again. */
TEST(Rcxts, AreGivenBackOnce)
{
	Pair pair;
	size_t all = world::parameter("max_rcxts");
	auto other = beside(pair);
	std::optional<Rcxts> rcxts(std::in_place, pair.a, 3);

	recover(pair.device_a);
	must(rcxts->take(1));
	{
		Rcxts greedy(*other, all - 1);

		/* It has room for one, and needs four. */
		EXPECT_EQ(rcxts->renew(), std::errc::no_space_on_device);
		EXPECT_EQ(owned(pair.a), 0u);
	}
	Rcxts whole(pair.a, all);
	rcxts.reset();
	EXPECT_EQ(owned(pair.a), all);
}

/* Operations go on when there are contexts again, and progress() says what is amiss. */
TEST(Rcxts, OperationsWaitForThem)
{
	Ends ends;
	pavo::Rdma here(ends.a, {.patience = std::chrono::milliseconds(2),
				 .most_patience = std::chrono::milliseconds(4),
				 .attempts = 5});
	pavo::Rdma there(ends.b);
	std::vector<uint32_t> lent(2);
	auto other = beside(ends);
	std::error_code error, result;
	int over = 0;

	must(there.lend(lent));
	pavo::Rdma::Peer peer =
		here.add({{node_b, ends.b.number()}, lent}, error);
	must(error);
	auto put = [&] {
		must(here.put(peer,
			      {.local = {ends.here.pvo()},
			       .remote = {ends.there.pvo()},
			       .length = 10'000},
			      [&](std::error_code now) {
				      result = now;
				      over++;
			      }));
	};
	auto run = [&](std::error_code &seen) {
		int before = over;

		return eventually([&] {
			std::error_code now;

			here.progress(now);
			there.progress();
			if (now)
				seen = now;
			return over > before;
		});
	};

	recover(ends.device_a);
	{
		Rcxts greedy(*other, world::parameter("max_rcxts"));

		put();
		ASSERT_TRUE(run(error));
		EXPECT_EQ(error, std::errc::no_space_on_device);
		EXPECT_EQ(result, std::errc::timed_out);
	}
	error.clear();
	put();
	ASSERT_TRUE(run(error));
	EXPECT_FALSE(error) << error.message();
	EXPECT_FALSE(result) << result.message();
	EXPECT_TRUE(ends.there.holds(1, 0, 10'000));
}

} // namespace
