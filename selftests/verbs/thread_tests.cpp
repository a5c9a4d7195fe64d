// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Several threads on the same objects: posting, polling, modifying, making and
 * destroying at once. libibverbs promises that all of that is safe.
 */
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "link.h"
#include "../common/pattern.h"
#include "tap.h"

using namespace pv;

namespace {

using clock = std::chrono::steady_clock;

/* Threads that stop together when one of them fails. */
class Crew {
public:
	template <typename Body> void add(Body body)
	{
		threads_.emplace_back([this, body] {
			try {
				body();
			} catch (const std::exception &error) {
				if (!failed_.exchange(true))
					what_ = error.what();
			}
		});
	}

	bool failed() const { return failed_; }

	void join()
	{
		for (auto &thread : threads_)
			thread.join();
		threads_.clear();
		if (failed_)
			throw Failure(what_);
	}

	~Crew()
	{
		failed_ = true;
		for (auto &thread : threads_)
			thread.join();
	}

private:
	std::vector<std::thread> threads_;
	std::atomic<bool> failed_ = false;
	std::string what_;
};

/* Posts, waiting while the queue is full. */
void post_patiently(ibv_qp *qp, ibv_send_wr &wr, const Crew &crew)
{
	ibv_send_wr *bad;

	for (;;) {
		int error = ibv_post_send(qp, &wr, &bad);

		if (!error)
			return;
		if (error != ENOMEM)
			throw Failure(str("ibv_post_send: ", strerror(error)));
		if (crew.failed())
			throw Failure("another thread failed");
		std::this_thread::yield();
	}
}

struct Slots {
	Mr out, in;
	uint32_t size;
	uint32_t count;
	uint64_t seed;
};

Slots make_slots(Env &env, uint32_t count, uint32_t size)
{
	Slots slots = {must_reg(env.a, {uint64_t(count) * size, 1}),
		       must_reg(env.b, {uint64_t(count) * size, 2}), size,
		       count, env.seed()};

	env.a.fill(slots.out.id, 0, uint64_t(count) * size, slots.seed, 0);
	env.b.fill(slots.in.id, 0, uint64_t(count) * size, 1, 0);
	return slots;
}

void write_slot(ibv_qp *qp, const Slots &slots, uint32_t slot, const Crew &crew)
{
	uint64_t at = uint64_t(slot) * slots.size;
	ibv_sge sge = {slots.out.address + at, slots.size, slots.out.lkey};
	ibv_send_wr wr = {.wr_id = slot,
			  .sg_list = &sge,
			  .num_sge = 1,
			  .opcode = IBV_WR_RDMA_WRITE,
			  .send_flags = IBV_SEND_SIGNALED,
			  .wr = {.rdma = {.remote_addr = slots.in.address + at,
					  .rkey = slots.in.rkey}}};

	post_patiently(qp, wr, crew);
}

/* Polls until every slot has completed once; several threads may do so. */
void collect(ibv_cq *cq, std::vector<std::atomic<int>> &seen,
	     std::atomic<uint32_t> &total, uint32_t patience_ms,
	     const Crew &crew)
{
	auto deadline = clock::now() + std::chrono::milliseconds(patience_ms);

	while (total < seen.size()) {
		ibv_wc wcs[8];
		int got = ibv_poll_cq(cq, 8, wcs);

		REQUIRE(got >= 0, "ibv_poll_cq");
		for (int i = 0; i < got; i++) {
			REQUIRE_EQ(int(wcs[i].status), IBV_WC_SUCCESS, "write ",
				   wcs[i].wr_id);
			REQUIRE(wcs[i].wr_id < seen.size(), "wr_id");
			REQUIRE_EQ(seen[wcs[i].wr_id]++, 0, "completed twice");
			total++;
		}
		if (!got) {
			REQUIRE(clock::now() < deadline, total.load(), " of ",
				seen.size(), " completions came");
			REQUIRE(!crew.failed(), "another thread failed");
			std::this_thread::yield();
		}
	}
}

} // namespace

PV_TEST_LOCAL("thread.posters_on_one_qp",
	      "4 threads post 300 writes each on one queue pair, one polls")
{
	constexpr uint32_t threads = 4, each = 300;

	Link link = connect(env, {.cap = {32, 1, 1, 1, 0},
				  .cq_depth = threads * each});
	Slots slots = make_slots(env, threads * each, 333);
	ibv_qp *qp = local(env.a).raw_qp(link.a.qp.id);
	std::vector<std::atomic<int>> seen(slots.count);
	std::atomic<uint32_t> total = 0;
	Crew crew;

	for (uint32_t t = 0; t < threads; t++)
		crew.add([&, t] {
			for (uint32_t i = 0; i < each; i++)
				write_slot(qp, slots, t * each + i, crew);
		});
	crew.add([&] {
		collect(local(env.a).raw_cq(link.a.send_cq.id), seen, total,
			env.options.patience_ms, crew);
	});
	crew.join();
	must_match(env.b, slots.in, 0, uint64_t(slots.count) * slots.size,
		   slots.seed, 0, "all writes");
}

PV_TEST_LOCAL(
	"thread.pollers_on_one_cq",
	"6 queue pairs driven by 3 threads complete into one CQ polled by 3")
{
	constexpr uint32_t pairs = 6, each = 200;
	std::vector<Link> links;
	LinkSpec spec = {.cap = {32, 1, 1, 1, 0},
			 .cq_a = env.a.create_cq(pairs * each, false)};

	for (uint32_t i = 0; i < pairs; i++)
		links.push_back(connect(env, spec));
	Slots slots = make_slots(env, pairs * each, 217);
	std::vector<std::atomic<int>> seen(slots.count);
	std::atomic<uint32_t> total = 0;
	Crew crew;

	for (uint32_t t = 0; t < 3; t++) {
		crew.add([&, t] {
			for (uint32_t i = 0; i < each; i++)
				for (uint32_t p = t * 2; p < t * 2 + 2; p++)
					write_slot(local(env.a).raw_qp(
							   links[p].a.qp.id),
						   slots, p * each + i, crew);
		});
		crew.add([&] {
			collect(local(env.a).raw_cq(spec.cq_a.id), seen, total,
				env.options.patience_ms, crew);
		});
	}
	crew.join();
	must_match(env.b, slots.in, 0, uint64_t(slots.count) * slots.size,
		   slots.seed, 0, "all writes");
}

PV_TEST_LOCAL("thread.both_directions",
	      "each end driven by its own thread, sending to the other")
{
	constexpr uint32_t count = 400, size = 1500;

	Link link = connect(env, {.cap = {64, 64, 1, 1, 0}});
	Crew crew;
	Mr out[2] = {must_reg(env.a, {count * size}),
		     must_reg(env.b, {count * size})};
	Mr in[2] = {must_reg(env.a, {count * size}),
		    must_reg(env.b, {count * size})};

	env.a.fill(out[0].id, 0, count * size, 501, 0);
	env.b.fill(out[1].id, 0, count * size, 502, 0);
	for (int e = 0; e < 2; e++) {
		Side &self = e ? link.b : link.a;

		crew.add([&, e] {
			uint32_t posted = 0, sent = 0, offered = 0, got = 0;

			while (sent < count || got < count) {
				for (; offered < count && offered - got < 60;
				     offered++)
					must_post(self,
						  RecvWr{offered,
							 {{in[e].id,
							   int64_t(offered) *
								   size,
							   size, 0}}});
				for (; posted < count && posted - sent < 60;
				     posted++) {
					SendWr wr = make_wr(Op::send, {}, 0);
					wr.sges = {{out[e].id,
						    int64_t(posted) * size,
						    size, 0}};
					wr.id = posted;
					must_post(self, wr);
				}
				for (const Wc &wc :
				     self.host->poll(self.send_cq.id, 60, 0))
					check_wc(wc, sent++, IBV_WC_SUCCESS,
						 "send");
				auto wcs =
					self.host->poll(self.recv_cq.id, 60, 1);
				for (const Wc &wc : wcs)
					check_wc(wc, got++, IBV_WC_SUCCESS,
						 "receive");
				REQUIRE(!crew.failed(), "the other end failed");
			}
		});
	}
	crew.join();
	must_match(env.b, in[1], 0, count * size, 501, 0, "A to B");
	must_match(env.a, in[0], 0, count * size, 502, 0, "B to A");
}

PV_TEST_LOCAL("thread.error_while_posting",
	      "ERR while others post: each accepted request completes once")
{
	env.expect_async();
	for (int round = 0; round < 5; round++) {
		constexpr uint32_t threads = 3, each = 400;

		Link link = connect(env, {.timeout = 12,
					  .cap = {64, 1, 1, 1, 0},
					  .cq_depth = threads * each});
		Slots slots = make_slots(env, threads, 700);
		ibv_qp *qp = local(env.a).raw_qp(link.a.qp.id);
		ibv_cq *cq = local(env.a).raw_cq(link.a.send_cq.id);
		std::atomic<uint32_t> accepted = 0, posting = threads;
		uint32_t completed = 0;
		bool flushed = false;
		Crew crew;

		for (uint32_t t = 0; t < threads; t++)
			crew.add([&, t] {
				for (int i = 0; i < int(each); i++) {
					write_slot(qp, slots, t, crew);
					accepted++;
				}
				posting--;
			});
		crew.add([&] {
			while (accepted < 100 && !crew.failed())
				std::this_thread::yield();
			to_state(link.a, IBV_QPS_ERR);
		});
		crew.add([&] {
			auto deadline =
				clock::now() + std::chrono::milliseconds(
						       env.options.patience_ms);

			while (posting || completed < accepted) {
				ibv_wc wc;
				int got = ibv_poll_cq(cq, 1, &wc);

				REQUIRE(clock::now() < deadline, completed,
					" of ", accepted.load(), " completed");
				if (got != 1) {
					std::this_thread::yield();
					continue;
				}
				completed++;
				flushed |= wc.status == IBV_WC_WR_FLUSH_ERR;
				REQUIRE(wc.status == IBV_WC_WR_FLUSH_ERR ||
						(!flushed &&
						 wc.status == IBV_WC_SUCCESS),
					"success after a flush");
			}
		});
		crew.join();
		REQUIRE_EQ(completed, accepted.load(), "completions");
		no_more(link.a, "after the last");
	}
}

PV_TEST_LOCAL("thread.objects",
	      "4 threads make and destroy objects while a pair moves data")
{
	Link link = connect(env);
	ibv_context *context = local(env.a).context();
	std::atomic<bool> stop = false;
	std::atomic<uint32_t> made = 0;
	Crew crew;

	for (int t = 0; t < 4; t++)
		crew.add([&] {
			std::vector<uint8_t> memory(20000);

			while (!stop && !crew.failed()) {
				ibv_pd *pd = ibv_alloc_pd(context);
				REQUIRE(pd, "ibv_alloc_pd");
				ibv_mr *mr = ibv_reg_mr(pd, memory.data(),
							memory.size(),
							all_access);
				REQUIRE(mr, "ibv_reg_mr");
				ibv_cq *cq = ibv_create_cq(context, 16, nullptr,
							   nullptr, 0);
				REQUIRE(cq, "ibv_create_cq");
				ibv_qp_init_attr init = {};
				init.send_cq = init.recv_cq = cq;
				init.cap = {4, 4, 1, 1, 0};
				init.qp_type = IBV_QPT_RC;
				ibv_qp *qp = ibv_create_qp(pd, &init);
				REQUIRE(qp, "ibv_create_qp");
				REQUIRE_EQ(ibv_destroy_qp(qp), 0, "QP");
				REQUIRE_EQ(ibv_destroy_cq(cq), 0, "CQ");
				REQUIRE_EQ(ibv_dereg_mr(mr), 0, "MR");
				REQUIRE_EQ(ibv_dealloc_pd(pd), 0, "PD");
				made++;
			}
		});
	Place at_a = {must_reg(env.a, {70000}), 0};
	Place at_b = {must_reg(env.b, {70000}), 0};

	try {
		for (int i = 0; i < 10 || made < 100; i++) {
			if (crew.failed())
				break;
			for (Op op : {Op::send, Op::write, Op::read})
				exchange(env, link.a, link.b, op, at_a, at_b,
					 60001);
		}
	} catch (...) {
		stop = true;
		throw;
	}
	stop = true;
	crew.join();
}

PV_TEST_LOCAL("thread.read_room",
	      "the responder's room for reads changes while reads come")
{
	constexpr uint32_t size = 8, count = 400;
	Link link = connect(env);
	ibv_qp *qp = local(env.b).raw_qp(link.b.qp.id);
	Mr in = must_reg(env.a, {size}), from = must_reg(env.b, {size});
	std::atomic<bool> stop = false;
	uint32_t changed = 0;
	Crew crew;

	to_state(link.b, IBV_QPS_SQD);
	crew.add([&] {
		while (!stop && !crew.failed()) {
			ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD};

			attr.max_dest_rd_atomic = uint8_t(1 + changed++ % 16);
			REQUIRE_EQ(ibv_modify_qp(
					   qp, &attr,
					   IBV_QP_STATE |
						   IBV_QP_MAX_DEST_RD_ATOMIC),
				   0, "room for ", changed);
		}
	});
	try {
		for (uint32_t i = 0;
		     (i < count || changed < count) && !crew.failed(); i++) {
			uint64_t seed = env.seed();
			SendWr wr = make_wr(Op::read, {in, 0}, size, {from, 0});

			env.b.fill(from.id, 0, size, seed, 0);
			must_send(env, link.a, wr, "read");
			must_match(env.a, in, 0, size, seed, 0, "what came");
		}
	} catch (...) {
		stop = true;
		throw;
	}
	stop = true;
	crew.join();
}

PV_TEST_LOCAL("thread.sleeping_consumer",
	      "a thread sleeps on the channel while another sends 200 messages")
{
	constexpr uint32_t count = 200;

	Link link = connect(env, {.cap = {64, 256, 1, 1, 0},
				  .events = true,
				  .cq_depth = 512});
	Crew crew;
	std::vector<RecvWr> recvs(count);

	for (uint32_t i = 0; i < count; i++)
		recvs[i].id = i;
	must_post(link.b, recvs);
	crew.add([&] {
		uint32_t got = 0;

		while (got < count) {
			REQUIRE_EQ(env.b.arm(link.b.recv_cq.id, false), 0,
				   "arm");
			auto wcs = env.b.poll(link.b.recv_cq.id, count, 0);
			for (const Wc &wc : wcs)
				check_wc(wc, got++, IBV_WC_SUCCESS, "receive");
			/* Empty after arming: the next one must wake us. */
			if (wcs.empty())
				REQUIRE(env.b.wait_event(
						link.b.recv_cq.id,
						env.options.patience_ms),
					"slept through message ", got);
		}
	});
	crew.add([&] {
		for (uint32_t i = 0; i < count && !crew.failed(); i++) {
			must_send(env, link.a, make_wr(Op::send, {}, 0),
				  "send");
		}
	});
	crew.join();
}
