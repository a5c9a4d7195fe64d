// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * region_end_tests.cpp - operations that run over the end of a region, in tables of each
 * page size: at home the window is dead, abroad the packet is dropped and its sender is notified
 * (sources.md#windows-protection). The bytes before the packet that
 * crosses the end are moved, none of that packet is.
 */
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>

#include "../translate/large_page.h"
#include "adapter.h"

using namespace windows;
using world::LargePage;
using world::Memory;

namespace {

constexpr size_t small_region = 4096, medium_region = 65536,
		 large_region = LargePage::bytes;
/* Two packets before the end, and a third across it. */
constexpr uint32_t packet = 1380, before_end = 2 * packet + 700,
		   length = 5 * packet;

/* Memory that is mapped in pages of that size; what is behind is not mapped. */
class Pages {
public:
	Pages(pavo::Job &job, size_t size)
	{
		std::span<std::byte> first;

		if (size == large_region) {
			large_ = std::make_unique<LargePage>();
			all_ = first = large_->all();
		} else if (size == medium_region) {
			huge_ = std::make_unique<world::HugePages>(1);
			memory_ = std::make_unique<Memory>(size_t(2) << 20,
							   MAP_HUGETLB);
			all_ = memory_->part(0, 2 * medium_region);
			first = all_.first(medium_region);
		} else {
			memory_ = std::make_unique<Memory>(2 * small_region);
			all_ = memory_->all();
			first = all_.first(small_region);
		}
		mapping_ = std::make_unique<pavo::Mapping>(
			pavo::Mapping::open(job, first).value());
		EXPECT_EQ(mapping_->page_size(), size);
		end_ = first.size();
	}

	void fill(uint32_t number) { common::fill(all_, number); }

	/* All from there on, behind the region, too. */
	bool holds_from(uint32_t number, size_t from) const
	{
		return common::holds(all_.subspan(from), number, from);
	}

	/* So many bytes before the end of the region. */
	uint64_t pvo_before_end(size_t bytes) const
	{
		return mapping_->pvo().value + end_ - bytes;
	}
	std::span<std::byte> before_its_end(size_t bytes) const
	{
		return all_.subspan(end_ - bytes);
	}
	size_t end() const { return end_; }

private:
	/* Given back in the end, when no region has them. */
	std::unique_ptr<world::HugePages> huge_;
	std::unique_ptr<LargePage> large_;
	std::unique_ptr<Memory> memory_;
	std::span<std::byte> all_;
	std::unique_ptr<pavo::Mapping> mapping_;
	size_t end_ = 0;
};

struct RegionEnd : testing::TestWithParam<size_t> {
	void SetUp() override
	{
		if (GetParam() != small_region && !world::has_huge_pages())
			GTEST_SKIP() << "a kernel without huge pages";
		pages = std::make_unique<Pages>(ends.job_b, GetParam());
		pages->fill(4);
	}

	/* Two packets' bytes came to @to, and nothing behind them. */
	void expect_two_packets(std::span<const std::byte> from,
				std::span<const std::byte> to)
	{
		EXPECT_TRUE(std::ranges::equal(from.first(2 * packet),
					       to.first(2 * packet)));
	}

	Ends ends{1 << 16};
	std::unique_ptr<Pages> pages;
};

TEST_P(RegionEnd, AWriteToItIsDroppedThereAndTold)
{
	auto request = ends.request(1, length);
	Moved refused(ends.device_b, "rx_drop_rdma_pvo");
	Moved placed(ends.device_b, "rx_rdma_packets");

	request.remote_pvo = pages->pvo_before_end(before_end);
	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	auto done = ended(ends.a);
	EXPECT_EQ(done.tid, 1u);
	EXPECT_EQ(done.status, pavo::PvoResult::key);
	EXPECT_EQ(refused.by(), 1u);
	EXPECT_EQ(placed.by(), 2u);
	expect_two_packets(ends.here.memory.all(),
			   pages->before_its_end(before_end));
	EXPECT_TRUE(pages->holds_from(4, pages->end() - 700));
	/* Up to the end it is good, and both go on. */
	request = ends.request(2, before_end);
	request.remote_pvo = pages->pvo_before_end(before_end);
	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	EXPECT_EQ(ended(ends.a).status, pavo::PvoResult::ok);
	EXPECT_TRUE(std::ranges::equal(
		ends.here.memory.part(0, before_end),
		pages->before_its_end(before_end).first(before_end)));
	EXPECT_TRUE(pages->holds_from(4, pages->end()));
	EXPECT_EQ(ends.a.lmt().value().state, pavo::WindowState::valid);
	EXPECT_EQ(ends.b.lmt().value().state, pavo::WindowState::valid);
}

TEST_P(RegionEnd, AReadOfItEndsThereAndIsTold)
{
	auto request = ends.request(1, length, pavo::rdma_flag::notify_target);
	Moved refused(ends.device_b, "rx_drop_rdma_pvo");
	Moved placed(ends.device_a, "rx_rdma_packets");

	request.remote_pvo = pages->pvo_before_end(before_end);
	ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
	auto done = ended(ends.a);
	EXPECT_EQ(done.tid, 1u);
	EXPECT_EQ(done.status, pavo::PvoResult::key);
	EXPECT_EQ(refused.by(), 1u);
	EXPECT_EQ(placed.by(), 2u);
	expect_two_packets(pages->before_its_end(before_end),
			   ends.here.memory.all());
	EXPECT_TRUE(ends.here.holds(1, 2 * packet, length - 2 * packet));
	EXPECT_EQ(ends.a.lmt().value().state, pavo::WindowState::valid);
	EXPECT_EQ(ends.b.lmt().value().state, pavo::WindowState::valid);
}

/* Both are of one job of one machine: the same memory serves at home. */
TEST_P(RegionEnd, AWriteFromItEndsTheWindow)
{
	auto request = ends.request(1, length);
	Moved sent(ends.device_a, "tx_rdma_packets");

	request.local_pvo = pages->pvo_before_end(before_end);
	EXPECT_EQ(ends.ask(true, request), pavo::FrameState::bad_pvo);
	EXPECT_EQ(ends.a.lmt().value().state, pavo::WindowState::dead);
	EXPECT_EQ(ends.a.lmt().value().fatal_rcxt, ends.rcxt_a);
	EXPECT_EQ(sent.by(), 2u);
	ASSERT_TRUE(eventually([&] {
		return std::ranges::equal(
			pages->before_its_end(before_end).first(2 * packet),
			ends.there.memory.part(0, 2 * packet));
	}));
	EXPECT_TRUE(ends.there.holds(2, 2 * packet, length - 2 * packet));
	EXPECT_EQ(ends.b.lmt().value().state, pavo::WindowState::valid);
}

/* Of a read that is seen before anything is asked for. */
TEST_P(RegionEnd, AReadBehindItEndsTheWindow)
{
	auto request = ends.request(1, length, pavo::rdma_flag::notify_target);
	Moved sent(ends.device_b, "tx_rdma_packets");

	request.local_pvo = pages->pvo_before_end(before_end);
	EXPECT_EQ(ends.ask(false, request), pavo::FrameState::bad_pvo);
	EXPECT_EQ(ends.a.lmt().value().state, pavo::WindowState::dead);
	EXPECT_EQ(ends.a.lmt().value().fatal_rcxt, ends.rcxt_a);
	EXPECT_TRUE(quiet(ends.a));
	EXPECT_EQ(sent.by(), 0u);
	EXPECT_EQ(ends.b.lmt().value().state, pavo::WindowState::valid);
}

INSTANTIATE_TEST_SUITE_P(Of, RegionEnd,
			 testing::Values(small_region, medium_region,
					 large_region),
			 [](const auto &info) {
				 return info.param == small_region ?
						"4KiBPages" :
					info.param == medium_region ?
						"64KiBPages" :
						"16MiBPages";
			 });

} // namespace
