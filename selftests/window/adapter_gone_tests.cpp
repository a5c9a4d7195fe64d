// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * adapter_gone_tests.cpp - the adapter of a window is taken away: a process that asks gets an error
 * so (EIO), in both languages, and all can be closed. On an adapter of the second wire.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include <pavo/handler.hpp>
#include <pavo/pavo_window.h>

#include "both.h"
#include "second_wire.h"

using namespace windows;

namespace {

constexpr size_t mapped_size = 1 << 16;

/* Of an operation to no peer: some milliseconds until it is given up. */
const pavo::RdmaOptions hasty_options{
	.timeout = std::chrono::microseconds(2000),
	.max_timeout = std::chrono::microseconds(2000),
	.attempts = 6};
const pavo_rdma_options hasty_in_c{.timeout = 2000,
				   .max_timeout = 2000,
				   .attempts = 6,
				   .piece = 0,
				   .half_piece = 0};

/* Is it nothing but zeroes? */
template <class T> bool nothing(const T &value)
{
	const T zero{};

	return !memcmp(&value, &zero, sizeof(value));
}

/* The second wire is there for each test, and its adapters. */
struct AdapterGone : testing::Test {
	void SetUp() override
	{
		wire("make");
		adapter_is_active("wc0");
		adapter_is_active("wd0");
	}

	void TearDown() override
	{
		wire("mend");
		wire("unmake");
	}

	/* wc0 goes away under the processes that use it. */
	static void take_away() { wire("delete wc0"); }
};

TEST_F(AdapterGone, IsReportedByWindowsAndJobs)
{
	PathEnd end("wc0", node_a), other("wd0", node_b);
	world::Memory memory(mapped_size);
	pavo::Mapping mapping =
		pavo::Mapping::open(end.job, memory.all()).value();
	pavo::Window &window = *end.window;
	uint32_t rcxt = 0;

	must(window.take_rcxts({&rcxt, 1}));
	EXPECT_EQ(window.lmt().value().state, pavo::WindowState::valid);
	EXPECT_EQ(end.job.info().value().id, world::job_id);
	EXPECT_EQ(end.job.check(mapping.pvo(), 1).value(), pavo::PvoResult::ok);

	take_away();
	EXPECT_EQ(window.lmt(), pavo::Unexpected(std::errc::io_error));
	EXPECT_EQ(end.job.info(), pavo::Unexpected(std::errc::io_error));
	EXPECT_EQ(end.job.check(mapping.pvo(), 1),
		  pavo::Unexpected(std::errc::io_error));

	for (const pavo::Result<void> &result :
	     {window.take_rcxts({&rcxt, 1}), window.return_rcxts({&rcxt, 1}),
	      window.cancel({&rcxt, 1}), window.recv_threshold(1),
	      window.set_node(node_b, other.address.gid), window.disable(),
	      window.send({node_b, other.window->number()}, pattern(1, 10))})
		EXPECT_EQ(result, pavo::Unexpected(std::errc::io_error))
			<< result.error_or({}).message();
	EXPECT_EQ(window.snapshot(), pavo::Unexpected(std::errc::io_error));
	EXPECT_EQ(world::refusal([&] {
			  pavo::Mapping another =
				  pavo::Mapping::open(end.job, memory.all())
					  .value();
		  }),
		  EIO);
	EXPECT_EQ(world::refusal([&] {
			  pavo::Window another =
				  pavo::Window::open(end.job).value();
		  }),
		  EIO);
	EXPECT_EQ(world::refusal([&] {
			  pavo::Handler handler =
				  pavo::Handler::open(window).value();
		  }),
		  EIO);
	EXPECT_EQ(world::refusal([] {
			  pavo::Device again =
				  pavo::Device::open("wc0").value();
		  }),
		  ENODEV);
	/* Others of the job are well. */
	EXPECT_EQ(other.window->lmt().value().state, pavo::WindowState::valid);
	EXPECT_EQ(other.job.info().value().id, world::job_id);
}

/* A window with something to send hears of it, and operations end. */
TEST_F(AdapterGone, IsReportedByRdma)
{
	if (!world::has_two_cpus())
		GTEST_SKIP() << "its threads do not meet on one CPU";

	PathEnd end("wc0", node_a), other("wd0", node_b);
	world::Memory memory(mapped_size), there(mapped_size);
	pavo::Mapping mapping =
		pavo::Mapping::open(end.job, memory.all()).value();
	pavo::Mapping mapping_there =
		pavo::Mapping::open(other.job, there.all()).value();
	pavo::Rdma rdma = pavo::Rdma::open(*end.window, hasty_options).value(),
		   peer = pavo::Rdma::open(*other.window).value();
	pavo::Completion well, put, got;
	pavo::RdmaMove move{.local = mapping.pvo(),
			    .remote = mapping_there.pvo(),
			    .length = mapped_size};
	pavo::Error error, late;

	must(end.window->set_node(node_b, other.address.gid));
	must(other.window->set_node(node_a, end.address.gid));
	auto to = introduce(rdma, peer, node_b, other.window->number(), 2);
	fill(memory, 0, mapped_size, 1);
	must(rdma.put(to, move, well));
	ASSERT_TRUE(eventually([&] {
		error = rdma.progress().error_or({});
		late = peer.progress().error_or({});
		return well.over();
	}));
	EXPECT_FALSE(error || late || well.result().error_or({}));
	EXPECT_TRUE(equal(memory, 0, there, 0, mapped_size));

	take_away();
	must(rdma.put(to, move, put));
	must(rdma.get(to, move, got));
	ASSERT_TRUE(eventually([&] {
		error = rdma.progress().error_or({});
		return bool(error);
	}));
	EXPECT_EQ(error, std::errc::io_error);
	ASSERT_TRUE(eventually([&] {
		(void)rdma.progress();
		return put.over() && got.over();
	}));
	EXPECT_EQ(put.result(), pavo::Unexpected(std::errc::timed_out));
	EXPECT_EQ(got.result(), pavo::Unexpected(std::errc::timed_out));
	EXPECT_EQ(rdma.send({node_b, other.window->number()}, pattern(1, 10)),
		  pavo::Unexpected(std::errc::io_error));
	uint32_t context;
	EXPECT_EQ(rdma.take_rcxts({&context, 1}),
		  pavo::Unexpected(std::errc::io_error));
	EXPECT_EQ(world::refusal([&] {
			  pavo::Rdma another =
				  pavo::Rdma::open(*end.window).value();
		  }),
		  EIO);
	EXPECT_TRUE(peer.progress().has_value());
}

/* Objects of pavo.h on wc0, with a peer that does not matter. */
struct InC {
	InC()
	{
		PathEnd other("wd0", node_b);
		PathEnd here("wc0", node_a);
		const uint32_t nobodys = 1;

		device = pavo_device_open("wc0");
		job = pavo_job_open(device, world::job_id, world::job_key);
		pavo_window_options options = {.gid_index = here.address.index};
		window = pavo_window_open(job, &options);
		raw = pavo_window_open(job, &options);
		mapping = pavo_mapping_open(job, memory.at(), mapped_size);
		rdma = pavo_rdma_open(window, &hasty_in_c, nullptr, nullptr,
				      nullptr);
		common::must_return_0(
			pavo_window_set_node(window, node_b,
					     other.address.gid.data()),
			"a route");
		peer = pavo_rdma_add(rdma, node_b, 1, &nobodys, 1);
	}

	~InC()
	{
		pavo_rdma_close(rdma);
		pavo_mapping_close(mapping);
		pavo_window_close(raw);
		pavo_window_close(window);
		pavo_job_close(job);
		pavo_device_close(device);
	}

	world::Memory memory{mapped_size};
	pavo_device *device;
	pavo_job *job;
	pavo_window *window, *raw;
	pavo_mapping *mapping;
	pavo_rdma *rdma;
	int peer;
};

TEST_F(AdapterGone, IsReportedInCToo)
{
	InC c;
	uint64_t pvo = pavo_mapping_pvo(c.mapping);
	pavo_completion completion{};
	pavo_job_info info;
	pavo_lmt lmt;
	int said = 0;

	ASSERT_GE(c.peer, 0);
	ASSERT_FALSE(pavo_window_lmt(c.raw, &lmt));
	EXPECT_EQ(lmt.state, 1u);
	ASSERT_FALSE(pavo_job_info_of(c.job, &info));
	EXPECT_EQ(info.id, world::job_id);
	EXPECT_EQ(pavo_job_check(c.job, pvo, 1), PAVO_PVO_OK);
	EXPECT_EQ(pavo_rdma_progress(c.rdma), 0);

	take_away();
	EXPECT_EQ(pavo_window_lmt(c.raw, &lmt), -EIO);
	EXPECT_TRUE(nothing(lmt));
	EXPECT_EQ(pavo_job_info_of(c.job, &info), -EIO);
	EXPECT_TRUE(nothing(info));
	EXPECT_EQ(pavo_job_check(c.job, pvo, 1), -EIO);
	EXPECT_EQ(pavo_window_event_after(c.raw, 1, 0), -EIO);
	EXPECT_EQ(pavo_window_snapshot(c.raw), -EIO);
	errno = 0;
	EXPECT_FALSE(pavo_mapping_open(c.job, c.memory.at(), mapped_size));
	EXPECT_EQ(errno, EIO);
	errno = 0;
	EXPECT_FALSE(pavo_handler_open(c.raw));
	EXPECT_EQ(errno, EIO);

	pavo_move move = {.local_pvo = pvo, .bytes = 100};
	ASSERT_FALSE(pavo_rdma_put(c.rdma, c.peer, &move, pavo_complete,
				   &completion));
	ASSERT_TRUE(eventually([&] {
		said = pavo_rdma_progress(c.rdma);
		return said < 0;
	}));
	EXPECT_EQ(said, -EIO);
	ASSERT_TRUE(eventually([&] {
		pavo_rdma_progress(c.rdma);
		return completion.over;
	}));
	EXPECT_EQ(completion.error, -ETIMEDOUT);
}

} // namespace
