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
	return window.lmt().value().rcxts_owned;
}

/* Another window of the first adapter. */
std::unique_ptr<pavo::Window> beside(const Pair &pair)
{
	pavo::WindowOptions options = {.gid_index = pair.address_a.index};

	return std::make_unique<pavo::Window>(
		pavo::Window::open(pair.job_a, options).value());
}

std::vector<uint32_t> copy(const Rcxts &rcxts)
{
	return {rcxts.numbers().begin(), rcxts.numbers().end()};
}

TEST(Rcxts, AreGivenBack)
{
	Pair pair;

	{
		Rcxts none = Rcxts::open(pair.a).value();
		Rcxts three = Rcxts::open(pair.a, 3).value();
		/* More than the kernel gives by one call. */
		Rcxts many =
			Rcxts::open(pair.a, 2 * PAVO_RCXTS_AT_ONCE + 1).value();

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
	Rcxts first = Rcxts::open(pair.a, 3).value();
	auto numbers = copy(first);

	static_assert(!std::is_copy_constructible_v<Rcxts>);
	static_assert(!std::is_copy_assignable_v<Rcxts>);
	{
		Rcxts second(std::move(first));
		Rcxts other = Rcxts::open(pair.b, 2).value();

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
		std::optional<Rcxts> here = Rcxts::open(ends.a, 1).value();
		std::optional<Rcxts> there = Rcxts::open(ends.b, 1).value();
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
	Rcxts rcxts = Rcxts::open(pair.a, 3).value();
	auto old = copy(rcxts);

	must(rcxts.renew());
	EXPECT_EQ(copy(rcxts), old) << "there was none";
	recover(pair.device_a);
	EXPECT_EQ(owned(pair.a), 0u);
	EXPECT_EQ(rcxts.cancel(),
		  pavo::Unexpected(std::errc::invalid_argument));
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
	std::optional<Rcxts> rcxts = Rcxts::open(pair.a, 3).value();
	auto other = beside(pair);

	recover(pair.device_a);
	{
		Rcxts greedy = Rcxts::open(*other, all - 2).value();

		EXPECT_EQ(world::refusal([&] {
				  Rcxts some = Rcxts::open(*other, 3).value();
			  }),
			  ENOSPC);
		EXPECT_EQ(greedy.take(3),
			  pavo::Unexpected(std::errc::no_space_on_device));
		EXPECT_EQ(greedy.size(), all - 2);
		EXPECT_EQ(owned(*other), all - 2);
		for (int i = 0; i < 2; i++)
			EXPECT_EQ(rcxts->renew(),
				  pavo::Unexpected(
					  std::errc::no_space_on_device));
		EXPECT_EQ(owned(pair.a), 0u);
		/* They are another's, who keeps them. */
		must(greedy.take(2));
		EXPECT_EQ(rcxts->renew(),
			  pavo::Unexpected(std::errc::no_space_on_device));
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
	std::optional<Rcxts> rcxts = Rcxts::open(pair.a, 3).value();

	recover(pair.device_a);
	must(rcxts->take(1));
	{
		Rcxts greedy = Rcxts::open(*other, all - 1).value();

		/* It has room for one, and needs four. */
		EXPECT_EQ(rcxts->renew(),
			  pavo::Unexpected(std::errc::no_space_on_device));
		EXPECT_EQ(owned(pair.a), 0u);
	}
	Rcxts whole = Rcxts::open(pair.a, all).value();
	rcxts.reset();
	EXPECT_EQ(owned(pair.a), all);
}

/* Operations go on when there are contexts again, and progress() says what is amiss. */
TEST(Rcxts, OperationsWaitForThem)
{
	Ends ends;
	pavo::Rdma here =
		pavo::Rdma::open(ends.a,
				 {.timeout = std::chrono::milliseconds(2),
				  .max_timeout = std::chrono::milliseconds(4),
				  .attempts = 5})
			.value();
	pavo::Rdma there = pavo::Rdma::open(ends.b).value();
	std::vector<uint32_t> taken(2);
	auto other = beside(ends);
	pavo::Result<void> seen, result;
	int over = 0;

	must(there.take_rcxts(taken));
	pavo::Rdma::Peer peer =
		must(here.add({{node_b, ends.b.number()}, taken}));
	auto put = [&] {
		must(here.put(peer,
			      {.local = {ends.here.pvo()},
			       .remote = {ends.there.pvo()},
			       .length = 10'000},
			      [&](const pavo::Result<void> &now) {
				      result = now;
				      over++;
			      }));
	};
	auto run = [&](pavo::Result<void> &seen) {
		int before = over;

		return eventually([&] {
			auto did = here.progress();

			(void)there.progress();
			if (!did.has_value())
				seen = pavo::Unexpected(did.error());
			return over > before;
		});
	};

	recover(ends.device_a);
	{
		Rcxts greedy =
			Rcxts::open(*other, world::parameter("max_rcxts"))
				.value();

		put();
		ASSERT_TRUE(run(seen));
		EXPECT_EQ(seen,
			  pavo::Unexpected(std::errc::no_space_on_device));
		/* It goes by the FIFOs meanwhile. */
		EXPECT_TRUE(result.has_value()) << result.error().message();
		EXPECT_TRUE(ends.there.holds(1, 0, 10'000));
		ends.there.fill(2);
	}
	seen = {};
	put();
	ASSERT_TRUE(run(seen));
	EXPECT_TRUE(seen.has_value()) << seen.error().message();
	EXPECT_TRUE(result.has_value()) << result.error().message();
	EXPECT_TRUE(ends.there.holds(1, 0, 10'000));
}

} // namespace
