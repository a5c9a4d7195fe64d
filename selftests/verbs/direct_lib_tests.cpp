// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Direct windows by the C++ library: the class, its waits with a limit of time, its free list.
 */
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <pavo/direct_post.hpp>

#include "../common/pattern.h"
#include "direct.h"
#include "manager.h"
#include "tap.h"

using namespace pv;
using pavo::Armed, pavo::ArmOptions, pavo::DirectRegister, pavo::DirectWindow,
	pavo::Direction, pavo::NoBuffer;
using namespace std::chrono_literals;

namespace {

DirectWindow open_window(Env &env, const pavo::DirectOptions &options = {})
{
	auto window = DirectWindow::open(local(env.a).raw_pd(0), options);

	if (window == pavo::Unexpected(std::errc::operation_not_supported))
		throw Skip(window.error().message());
	return std::move(window).value();
}

ArmOptions waiting(NoBuffer no_buffer, std::chrono::milliseconds timeout)
{
	return {.direction = Direction::write,
		.no_buffer = no_buffer,
		.whole = false,
		.timeout = timeout};
}

ArmOptions reading(bool whole)
{
	return {.direction = Direction::read,
		.no_buffer = NoBuffer::fail,
		.whole = whole,
		.timeout = pavo::for_ever};
}

/* Bytes of a pattern, as the class takes them. */
std::vector<std::byte> direct_bytes(uint64_t seed, size_t length)
{
	return common::pattern<>(seed, length);
}

} // namespace

PV_TEST_LOCAL("direct.lib_open",
	      "a window has the numbers that were asked for, and is moved as a "
	      "whole; bad numbers are refused with advice")
{
	DirectWindow window = open_window(env, {.base = 0x12345678,
						.ranges = 32,
						.range_size = 4096,
						.buffers = 5});

	REQUIRE_EQ(window.base(), 0x12345678u, "base");
	REQUIRE_EQ(window.length(), 0x20000u, "length");
	REQUIRE_EQ(window.address(2, 0x88), 0x12347700u, "address");
	REQUIRE(window.shape().find(0x12347700) == (pavo::DirectPlace{2, 0x88}),
		"place");
	REQUIRE_EQ(window.buffers(), 5u, "buffers");
	REQUIRE_EQ(window.sge(2, 100).lkey, window.lkey(), "key");
	DirectWindow second = std::move(window);

	REQUIRE_EQ(window.fd(), -1, "nothing is left");
	second.arm(1, 10).value();
	REQUIRE(second.registers(1).bus_valid, "armed");
	second = open_window(env);
	REQUIRE(!second.registers(1).bus_valid, "another one");
	REQUIRE_EQ(second.base(),
		   reinterpret_cast<uintptr_t>(second.memory(0).data()),
		   "its own addresses");
	REQUIRE_EQ(second.range_size(), uint32_t(sysconf(_SC_PAGESIZE)),
		   "a page");

	auto refused = DirectWindow::open(
		local(env.a).raw_pd(0),
		{.base = 0, .ranges = 32, .range_size = 4097, .buffers = 1});
	REQUIRE_EQ(refused.error().number(), EINVAL, "range_size");
	REQUIRE(refused.error().message().find("page size") !=
			std::string::npos,
		refused.error().message());
}

PV_TEST_LOCAL("direct.lib_write",
	      "bytes go in by write() and by memory(), and leave")
{
	Link link = connect(env);
	DirectWindow window = open_window(env);
	Mr at_b = must_reg(env.b, {8192}, 1);
	uint64_t seed = env.seed();
	auto bytes = direct_bytes(seed, 4096);
	uint32_t range = window.take().value();

	window.arm(range, 4096).value();
	post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(range, 4096), 1,
		    {at_b});
	window.write(range, 0, std::span(bytes).first(1000)).value();
	memcpy(window.memory(range).data() + 1000, bytes.data() + 1000, 3096);
	window.commit(range, 3096).value();
	expect_send(env, link.a, 1, "write");
	must_match(env.b, at_b, 0, 4096, seed, 0, "written");
	REQUIRE(window.give(range), "it was taken");
	REQUIRE(!window.give(range), "it is free");
	REQUIRE_EQ(window.free_ranges(), 32u, "all are");

	/* The same by one call. */
	ibv_sge sge = window.sge(0, 100);
	ibv_send_wr wr = {};

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr_id = 2;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = at_b.address + 4096;
	wr.wr.rdma.rkey = at_b.rkey;
	REQUIRE(pavo::post_direct(window, 0, 100,
				  local(env.a).raw_qp(link.a.qp.id), wr)
				.value() == Armed::armed,
		"armed");
	window.write(0, 0, std::span(bytes).first(100)).value();
	expect_send(env, link.a, 2, "write");
	must_match(env.b, at_b, 4096, 100, seed, 0, "written");
}

PV_TEST_LOCAL("direct.lib_read",
	      "read() waits for bytes, also while another range has some; "
	      "memory() shows them after wait_readable()")
{
	Link link = connect(env), other = connect(env);
	DirectWindow window = open_window(env);
	uint64_t seed = env.seed();
	Mr at_b = must_reg(env.b, {8192}, seed);
	std::vector<std::byte> bytes(4096);

	/* Range 1 has bytes, which its user does not take. */
	window.arm(1, 10, reading(false)).value();
	post_direct(other.a, IBV_WR_RDMA_READ, window.sge(1, 10), 1, {at_b});
	window.wait_readable(1).value();
	window.arm(0, 4096, reading(true)).value();
	REQUIRE(window.read(0, 0, bytes, 30ms) ==
			pavo::Unexpected(std::errc::timed_out),
		"nothing was asked for");
	REQUIRE(window.wait_readable(0, 30ms) ==
			pavo::Unexpected(std::errc::timed_out),
		"nothing was asked for");
	{
		std::jthread reader([&] {
			auto done = window.read(0, 0, bytes);

			bytes.resize(done.has_value() ? done.value() : 0);
		});

		post_direct(link.a, IBV_WR_RDMA_READ, window.sge(0, 4096), 2,
			    {at_b});
	}
	REQUIRE_EQ(bytes.size(), 4096u, "all of it");
	REQUIRE(common::holds(bytes, seed), "bytes");
	expect_send(env, link.a, 2, "read");
	REQUIRE(common::holds(window.memory(1).first(10), seed), "range 1");
	REQUIRE(window.registers(1).direction == Direction::read, "direction");
	window.drain(1, 10).value();
	expect_send(env, other.a, 1, "read");
	REQUIRE(window.read(1, 0, bytes) ==
			pavo::Unexpected(std::errc::bad_file_descriptor),
		"not armed");
	REQUIRE(window.wait_readable(1) ==
			pavo::Unexpected(std::errc::bad_file_descriptor),
		"not armed");
	REQUIRE(window.read(32, 0, bytes) ==
			pavo::Unexpected(std::errc::invalid_argument),
		"no such range");
}

PV_TEST_LOCAL("direct.lib_pool",
	      "arm() fails, waits for a time, waits until there is a buffer, or "
	      "says that the caller has to do without, as it was told")
{
	DirectWindow window = open_window(
		env,
		{.base = 0, .ranges = 4, .range_size = 4096, .buffers = 1});

	window.arm(0, 10).value();
	REQUIRE(window.arm(1, 10) ==
			pavo::Unexpected(
				std::errc::resource_unavailable_try_again),
		"fail");
	REQUIRE(window.arm(1, 10, waiting(NoBuffer::wait, 30ms)) ==
			pavo::Unexpected(std::errc::timed_out),
		"wait for a time");
	REQUIRE(window.arm(1, 10, waiting(NoBuffer::fall_back, 30ms)).value() ==
			Armed::no_buffer,
		"fall back");
	REQUIRE(!window.registers(1).buffer, "not armed");
	bool armed = false;
	{
		std::jthread waiter([&] {
			armed = window.arm(1, 10,
					   waiting(NoBuffer::wait,
						   env.patience()))
					.has_value();
		});

		window.disarm(0).value();
	}
	REQUIRE(armed, "wait");
	REQUIRE(window.registers(1).buffer == 0u, "it has the buffer");
	REQUIRE(window.arm(1, 10) ==
			pavo::Unexpected(std::errc::device_or_resource_busy),
		"armed already");
	window.disarm(1).value();
	REQUIRE(window.disarm(1) ==
			pavo::Unexpected(std::errc::bad_file_descriptor),
		"not armed");
}

PV_TEST_LOCAL("direct.lib_export",
	      "export_buffer() gives a dma-buf, which is closed by its owner")
{
	DirectWindow window = open_window(env);

	REQUIRE(window.export_buffer(0) ==
			pavo::Unexpected(std::errc::bad_file_descriptor),
		"not armed");
	window.arm(0, 4096).value();
	auto exported = window.export_buffer(0);

	if (exported == pavo::Unexpected(std::errc::operation_not_supported))
		throw Skip("the kernel has no dma-buf");
	pavo::DirectBuffer buffer = std::move(exported).value();

	REQUIRE(buffer.fd() >= 0, "a file");
	pavo::DirectBuffer owner = std::move(buffer);

	REQUIRE_EQ(buffer.fd(), -1, "it has another owner");
}
