// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Direct windows together with other things: several entries of a request, unreliable connections,
 * datagrams, doorbell workers, many threads, requests of a host by messages.
 */
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include <pavo/direct.hpp>

#include "../common/device.h"
#include "../common/pattern.h"
#include "direct.h"
#include "manager.h"
#include "pavo_dv.h"
#include "qdisc.h"
#include "tap.h"
#include "ud.h"

using namespace pv;

namespace {

/* A write of several entries, one behind the other, to the beginning of a region. */
void post_entries(Side &side, std::vector<ibv_sge> sges, uint64_t id,
		  const Mr &to)
{
	ibv_send_wr wr = {}, *bad;

	wr.wr_id = id;
	wr.sg_list = sges.data();
	wr.num_sge = int(sges.size());
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = to.address;
	wr.wr.rdma.rkey = to.rkey;
	REQUIRE_EQ(ibv_post_send(local(*side.host).raw_qp(side.qp.id), &wr,
				 &bad),
		   0, "post_send");
}

/* Datagrams from A to a queue pair of B, of memory that is no region's. */
class Datagrams {
public:
	Datagrams(Env &env, uint32_t to) : to_(to)
	{
		ibv_ah_attr attr = common::address_vector(
			env.info_b.gid, uint8_t(env.info_a.gid_index));

		ah_ = ibv_create_ah(local(env.a).raw_pd(0), &attr);
		REQUIRE(ah_, "create_ah");
	}
	~Datagrams() { ibv_destroy_ah(ah_); }
	Datagrams(const Datagrams &) = delete;

	void post(Side &from, const ibv_sge &sge, uint64_t id) const
	{
		ibv_send_wr wr = {};

		wr.wr_id = id;
		wr.opcode = IBV_WR_SEND;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr.ud.ah = ah_;
		wr.wr.ud.remote_qpn = to_;
		wr.wr.ud.remote_qkey = ud::qkey;
		post_raw_send(from, wr, sge);
	}

private:
	uint32_t to_;
	ibv_ah *ah_;
};

/* Takes the bytes of a read out, and looks at them. */
bool drain_right(pavo::DirectWindow &window, uint32_t range, uint32_t length,
		 uint64_t seed, uint64_t position)
{
	std::vector<std::byte> bytes(length);
	uint32_t done = 0;

	while (done < length) {
		auto taken = window.read(range, done,
					 std::span(bytes).subspan(done),
					 std::chrono::seconds(20));

		if (!taken.has_value())
			return false;
		done += uint32_t(taken.value());
	}
	return common::holds(bytes, seed, position);
}

} // namespace

PV_TEST_LOCAL("direct.several_entries",
	      "a request of several ranges, and of memory of a region between "
	      "them, waits for all of them")
{
	DirectWriting w(env);
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {4096}, seed);

	w.window.arm(5, 1000);
	w.window.arm(2, 500);
	post_entries(w.link.a,
		     {w.window.sge(5, 1000),
		      {out.address + 1000, 300, out.lkey},
		      w.window.sge(2, 500)},
		     1, w.at_b);
	std::vector<uint8_t> bytes(1800);

	pattern_fill(bytes.data(), bytes.size(), seed, 0);
	memcpy(w.window.memory(2), bytes.data() + 1300, 500);
	w.window.count(2, 500);
	none_sent(w.link.a, 30, "before the first range");
	memcpy(w.window.memory(5), bytes.data(), 1000);
	w.window.count(5, 1000);
	w.expect(1, "write");
	must_match(env.b, w.at_b, 0, 1800, seed, 0, "all entries");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.one_entry_fails",
	      "a request one of whose ranges is not armed ends in error, and "
	      "gives back the others")
{
	env.expect_async();
	DirectWriting w(env);

	w.window.arm(5, 1000);
	w.window.put(5, 0, 1000, env.seed());
	post_entries(w.link.a, {w.window.sge(5, 1000), w.window.sge(2, 500)}, 1,
		     w.at_b);
	Wc wc = wait_send(env, w.link.a, "not armed");

	REQUIRE(wc.status != IBV_WC_SUCCESS, "it is not armed");
	must_match(env.b, w.at_b, 0, 4096, 1, 0, "nothing was written");
	w.window.try_disarm(5);
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.second_request",
	      "a range belongs to one request at a time: another queue pair's "
	      "fails, and the first one is sent")
{
	env.expect_async();
	DirectWriting w(env);
	Link other = connect(env);
	uint64_t seed = env.seed();

	w.window.arm(5, 1000);
	w.post(5, 1000);
	none_sent(w.link.a, 20, "before its bytes");
	post_direct(other.a, IBV_WR_RDMA_WRITE, w.window.sge(5, 1000), 7,
		    {w.at_b, 8192});
	Wc wc = wait_send(env, other.a, "second");

	REQUIRE_EQ(wc.id, 7u, "second");
	REQUIRE(wc.status != IBV_WC_SUCCESS, "it belongs to another");
	w.window.put(5, 0, 1000, seed);
	w.expect(5, "first");
	w.must_hold(5, 1000, seed, "first");
	must_match(env.b, w.at_b, 8192, 1000, 1, 8192, "second");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.uc",
	      "an unreliable write completes when it has left; a packet that "
	      "waits in a queue still has its bytes, whatever the range gets "
	      "next")
{
	DirectWriting w(env, {.type = IBV_QPT_UC}, {0, 4, 4096, 2});
	uint64_t first = env.seed(), second = env.seed();

	{
		Qdisc delay(env.a, "netem limit 1000 delay 300ms");

		w.window.arm(1, 4096);
		w.post(1, 4096);
		w.window.store(1, 0, 4096, first);
		w.window.count(1, 4096);
		w.expect(1, "write");
		/* The other buffer, or the same one later. */
		REQUIRE(eventually(
				env,
				[&] { return w.window.try_arm(1, 4096) == 0; }),
			"no buffer");
		w.window.store(1, 0, 4096, second);
		REQUIRE(eventually(env,
				   [&] {
					   return env.b.verify(w.at_b.id, 4096,
							       4096, first,
							       0) < 0;
				   }),
			"the first bytes have not come");
	}
	w.window.disarm(1);
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.ud",
	      "a datagram waits for the bytes of its range, carries them "
	      "without a copy, and completes when it has left; one that waits "
	      "in a queue still has them")
{
	Side a = ud::make_ud(env.a, env.info_a),
	     b = ud::make_ud(env.b, env.info_b);
	Direct window(env.a, {0, 4, 4096, 2});
	Mr in = must_reg(env.b, {2 * ud::slot}, 1);
	Moved copied(env.a, "direct_copied");
	Datagrams datagrams(env, b.qp.number);

	for (uint32_t length : {1u, 257u, 1024u}) {
		uint64_t seed = env.seed();

		must_post(b, ud::receive(in, 0));
		window.arm(1, length);
		datagrams.post(a, window.sge(1, length), length);
		none_sent(a, 20, "before its bytes");
		window.put(1, 0, length, seed);
		expect_send(env, a, length, "datagram");
		Wc wc = expect_recv(env, b, 0, "receive");

		REQUIRE_EQ(wc.byte_len, length + ud::grh, "bytes");
		must_match(env.b, in, ud::grh, length, seed, 0, "datagram");
		window.wait_valid(env, 1, {0, 0}, "it has left");
	}
	uint64_t first = env.seed();
	{
		Qdisc delay(env.a, "netem limit 1000 delay 300ms");

		must_post(b, ud::receive(in, 1));
		window.arm(1, 1024);
		datagrams.post(a, window.sge(1, 1024), 5);
		window.store(1, 0, 1024, first);
		window.count(1, 1024);
		expect_send(env, a, 5, "datagram");
		/* The other buffer, or the same one later. */
		REQUIRE(eventually(env,
				   [&] { return !window.try_arm(1, 1024); }),
			"no buffer");
		window.store(1, 0, 1024, env.seed());
		expect_recv(env, b, 1, "receive");
	}
	must_match(env.b, in, ud::slot + ud::grh, 1024, first, 0, "the first");
	REQUIRE_EQ(copied.by(), 0u, "copied bytes");
	window.disarm(1);
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.ud_not_armed",
	      "a datagram of a range that is not armed, or is armed for a "
	      "read, ends in error, and none leaves; the range is given up")
{
	env.expect_async();
	for (bool read : {false, true}) {
		Side a = ud::make_ud(env.a, env.info_a),
		     b = ud::make_ud(env.b, env.info_b);
		Direct window(env.a, {0, 4, 4096, 2});
		Mr in = must_reg(env.b, {ud::slot}, 1);
		Moved refused(env.a, "direct_refused"),
			packets(env.a, "tx_packets");
		Datagrams datagrams(env, b.qp.number);

		must_post(b, ud::receive(in, 0));
		if (read)
			window.arm_read(1, 100);
		datagrams.post(a, window.sge(1, 100), 1);
		expect_send(env, a, 1, "refused", IBV_WC_LOC_PROT_ERR);
		REQUIRE_EQ(refused.by(), 1u, "direct_refused");
		REQUIRE_EQ(packets.by(), 0u, "packets");
		window.must_be_whole(env);
	}
}

PV_TEST_LOCAL("direct.worker",
	      "a doorbell worker takes requests of ranges, too, and the last "
	      "byte sends without one")
{
	DirectWriting w(env);
	ibv_context *context = local(env.a).context();
	int err = pavodv_poll(context, 1000000);

	if (err == EPERM)
		throw Skip("no worker is allowed");
	REQUIRE_EQ(err, 0, "poll");
	for (uint32_t i = 0; i < 32; i++)
		w.write(i, 4096 - i);
	ibv_sge sge = w.window.sge(3, 100);
	ibv_send_wr wr = {}, *bad;
	uint64_t seed = env.seed();

	wr.wr_id = 3;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = w.at_b.address + 3 * 4096;
	wr.wr.rdma.rkey = w.at_b.rkey;
	for (int round = 0; round < 100; round++) {
		seed = env.seed();
		REQUIRE_EQ(
			pavodv_direct_post(&w.window.plain, 3, 100, 0,
					   local(env.a).raw_qp(w.link.a.qp.id),
					   &wr, &bad),
			0, "post");
		w.window.put(3, 0, 100, seed);
		w.expect(3, "write");
		w.must_hold(3, 100, seed, "written");
	}
	REQUIRE_EQ(pavodv_poll(context, 0), 0, "poll");
	w.write(1, 100);
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.crowd",
	      "threads with queue pairs of their own share a window with fewer "
	      "buffers than they want, in both directions")
{
	constexpr uint32_t threads = 4, rounds = 100;
	const uint64_t seed = env.seed();
	auto opened = pavo::DirectWindow::open(
		local(env.a).raw_pd(0),
		{.base = 0, .ranges = 8, .range_size = 4096, .buffers = 2});

	if (opened == pavo::Unexpected(std::errc::operation_not_supported))
		throw Skip("the device has no direct windows");
	pavo::DirectWindow window = std::move(opened).value();
	Mr from = must_reg(env.b, {4096}, seed),
	   to = must_reg(env.b, {threads * 4096}, 1);
	std::vector<Link> links;
	std::atomic<uint32_t> bad = 0;

	for (uint32_t i = 0; i < threads; i++)
		links.push_back(connect(env));
	auto work = [&](uint32_t me) {
		for (uint32_t round = 0; round < rounds; round++) {
			const uint32_t length = 1 + (round * 97 + me) % 4096;
			const bool read = round % 2;
			auto range = window.take();
			auto armed = window.arm(
				range.value(), length,
				{.direction = read ? pavo::Direction::read :
						     pavo::Direction::write,
				 .no_buffer = pavo::NoBuffer::wait,
				 .whole = false,
				 .timeout = std::chrono::seconds(20)});

			if (!armed.has_value()) {
				bad++;
				return;
			}
			post_direct(links[me].a,
				    read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
				    window.sge(*range, length), round,
				    read ? Place{from} : Place{to, me * 4096});
			if (read)
				bad += !drain_right(window, *range, length,
						    seed, 0);
			else
				bad += !window.write(*range, 0,
						     common::pattern<>(
							     seed + me, length))
						.has_value();
			expect_send(env, links[me].a, round, "crowd");
			if (!read)
				bad += env.b.verify(to.id, me * 4096, length,
						    seed + me, 0) >= 0;
			window.give(*range);
		}
	};
	std::atomic<uint32_t> failures = 0;
	{
		std::vector<std::jthread> crowd;

		for (uint32_t i = 0; i < threads; i++)
			crowd.emplace_back([&, i] {
				try {
					work(i);
				} catch (const std::exception &error) {
					note(error.what());
					failures++;
				}
			});
	}
	REQUIRE_EQ(failures.load(), 0u, "threads that failed");
	REQUIRE_EQ(bad.load(), 0u, "operations that failed");
	REQUIRE_EQ(window.free_ranges(), 8u, "ranges");
}

PV_TEST_LOCAL("direct.out_of_band",
	      "a host asks for a write to the disk by a message: the unit reads "
	      "its memory into a range, drains it and answers by a status "
	      "(claims 35, 36)")
{
	struct Request {
		uint64_t va;
		uint32_t rkey;
		uint32_t length;
	} request;
	Link link = connect(env);
	Direct window(env.a);
	const uint64_t seed = env.seed();
	Mr data = must_reg(env.b, {8192}, seed),
	   order = must_reg(env.b, {sizeof(request)}),
	   mailbox = must_reg(env.a, {sizeof(request)});

	must_post(link.a, RecvWr{1, {{mailbox.id, 0, sizeof(request), 0}}});
	must_post(link.b, RecvWr{2, {}});
	env.b.store(order.id, 0, data.address + 100);
	env.b.store(order.id, 8, uint64_t(4096) << 32 | data.rkey);
	must_send(env, link.b, make_wr(Op::send, {order}, sizeof(request)),
		  "request");
	expect_recv(env, link.a, 1, "request");
	memcpy(&request, local(env.a).memory(mailbox.id), sizeof(request));

	ibv_send_wr wr = {};

	window.arm_read(3, request.length);
	wr.wr_id = 3;
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = request.va;
	wr.wr.rdma.rkey = request.rkey;
	post_raw_send(link.a, wr, window.sge(3, request.length));
	/* The status is behind the read, and so behind the drain. */
	SendWr status = make_wr(Op::send, {}, 0);

	status.id = 4;
	must_post(link.a, status);
	window.wait_valid(env, 3, {1, 0}, "response");
	int64_t bad = pattern_verify(window.memory(3), window.reg(3).response,
				     seed, 100);

	REQUIRE(bad < 0, "byte ", bad);
	uint32_t left = 4096;

	while (left) {
		uint32_t here = window.reg(3).response;

		window.count(3, here);
		left -= here;
		if (left)
			window.wait_valid(env, 3, {1, 0}, "response");
	}
	expect_send(env, link.a, 3, "read");
	expect_send(env, link.a, 4, "status");
	expect_recv(env, link.b, 2, "status");
	window.must_be_whole(env);
}
