// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Direct windows, from a device to the link: bytes that go into a range, by any face, are the
 * payload of the RDMA write that waits for them. Claims are those of sources.md#direct.
 */
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "../common/pattern.h"
#include "direct.h"
#include "manager.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint32_t direct_lengths[] = {1,    2,	   3,	 4,    7,    64,
				       255,  256,  257,	 1000, 1023, 1024,
				       2047, 2048, 4095, 4096};

} // namespace

PV_TEST_LOCAL("direct.write_file",
	      "bytes that pwrite() puts in leave when the last one is in "
	      "(claims 1, 6-8, 10, 32, 33)")
{
	DirectWriting w(env);

	for (uint32_t length : direct_lengths)
		w.write(3, length);
	/* In pieces, from the end to the beginning; nothing leaves before the last. */
	uint64_t seed = env.seed();

	w.window.arm(5, 4096);
	w.post(5, 4096);
	for (uint32_t offset : {3000u, 1u, 1000u})
		w.window.put(5, offset,
			     offset == 3000 ? 1096 :
			     offset == 1    ? 999 :
					      2000,
			     seed);
	none_sent(w.link.a, 50, "before the last byte");
	REQUIRE_EQ(w.window.reg(5).count, 4095u, "count");
	w.window.put(5, 0, 1, seed);
	w.expect(5, "write");
	w.must_hold(5, 4096, seed, "in pieces");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.write_mmap",
	      "stores to a range are sent when they are told of, and not "
	      "copied (claims 1, 15)")
{
	DirectWriting w(env, {.mtu = 0});
	Moved copied(env.a, "direct_copied");

	for (uint32_t length : direct_lengths) {
		uint64_t seed = env.seed();

		w.window.arm(31, length);
		w.post(31, length);
		w.window.store(31, 0, length, seed);
		if (length > 1)
			w.window.count(31, length - 1);
		none_sent(w.link.a, 5, "before the last byte");
		w.window.count(31, 1);
		w.expect(31, "write");
		w.must_hold(31, length, seed, "stored");
	}
	REQUIRE_EQ(copied.by(), 0u, "copied bytes");
}

PV_TEST_LOCAL("direct.write_before_post",
	      "a work request may come after the bytes, too")
{
	DirectWriting w(env);
	uint64_t seed = env.seed();

	w.window.arm(0, 4096);
	w.window.store(0, 0, 4096, seed);
	w.window.count(0, 4096);
	REQUIRE(w.window.valid(0) == Valid(0, 1), "the link side has its turn");
	w.post(0, 4096);
	w.expect(0, "write");
	w.must_hold(0, 4096, seed, "written");
}

PV_TEST_LOCAL("direct.write_order",
	      "requests behind one that waits for its bytes wait, too, and "
	      "those of other queue pairs do not")
{
	DirectWriting w(env);
	Link other = connect(env);
	Mr out = must_reg(env.a, {4096}, env.seed());

	w.window.arm(1, 100);
	w.window.arm(2, 100);
	w.post(1, 100);
	w.post(2, 100);
	SendWr third = make_wr(Op::write, {out}, 100, {w.at_b});

	third.id = 3;
	must_post(w.link.a, third);
	/* The second range is complete, and the third request needs none. */
	uint64_t seed = env.seed();

	w.window.put(2, 0, 100, seed);
	must_send(env, other.a, make_wr(Op::write, {out}, 100, {w.at_b}),
		  "another queue pair");
	none_sent(w.link.a, 50, "behind the first");
	w.window.put(1, 0, 100, seed);
	w.expect(1, "first");
	w.expect(2, "second");
	expect_send(env, w.link.a, 3, "third");
	w.must_hold(1, 100, seed, "first");
	w.must_hold(2, 100, seed, "second");
}

PV_TEST_LOCAL("direct.write_mtu",
	      "4096 bytes in as many packets as the path MTU makes of them")
{
	for (int mtu : {256, 512, 1024, 2048, 4096}) {
		if (mtu > common_mtu(env))
			continue;
		DirectWriting w(env, {.mtu = mtu});
		Moved packets(env.a, "tx_packets");
		uint64_t seed = env.seed();

		w.window.arm(7, 4096);
		w.post(7, 4096);
		w.window.store(7, 0, 4096, seed);
		w.window.count(7, 4096);
		w.expect(7, "write");
		w.must_hold(7, 4096, seed, "written");
		REQUIRE_EQ(packets.by(), 4096u / unsigned(mtu), "packets at ",
			   mtu);
	}
}

PV_TEST_LOCAL("direct.write_large_ranges",
	      "ranges of several pages, at their borders")
{
	DirectWriting w(env, {}, {0x1234567, 3, PAVO_DIRECT_RANGE_SIZE, 2});

	for (uint32_t length : {65536u, 65535u, 4097u, 8192u, 12289u})
		for (uint32_t range : {0u, 2u}) {
			uint64_t seed = env.seed();

			w.window.arm(range, length);
			w.post(range, length);
			w.window.store(range, 0, length, seed);
			w.window.count(range, length);
			w.expect(range, "write");
			w.must_hold(range, length, seed, "written");
		}
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.send_and_immediate",
	      "sends, and writes with immediate data, take their bytes from "
	      "ranges, too")
{
	DirectWriting w(env);
	uint64_t seed = env.seed();

	must_post(w.link.b, RecvWr{9, {{w.at_b.id, 0, 4096, 0}}});
	w.window.arm(0, 1000);
	post_direct(w.link.a, IBV_WR_SEND, w.window.sge(0, 1000), 1, {});
	w.window.put(0, 0, 1000, seed);
	expect_send(env, w.link.a, 1, "send");
	REQUIRE_EQ(expect_recv(env, w.link.b, 9, "receive").byte_len, 1000u,
		   "bytes");
	w.must_hold(0, 1000, seed, "sent");

	seed = env.seed();
	must_post(w.link.b, RecvWr{10, {}});
	w.window.arm(0, 999);
	post_direct(w.link.a, IBV_WR_RDMA_WRITE_WITH_IMM, w.window.sge(0, 999),
		    2, {w.at_b});
	w.window.put(0, 0, 999, seed);
	expect_send(env, w.link.a, 2, "write");
	expect_recv(env, w.link.b, 10, "immediate data");
	w.must_hold(0, 999, seed, "written");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.two_writers",
	      "two writers fill halves of one range, which is one RDMA write "
	      "(claim 17)")
{
	DirectWriting w(env);
	Moved sent(env.a, "direct_sent");

	for (int round = 0; round < 50; round++) {
		uint64_t seed = env.seed();
		int errors[2] = {-1, -1};

		w.window.arm(4, 4096);
		w.post(4, 4096);
		{
			std::jthread first([&] {
				errors[0] = w.window.try_put(4, 0, 2048, seed);
			});
			std::jthread second([&] {
				w.window.store(4, 2048, 2048, seed);
				errors[1] = w.window.try_count(4, 2048);
			});
		}
		REQUIRE_EQ(errors[0], 0, "the first writer");
		REQUIRE_EQ(errors[1], 0, "the second one");
		w.expect(4, "write");
		w.must_hold(4, 4096, seed, "halves");
	}
	REQUIRE_EQ(sent.by(), 50u, "ranges that were sent");
}

PV_TEST_LOCAL("direct.mapping",
	      "many ranges live at once, each with another buffer, and the "
	      "buffers are others the next time (claims 3, 11, 12, 14)")
{
	DirectWriting w(env);
	bool moved = false;

	for (int round = 0; round < 8; round++) {
		uint64_t seeds[32];
		std::set<uint32_t> buffers;

		for (uint32_t i = 0; i < 32; i++) {
			seeds[i] = env.seed();
			w.window.arm(i, 4096);
			buffers.insert(w.window.reg(i).buffer);
			moved |= w.window.reg(i).buffer != i;
		}
		REQUIRE_EQ(buffers.size(), 32u, "different buffers");
		REQUIRE(*buffers.rbegin() < 32, "numbers of buffers");
		/* Filled and posted in other orders than they were armed. */
		for (uint32_t i = 0; i < 32; i++)
			w.window.store((i * 7 + 3) % 32, 0, 4096,
				       seeds[(i * 7 + 3) % 32]);
		for (uint32_t i : {31u, 2u, 1u, 0u})
			w.post(i, 4096);
		for (uint32_t i : {0u, 1u, 2u, 31u})
			w.window.count(i, 4096);
		for (uint32_t i : {31u, 2u, 1u, 0u})
			w.expect(i, "write");
		for (uint32_t i = 3; i < 31; i++) {
			w.window.count(i, 4096);
			w.post(i, 4096);
		}
		for (uint32_t i = 3; i < 31; i++)
			w.expect(i, "write");
		for (uint32_t i = 0; i < 32; i++)
			w.must_hold(i, 4096, seeds[i], "written");
	}
	REQUIRE(moved, "each range had the buffer of its number, 256 times");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.document",
	      "the numbers of the document: 0x12347700 is range 2 from 0x88 "
	      "on (claims 12-14)")
{
	DirectWriting w(env, {}, {0x12345678, 32, 4096, 32});
	uint64_t seed = env.seed();

	REQUIRE_EQ(w.window.address(2), 0x12347678u, "range 2");
	w.window.arm(2, 4096);
	w.window.store(2, 0, 4096, seed);
	w.window.count(2, 4096);
	/* A part of the range, by its address alone. */
	post_direct(w.link.a, IBV_WR_RDMA_WRITE,
		    {0x12347700, 1000, w.window.plain.lkey}, 1, {w.at_b});
	expect_send(env, w.link.a, 1, "write");
	must_match(env.b, w.at_b, 0, 1000, seed, 0x88, "from 0x88 on");
}

PV_TEST_LOCAL("direct.5000", "5000 bytes are two operations: 4096 and 904")
{
	DirectWriting w(env);
	uint64_t seed = env.seed();
	std::vector<uint8_t> bytes(5000);

	pattern_fill(bytes.data(), bytes.size(), seed, 0);
	REQUIRE_EQ(w.window.try_arm(0, 5000), EINVAL, "more than a range");
	w.window.arm(6, 4096);
	w.window.arm(0, 904);
	post_direct(w.link.a, IBV_WR_RDMA_WRITE, w.window.sge(6, 4096), 1,
		    {w.at_b});
	post_direct(w.link.a, IBV_WR_RDMA_WRITE, w.window.sge(0, 904), 2,
		    {w.at_b, 4096});
	memcpy(w.window.memory(0), bytes.data() + 4096, 904);
	w.window.count(0, 904);
	memcpy(w.window.memory(6), bytes.data(), 4096);
	w.window.count(6, 4096);
	expect_send(env, w.link.a, 1, "4096");
	expect_send(env, w.link.a, 2, "904");
	must_match(env.b, w.at_b, 0, 5000, seed, 0, "5000");
}

PV_TEST_LOCAL("direct.write_registers",
	      "a write goes (1,0), (0,1), (0,0); the count and the buffer are "
	      "there with it (claims 2, 7, 9)")
{
	DirectWriting w(env);
	pavo_direct_register reg;
	uint64_t seed = env.seed();

	REQUIRE(w.window.valid(8) == Valid(0, 0), "idle");
	w.window.arm(8, 300);
	reg = w.window.reg(8);
	REQUIRE(w.window.valid(8) == Valid(1, 0), "armed");
	REQUIRE_EQ(reg.type, PAVO_DIRECT_TYPE_WRITE, "type");
	REQUIRE_EQ(reg.total, 300u, "total");
	REQUIRE_EQ(reg.count, 0u, "count");
	REQUIRE(reg.buffer < 32, "buffer");
	REQUIRE_EQ(reg.uses, 1u, "uses");
	w.window.put(8, 0, 299, seed);
	REQUIRE(w.window.valid(8) == Valid(1, 0), "one byte is missing");
	REQUIRE_EQ(w.window.reg(8).count, 299u, "count");
	w.window.put(8, 299, 1, seed);
	REQUIRE(w.window.valid(8) == Valid(0, 1), "full");
	REQUIRE_EQ(w.window.reg(8).count, 300u, "count");
	REQUIRE_EQ(w.window.reg(8).buffer, reg.buffer, "the same buffer");
	w.post(8, 300);
	w.expect(8, "write");
	REQUIRE(w.window.valid(8) == Valid(0, 0), "sent");
	REQUIRE_EQ(w.window.reg(8).buffer, PAVO_DIRECT_NO_BUFFER, "no buffer");
	w.window.arm(8, 1);
	REQUIRE_EQ(w.window.reg(8).uses, 2u, "uses");
	w.window.disarm(8);
	REQUIRE(w.window.valid(8) == Valid(0, 0), "disarmed");
}

PV_TEST_LOCAL("direct.loss",
	      "packet 1 of 2 is lost and packet 2 is not: the range is sent "
	      "again as it was, while others are filled")
{
	DirectWriting w(env, {.mtu = 2048, .timeout = 10});
	/* A queue would lose both packets of a train, or none. */
	Parameter by_packet("deferred_icrc", "N");
	Moved again(env.a, "tx_retransmits"), gaps(env.b, "out_of_sequence");
	uint64_t seeds[32];

	Qdisc lossy(env.a, "netem limit 1000 loss 10%");

	for (int round = 0; round < 6; round++) {
		for (uint32_t i = 0; i < 32; i++) {
			seeds[i] = env.seed();
			w.window.arm(i, 4096);
			w.post(i, 4096);
			w.window.store(i, 0, 4096, seeds[i]);
			w.window.count(i, 4096);
		}
		for (uint32_t i = 0; i < 32; i++)
			w.expect(i, "write");
		for (uint32_t i = 0; i < 32; i++)
			w.must_hold(i, 4096, seeds[i], "written");
	}
	REQUIRE(again.by() > 0, "nothing was sent again");
	REQUIRE(gaps.by() > 0, "no first packet was lost");
}

PV_TEST_LOCAL("direct.same_range_two_addresses",
	      "one range for two addresses of a peer, one after the other "
	      "(claims 5, 38)")
{
	DirectWriting w(env);
	uint64_t first = env.seed(), second = env.seed();

	for (auto [seed, to] :
	     {std::pair(first, 0), std::pair(second, 65536)}) {
		w.window.arm(9, 4096);
		post_direct(w.link.a, IBV_WR_RDMA_WRITE, w.window.sge(9, 4096),
			    9, {w.at_b, to});
		w.window.store(9, 0, 4096, seed);
		w.window.count(9, 4096);
		w.expect(9, "write");
	}
	must_match(env.b, w.at_b, 0, 4096, first, 0, "first");
	must_match(env.b, w.at_b, 65536, 4096, second, 0, "second");
}

PV_TEST_LOCAL("direct.same_range_two_peers",
	      "one range for two peers, at the same address of both "
	      "(claims 4, 40)")
{
	DirectWriting w(env);
	Link other = connect(env);
	uint64_t first = env.seed(), second = env.seed();

	w.window.arm(9, 4096);
	w.post(9, 4096);
	w.window.put(9, 0, 4096, first);
	w.expect(9, "first peer");
	w.must_hold(9, 4096, first, "first peer");
	w.window.arm(9, 4096);
	post_direct(other.a, IBV_WR_RDMA_WRITE, w.window.sge(9, 4096), 10,
		    {w.at_b, 9 * 4096});
	w.window.put(9, 0, 4096, second);
	expect_send(env, other.a, 10, "second peer");
	w.must_hold(9, 4096, second, "second peer");
}

PV_TEST_LOCAL("direct.same_address_two_ranges",
	      "two ranges at once for the same address: the one that is posted "
	      "last stays (claim 41)")
{
	DirectWriting w(env);
	uint64_t first = env.seed(), second = env.seed();

	for (uint32_t range : {11u, 12u}) {
		w.window.arm(range, 4096);
		post_direct(w.link.a, IBV_WR_RDMA_WRITE,
			    w.window.sge(range, 4096), range, {w.at_b});
	}
	w.window.put(12, 0, 4096, second);
	w.window.put(11, 0, 4096, first);
	w.expect(11, "first");
	w.expect(12, "second");
	must_match(env.b, w.at_b, 0, 4096, second, 0, "the last one");
}

PV_TEST_LOCAL("direct.armed_before_the_address",
	      "a range is armed and filled before the peer tells its address "
	      "by a send, which the write answers (claims 29-31, 34, 39)")
{
	struct Request {
		uint64_t va;
		uint32_t rkey;
		uint32_t length;
	} request;
	DirectWriting w(env);
	Mr mailbox = must_reg(env.a, {sizeof(request)}),
	   order = must_reg(env.b, {sizeof(request)});
	uint64_t seed = env.seed();

	w.window.arm(13, 4096);
	w.window.put(13, 0, 4096, seed);
	must_post(w.link.a, RecvWr{1, {{mailbox.id, 0, sizeof(request), 0}}});
	env.b.store(order.id, 0, w.at_b.address + 500);
	env.b.store(order.id, 8, uint64_t(4096) << 32 | w.at_b.rkey);
	must_send(env, w.link.b, make_wr(Op::send, {order}, sizeof(request)),
		  "request");
	expect_recv(env, w.link.a, 1, "request");
	memcpy(&request, local(env.a).memory(mailbox.id), sizeof(request));

	ibv_send_wr wr = {};

	wr.wr_id = 13;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = request.va;
	wr.wr.rdma.rkey = request.rkey;
	post_raw_send(w.link.a, wr, w.window.sge(13, request.length));
	w.expect(13, "write");
	must_match(env.b, w.at_b, 500, 4096, seed, 0, "answer");
}

PV_TEST_LOCAL("direct.post",
	      "arming and posting in one call: both are done, or neither")
{
	DirectWriting w(env, {}, {0, 4, 4096, 1});
	ibv_qp *qp = local(env.a).raw_qp(w.link.a.qp.id);
	ibv_sge sge = w.window.sge(2, 1000);
	ibv_send_wr wr = {}, *bad = nullptr;
	uint64_t seed = env.seed();

	wr.wr_id = 2;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = w.at_b.address + 8192;
	wr.wr.rdma.rkey = w.at_b.rkey;
	for (int i = 0; i < 2; i++) {
		REQUIRE_EQ(pavodv_direct_post(&w.window.plain, 2, 1000, 0, qp,
					      &wr, &bad),
			   0, "post");
		w.window.put(2, 0, 1000, seed);
		w.expect(2, "write");
		w.must_hold(2, 1000, seed, "written");
		seed = env.seed();
	}

	/* The pool has none. */
	w.window.arm(0, 10);
	REQUIRE_EQ(pavodv_direct_post(&w.window.plain, 2, 1000, 0, qp, &wr,
				      &bad),
		   EAGAIN, "no buffer");
	REQUIRE(bad == &wr, "bad_wr");
	no_more(w.link.a, "nothing was posted");
	w.window.disarm(0);
	/* A request that cannot be posted: the range is not armed. */
	ibv_send_wr second = wr;

	wr.next = &second;
	second.opcode = static_cast<ibv_wr_opcode>(99);
	REQUIRE_EQ(pavodv_direct_post(&w.window.plain, 2, 1000, 0, qp, &wr,
				      &bad),
		   EINVAL, "no such request");
	REQUIRE(bad == &second, "bad_wr");
	REQUIRE(w.window.valid(2) == Valid(0, 0), "not armed");
	no_more(w.link.a, "nothing was posted");
	wr.next = nullptr;
	REQUIRE_EQ(pavodv_direct_post(&w.window.plain, 2, 4097, 0, qp, &wr,
				      &bad),
		   EINVAL, "too many bytes");
	REQUIRE_EQ(pavodv_direct_post(&w.window.plain, 2, 1000, 0, qp, nullptr,
				      &bad),
		   EINVAL, "no request");
	/* Of another adapter. */
	REQUIRE_EQ(pavodv_direct_post(&w.window.plain, 2, 1000, 0,
				      local(env.b).raw_qp(w.link.b.qp.id), &wr,
				      &bad),
		   EINVAL, "another context");
	/* The queue pair still works. */
	REQUIRE_EQ(pavodv_direct_post(&w.window.plain, 2, 1000, 0, qp, &wr,
				      &bad),
		   0, "post");
	w.window.put(2, 0, 1000, seed);
	w.expect(2, "write");
	w.must_hold(2, 1000, seed, "written");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.splice",
	      "bytes come by splice() of a pipe and by sendfile(), counted as "
	      "others")
{
	DirectWriting w(env);
	uint64_t seed = env.seed();
	int ends[2], file = memfd_create("direct", MFD_CLOEXEC);
	loff_t to = 3 * 4096;
	std::vector<uint8_t> bytes(4096);

	pattern_fill(bytes.data(), bytes.size(), seed, 0);
	REQUIRE(!pipe2(ends, O_CLOEXEC) && file >= 0, "pipe");
	REQUIRE_EQ(::write(ends[1], bytes.data(), 2000), 2000, "pipe");
	REQUIRE_EQ(::write(file, bytes.data(), 4096), 4096, "memfd");
	w.window.arm(3, 4096);
	w.post(3, 4096);
	for (size_t left = 2000; left;) {
		ssize_t done = splice(ends[0], nullptr, w.window.plain.fd, &to,
				      left, 0);

		REQUIRE(done > 0, "splice: ", strerror(errno));
		left -= size_t(done);
	}
	REQUIRE_EQ(w.window.reg(3).count, 2000u, "count");
	/* sendfile() goes by the position of the file. */
	off_t from = 2000;

	REQUIRE_EQ(lseek(w.window.plain.fd, 3 * 4096 + 2000, SEEK_SET),
		   3 * 4096 + 2000, "lseek");
	for (size_t left = 2096; left;) {
		ssize_t done = sendfile(w.window.plain.fd, file, &from, left);

		REQUIRE(done > 0, "sendfile: ", strerror(errno));
		left -= size_t(done);
	}
	::close(ends[0]);
	::close(ends[1]);
	::close(file);
	w.expect(3, "write");
	w.must_hold(3, 4096, seed, "written");
}
