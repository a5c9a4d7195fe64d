// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Direct windows, from the link to a device: each response of an RDMA read is handed over at the
 * beginning of a range, and the next one when it is drained. Claims are those of
 * sources.md#direct.
 */
#include <cerrno>
#include <cstring>
#include <thread>

#include <poll.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "direct.h"
#include "manager.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

/* A link with a window at A and a pattern at B, as large as it. */
struct Reading {
	explicit Reading(Env &env, const LinkSpec &spec = {},
			 const pavodv_direct_attr &attr = {0, 32, direct_size,
							   32})
		: env(env), link(connect(env, spec)), window(env.a, attr),
		  seed(env.seed()),
		  at_b(must_reg(env.b, {window.plain.length}, seed))
	{
	}

	/* A read of the first bytes of B's memory to a range. */
	void post(uint32_t range, uint32_t length)
	{
		post_direct(link.a, IBV_WR_RDMA_READ, window.sge(range, length),
			    range, {at_b});
	}

	void begin(uint32_t range, uint32_t length, uint32_t flags = 0)
	{
		window.arm_read(range, length, flags);
		post(range, length);
	}

	void expect(uint32_t range, const char *what)
	{
		Wc wc = expect_send(env, link.a, range, what);

		REQUIRE_EQ(wc.opcode, IBV_WC_RDMA_READ, what);
	}

	/* Those bytes of the mapping are B's, from that position on. */
	void must_see(uint32_t range, uint32_t at, uint32_t length,
		      uint32_t position, const char *what)
	{
		int64_t bad = pattern_verify(window.memory(range, at), length,
					     seed, position);

		REQUIRE(bad < 0, what, ": byte ", position + bad);
	}

	Env &env;
	Link link;
	Direct window;
	uint64_t seed;
	Mr at_b;
};

} // namespace

PV_TEST_LOCAL("direct.read_file",
	      "pread() takes the bytes that a read brings, and the request "
	      "completes with the last one (claims 18, 20, 21, 24-26)")
{
	Reading r(env);

	for (uint32_t length : {1u, 2u, 3u, 255u, 1000u, 4095u, 4096u}) {
		r.begin(3, length);
		r.window.take(env, 3, 0, length, r.seed);
		r.expect(3, "read");
	}
	/* Not before the last one. */
	r.begin(3, 100);
	r.window.take(env, 3, 0, 99, r.seed);
	none_sent(r.link.a, 50, "before the last byte");
	r.window.take(env, 3, 99, 1, r.seed);
	r.expect(3, "read");
	r.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.read_mmap",
	      "loads see what a read brings; it completes when all is told of")
{
	Reading r(env);

	for (uint32_t length : {1u, 100u, 4096u}) {
		r.begin(30, length);
		r.window.wait_valid(env, 30, {1, 0}, "response");
		r.must_see(30, 0, length, 0, "response");
		if (length > 1)
			r.window.count(30, length - 1);
		none_sent(r.link.a, 5, "before the last byte");
		r.window.count(30, 1);
		r.expect(30, "read");
		REQUIRE(raises_sigbus([&] {
				static_cast<void>(
					*static_cast<volatile uint8_t *>(
						r.window.memory(30)));
			}),
			"after it");
	}
	r.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.read_store",
	      "a store to a response raises SIGBUS; one behind a load may "
	      "not, and changes neither the peer's bytes nor the next response")
{
	Reading r(env);
	auto store = [&] {
		*static_cast<volatile uint8_t *>(r.window.memory(3, 5)) =
			uint8_t(~pattern_byte(r.seed, 5));
	};

	for (int round = 0; round < 3; round++) {
		r.begin(3, 100);
		r.window.wait_valid(env, 3, {1, 0}, "response");
		REQUIRE(raises_sigbus(store), "a store");
		r.must_see(3, 0, 100, 0, "response");
		/* One page table has no way to let a device read, and nothing else. */
		raises_sigbus(store);
		r.window.count(3, 100);
		r.expect(3, "read");
		REQUIRE(raises_sigbus(store), "after it");
		must_match(env.b, r.at_b, 0, 4096, r.seed, 0, "the peer's");
	}
	r.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.read_registers",
	      "a read goes (0,1), (1,0), (0,0), with the length of the "
	      "response, and the same for the next one (claims 19, 20, 22)")
{
	Reading r(env, {.mtu = 256});

	r.window.arm_read(6, 300);
	pavo_direct_register reg = r.window.reg(6);

	REQUIRE(r.window.valid(6) == Valid(0, 1), "armed");
	REQUIRE_EQ(reg.type, PAVO_DIRECT_TYPE_READ, "type");
	REQUIRE_EQ(reg.total, 300u, "total");
	REQUIRE_EQ(reg.uses, 1u, "uses");
	r.post(6, 300);
	r.window.wait_valid(env, 6, {1, 0}, "first response");
	reg = r.window.reg(6);
	REQUIRE_EQ(reg.response, 256u, "response");
	REQUIRE_EQ(reg.drained, 0u, "drained");
	REQUIRE_EQ(reg.done, 0u, "done");
	REQUIRE(reg.buffer < 32, "buffer");
	r.window.take(env, 6, 0, 255, r.seed);
	REQUIRE(r.window.valid(6) == Valid(1, 0), "a byte is left");
	REQUIRE_EQ(r.window.reg(6).drained, 255u, "drained");
	r.window.take(env, 6, 255, 1, r.seed);
	r.window.wait_valid(env, 6, {1, 0}, "second response");
	reg = r.window.reg(6);
	REQUIRE_EQ(reg.response, 44u, "response");
	REQUIRE_EQ(reg.drained, 0u, "drained");
	REQUIRE_EQ(reg.done, 256u, "done");
	r.window.take(env, 6, 256, 44, r.seed);
	r.expect(6, "read");
	REQUIRE(r.window.valid(6) == Valid(0, 0), "over");
	REQUIRE_EQ(r.window.reg(6).buffer, PAVO_DIRECT_NO_BUFFER, "no buffer");
}

PV_TEST_LOCAL("direct.mailbox",
	      "4096 bytes at an MTU of 256 are 16 deliveries, each at the "
	      "beginning of the range and none before the last was drained")
{
	Reading r(env, {.mtu = 256});

	r.begin(2, 4096);
	for (uint32_t i = 0; i < 16; i++) {
		std::vector<uint8_t> bytes;

		r.window.wait_valid(env, 2, {1, 0}, "response");
		REQUIRE_EQ(r.window.reg(2).response, 256u, "response ", i);
		REQUIRE_EQ(r.window.reg(2).done, 256 * i, "done");
		r.must_see(2, 0, 256, 256 * i, "at the beginning");
		/* The next one is not there, and those before are gone. */
		if (i < 15)
			REQUIRE_EQ(r.window.try_take(2, 256 * i + 256, 1,
						     &bytes),
				   -EAGAIN, "the next one");
		if (i)
			REQUIRE_EQ(r.window.try_take(2, 256 * i - 1, 1, &bytes),
				   -ENODATA, "the one before");
		/* By turns of the two ways. */
		if (i % 2)
			r.window.count(2, 256);
		else
			REQUIRE_EQ(r.window.take(env, 2, 256 * i, 256, r.seed),
				   1u, "one delivery");
	}
	r.expect(2, "read");
	/* A process that takes as much as there is gets as many pieces. */
	r.begin(2, 4096);
	REQUIRE_EQ(r.window.take(env, 2, 0, 4096, r.seed), 16u, "deliveries");
	r.expect(2, "read");
	r.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.whole",
	      "with PAVO_DIRECT_WHOLE all responses lie in their places, and "
	      "are handed over at once")
{
	for (int mtu : {256, 1024, 4096}) {
		Reading r(env, {.mtu = mtu});

		for (uint32_t length : {1u, 256u, 257u, 4095u, 4096u}) {
			r.begin(1, length, PAVO_DIRECT_WHOLE);
			r.window.wait_valid(env, 1, {1, 0}, "all of it");
			REQUIRE_EQ(r.window.reg(1).response, length,
				   "response");
			r.must_see(1, 0, length, 0, "in their places");
			r.window.count(1, length);
			r.expect(1, "read");
			r.begin(1, length, PAVO_DIRECT_WHOLE);
			REQUIRE_EQ(r.window.take(env, 1, 0, length, r.seed), 1u,
				   "one delivery");
			r.expect(1, "read");
		}
		r.window.must_be_whole(env);
	}
}

PV_TEST_LOCAL("direct.read_early",
	      "a read of bytes that are not there is told to try again, poll() "
	      "tells when they are, and a process that waits is woken "
	      "(claim 27)")
{
	Reading r(env);
	std::vector<uint8_t> bytes;

	r.window.arm_read(0, 100);
	REQUIRE_EQ(r.window.try_take(0, 0, 100, &bytes), -EAGAIN, "not asked");
	REQUIRE(!(r.window.events() & POLLIN), "nothing to read");
	r.post(0, 100);
	pollfd look = {r.window.plain.fd, POLLIN, 0};

	REQUIRE_EQ(poll(&look, 1, int(env.options.patience_ms)), 1, "poll");
	REQUIRE(look.revents & POLLIN, "POLLIN");
	REQUIRE_EQ(r.window.try_take(0, 0, 100, &bytes), 100, "all of it");
	REQUIRE(pattern_verify(bytes.data(), 100, r.seed, 0) < 0, "bytes");
	r.expect(0, "read");
	REQUIRE(!(r.window.events() & POLLIN), "nothing to read");

	/* A process that waits in pread(), from before the read is posted. */
	r.window.set_blocking(true);
	r.window.arm_read(0, 100);
	ssize_t done = 0;
	{
		std::jthread waiter(
			[&] { done = r.window.try_take(0, 0, 100, &bytes); });

		r.post(0, 100);
	}
	REQUIRE_EQ(done, 100, "pread");
	REQUIRE(pattern_verify(bytes.data(), 100, r.seed, 0) < 0, "bytes");
	r.expect(0, "read");
}

PV_TEST_LOCAL("direct.read_waits_end",
	      "a process that waits in pread() is told when the range is given "
	      "up, and when the window is closed")
{
	Direct window(env.a);
	std::vector<uint8_t> bytes;
	ssize_t done = 0;

	window.set_blocking(true);
	window.arm_read(0, 100);
	{
		std::jthread waiter(
			[&] { done = window.try_take(0, 0, 100, &bytes); });

		window.disarm(0);
	}
	REQUIRE_EQ(done, -EBADF, "given up");
	window.arm_read(0, 100);
	int fd = dup(window.plain.fd);
	char byte;

	{
		std::jthread waiter([&] {
			done = pread(fd, &byte, 1, 0) < 0 ? -errno : 0;
		});

		window.close();
	}
	REQUIRE_EQ(done, -EIO, "closed");
	pollfd look = {fd, POLLIN, 0};

	REQUIRE_EQ(poll(&look, 1, 0), 1, "poll");
	REQUIRE(look.revents & POLLHUP, "POLLHUP");
	REQUIRE_EQ(pwrite(fd, &byte, 1, 0), -1, "pwrite");
	REQUIRE_EQ(errno, EIO, "pwrite");
	::close(fd);
}

PV_TEST_LOCAL("direct.two_readers",
	      "two readers take halves of one response (claim 28)")
{
	Reading r(env);

	for (int round = 0; round < 50; round++) {
		std::vector<uint8_t> first;
		ssize_t done = 0;
		int err = -1;
		int64_t bad = -1;

		r.begin(4, 4096);
		r.window.wait_valid(env, 4, {1, 0}, "response");
		{
			std::jthread one([&] {
				done = r.window.try_take(4, 0, 2048, &first);
			});
			std::jthread two([&] {
				bad = pattern_verify(r.window.memory(4, 2048),
						     2048, r.seed, 2048);
				err = r.window.try_count(4, 2048);
			});
		}
		REQUIRE_EQ(done, 2048, "the first reader");
		REQUIRE(pattern_verify(first.data(), 2048, r.seed, 0) < 0,
			"the first half");
		REQUIRE_EQ(err, 0, "the second reader");
		REQUIRE(bad < 0, "the second half");
		r.expect(4, "read");
	}
}

PV_TEST_LOCAL("direct.reads_in_order",
	      "several reads at once to ranges of their own: responses find "
	      "theirs, and a range that is not drained holds those behind it "
	      "(claims 23, 35-37)")
{
	Reading r(env);

	for (uint32_t i = 0; i < 4; i++)
		r.window.arm_read(i, 1000 + i);
	for (uint32_t i = 0; i < 4; i++)
		post_direct(r.link.a, IBV_WR_RDMA_READ,
			    r.window.sge(i, 1000 + i), i,
			    {r.at_b, int64_t(i) * 4096});
	for (uint32_t i = 0; i < 4; i++) {
		none_sent(r.link.a, 5, "before it is drained");
		std::vector<uint8_t> bytes;
		ssize_t done = -EAGAIN;

		REQUIRE(eventually(env,
				   [&] {
					   done = r.window.try_take(
						   i, 0, 1000 + i, &bytes);
					   return done != -EAGAIN;
				   }),
			"response ", i);
		REQUIRE_EQ(done, 1000 + i, "response ", i);
		REQUIRE(pattern_verify(bytes.data(), 1000 + i, r.seed,
				       i * 4096) < 0,
			"bytes of ", i);
		r.expect(i, "read");
	}
	r.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.read_refused",
	      "more than a response has is not drained, and bytes are not "
	      "taken twice")
{
	Reading r(env);
	std::vector<uint8_t> bytes;

	r.begin(5, 100);
	r.window.wait_valid(env, 5, {1, 0}, "response");
	REQUIRE_EQ(r.window.try_count(5, 101), ENOSPC, "more");
	REQUIRE_EQ(r.window.try_count(5, UINT32_MAX), ENOSPC, "far more");
	REQUIRE_EQ(r.window.try_take(5, 100, 1, &bytes), -ENODATA, "behind it");
	REQUIRE_EQ(r.window.try_take(5, 4095, 1, &bytes), -ENODATA, "behind");
	REQUIRE(raises_sigbus([&] { r.window.memory(5)[0] = 1; }), "a store");
	/* A longer one is cut. */
	REQUIRE_EQ(r.window.try_take(5, 0, 4096, &bytes), 100, "all of it");
	REQUIRE(r.window.try_take(5, 0, 1, &bytes) < 0, "again");
	r.expect(5, "read");
	r.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.read_loss",
	      "responses that are lost come again, byte-exact, and each byte "
	      "is handed over once")
{
	Reading r(env, {.mtu = 256, .timeout = 10});
	Parameter by_packet("deferred_icrc", "N");
	Moved again(env.a, "tx_retransmits"),
		implied(env.a, "implied_nak_seq_err");
	Qdisc lossy(env.b, "netem limit 1000 loss 10%");

	for (int round = 0; round < 20; round++) {
		r.begin(uint32_t(round), 4096);
		REQUIRE_EQ(r.window.take(env, uint32_t(round), 0, 4096, r.seed),
			   16u, "deliveries");
		r.expect(uint32_t(round), "read");
	}
	REQUIRE(again.by() + implied.by() > 0, "nothing was lost");
	r.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.read_slow_device",
	      "a device that drains nothing for longer than the timeout of the "
	      "queue pair costs it nothing")
{
	Reading r(env, {.mtu = 256, .timeout = 8, .retry_count = 1});
	Moved expired(env.a, "req_transport_retries_exceeded");

	r.begin(7, 1024);
	r.window.wait_valid(env, 7, {1, 0}, "first response");
	/* 2^8 * 4.096 us is a millisecond; two of them end an ordinary silence. */
	none_sent(r.link.a, 300, "while nothing is drained");
	r.window.take(env, 7, 0, 1024, r.seed);
	r.expect(7, "read");
	REQUIRE_EQ(expired.by(), 0u, "req_transport_retries_exceeded");
}

PV_TEST_LOCAL("direct.there_and_back",
	      "bytes that came by a read leave by a write of another range, "
	      "from the same window")
{
	Reading r(env);
	Mr back = must_reg(env.b, {4096}, 1);

	for (int round = 0; round < 8; round++) {
		uint32_t in = uint32_t(round), out = 31 - in;

		r.begin(in, 4096, PAVO_DIRECT_WHOLE);
		r.window.arm(out, 4096);
		post_direct(r.link.a, IBV_WR_RDMA_WRITE,
			    r.window.sge(out, 4096), 100, {back});
		r.window.wait_valid(env, in, {1, 0}, "response");
		/* One range is the memory of the other's pwrite(). */
		REQUIRE_EQ(pwrite(r.window.plain.fd, r.window.memory(in), 4096,
				  off_t(out) * 4096),
			   4096, "pwrite");
		r.window.count(in, 4096);
		r.expect(in, "read");
		expect_send(env, r.link.a, 100, "write");
		must_match(env.b, back, 0, 4096, r.seed, 0, "back");
		env.b.fill(back.id, 0, 4096, 1, 0);
	}
	r.window.must_be_whole(env);
}
