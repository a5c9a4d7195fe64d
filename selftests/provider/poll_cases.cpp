// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * poll_cases.cpp - completions: polling, receives, entries that the
 * provider must not believe, QPs that are gone or were reset.
 */
#include "played_module.h"

#include <thread>

namespace {

void test_polling()
{
	User user;
	ibv_wc wc[20];
	uint64_t next = 0, seen = 0;

	calm_engine();
	engine.completes = true;
	/* Through several passes of the ring of 16. */
	for (int round = 0; round < 50; round++) {
		int burst = 1 + round % 8;

		REQUIRE_EQ(user.send(burst, next), 0);
		next += static_cast<uint64_t>(burst);
		kernel->forget_calls();
		engine.send_kicks = 0;
		while (seen < next) {
			int n = ibv_poll_cq(user.send_cq, 1 + round % 3, wc);

			REQUIRE(n > 0);
			for (int i = 0; i < n; i++) {
				REQUIRE_EQ(wc[i].wr_id, seen);
				REQUIRE_EQ(wc[i].status, IBV_WC_SUCCESS);
				REQUIRE_EQ(wc[i].opcode, IBV_WC_SEND);
				REQUIRE_EQ(wc[i].qp_num, user.qp->qp_num);
				seen++;
			}
			REQUIRE_EQ(user.side().send_cq->header()->cons, seen);
		}
		REQUIRE_EQ(ibv_poll_cq(user.send_cq, 20, wc), 0);
		REQUIRE(kernel->calls().empty(), "polling is memory only");
		REQUIRE_EQ(engine.send_kicks, 0);
		REQUIRE_EQ(engine.recv_kicks, 0);
	}
}

void test_signalling()
{
	User some, all(IBV_QPS_RTS, 8, 1);
	ibv_wc wc[8];

	calm_engine();
	engine.completes = true;
	REQUIRE_EQ(some.send(3, 1, 0), 0);
	REQUIRE_EQ(some.send(1, 4), 0);
	REQUIRE_EQ(ibv_poll_cq(some.send_cq, 8, wc), 1);
	REQUIRE_EQ(wc[0].wr_id, 4);
	REQUIRE_EQ(all.send(3, 1, 0), 0);
	REQUIRE_EQ(ibv_poll_cq(all.send_cq, 8, wc), 3, "sq_sig_all");
}

void test_receiving()
{
	User user;
	ibv_wc wc;

	calm_engine();
	kernel->forget_calls();
	REQUIRE_EQ(user.recv(8, 40), 0);
	REQUIRE_EQ(user.side().rq_header()->prod, 8);
	REQUIRE_EQ(engine.recv_kicks, 0, "posting receives is memory only");
	REQUIRE(kernel->calls().empty(), "posting receives is memory only");
	REQUIRE_EQ(user.recv(1, 99), ENOMEM);

	pavo_data_seg data;

	memcpy(&data,
	       user.side().rq.memory + PAVO_RQ_HEADER_SIZE +
		       7 * user.side().rq_stride + sizeof(pavo_next_seg),
	       sizeof(data));
	REQUIRE_EQ(data.va, 0x2000);

	pavo_cqe cqe = {.qpn = user.qp->qp_num,
			.imm = 1234,
			.opcode = PAVO_WQE_WRITE_IMM,
			.flags = PAVO_CQE_RECV | PAVO_CQE_IMM};
	user.side().recv_cq->push(cqe);
	REQUIRE_EQ(ibv_poll_cq(user.recv_cq, 1, &wc), 1);
	REQUIRE_EQ(wc.wr_id, 40);
	REQUIRE_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	REQUIRE_EQ(wc.imm_data, 1234);
	REQUIRE_EQ(user.recv(1, 99), 0);

	user.side().rq_header()->flags = PAVO_RQ_NEED_KICK;
	cqe.wqe = 1;
	user.side().recv_cq->push(cqe);
	REQUIRE_EQ(ibv_poll_cq(user.recv_cq, 1, &wc), 1);
	REQUIRE_EQ(wc.wr_id, 41);
	REQUIRE_EQ(user.recv(1, 100), 0);
	REQUIRE_EQ(engine.recv_kicks, 1, "in error the module must be told");
}

void test_hostile_cqes()
{
	User user;
	ibv_wc wc[16];
	CqSide &cq = *user.side().send_cq;

	calm_engine();
	REQUIRE_EQ(user.send(2, 7), 0);
	pavo_cqe cqe = {.qpn = user.qp->qp_num, .opcode = PAVO_WQE_SEND};
	for (uint32_t wqe : {2u, 100u, 0x80000000u, UINT32_MAX}) {
		cqe.wqe = wqe;
		cq.push(cqe);
		REQUIRE_EQ(ibv_poll_cq(user.send_cq, 1, wc), 1);
		REQUIRE_EQ(wc[0].status, IBV_WC_GENERAL_ERR);
		REQUIRE_EQ(wc[0].wr_id, 0);
		REQUIRE_EQ(wc[0].qp_num, user.qp->qp_num);
	}
	cqe.wqe = 0;
	for (uint32_t qpn : {0u, 1u, 0xffffffu, 0x1000000u, UINT32_MAX}) {
		cqe.qpn = qpn;
		cq.push(cqe);
	}
	REQUIRE_EQ(ibv_poll_cq(user.send_cq, 16, wc), 0,
		   "QPs that are not there");
	REQUIRE_EQ(cq.header()->cons, cq.prod, "but they are consumed");
	cqe.qpn = user.qp->qp_num;
	cq.push(cqe);
	REQUIRE_EQ(ibv_poll_cq(user.send_cq, 16, wc), 1);
	REQUIRE_EQ(wc[0].wr_id, 7, "the real one is not lost by that");

	/* The index is the provider's, whatever the header says. */
	cq.header()->cons = 12345;
	cqe.wqe = 1;
	cq.push(cqe);
	REQUIRE_EQ(ibv_poll_cq(user.send_cq, 16, wc), 1);
	REQUIRE_EQ(wc[0].wr_id, 8);
	REQUIRE_EQ(cq.header()->cons, cq.prod);
}

void test_endless_ring()
{
	User user;
	ibv_wc wc[64];
	CqSide &cq = *user.side().send_cq;
	std::atomic<bool> stop{false};

	/* A thread flips owner bits as fast as it can. */
	std::thread writer([&] {
		uint8_t owner = 0;

		while (!stop) {
			for (uint32_t i = 0; i < cq.count; i++)
				std::atomic_ref(cq.entry(i)->flags).store(owner);
			owner ^= PAVO_CQE_OWNER;
		}
	});

	for (int i = 0; i < 1000; i++) {
		int n = ibv_poll_cq(user.send_cq, 64, wc);

		REQUIRE(n >= 0 && n <= 64);
	}
	stop = true;
	writer.join();
}

void test_resize()
{
	User user;
	ibv_wc wc[8];
	uint64_t next = 0, seen = 0;

	calm_engine();
	engine.completes = true;
	for (int size : {8, 64, 7, 1000, 16, 8, 32}) {
		REQUIRE_EQ(user.send(7, next), 0);
		next += 7;
		REQUIRE_EQ(ibv_poll_cq(user.send_cq, 3, wc), 3);
		REQUIRE_EQ(wc[0].wr_id, seen);
		REQUIRE_EQ(ibv_resize_cq(user.send_cq, size), 0);
		REQUIRE(user.send_cq->cqe >= size);
		REQUIRE_EQ(ibv_poll_cq(user.send_cq, 8, wc), 4, "size ", size);
		for (uint64_t i = 0; i < 4; i++)
			REQUIRE_EQ(wc[i].wr_id, seen + 3 + i);
		REQUIRE_EQ(user.side().send_cq->header()->cons, next);
		seen = next;
	}
	for (uint32_t lie : {3u, 1u << 20, 0x80000000u}) {
		engine.cqe_cnt_lie = lie;
		REQUIRE_EQ(ibv_resize_cq(user.send_cq, 16), EPROTO);
		engine.cqe_cnt_lie = 0;
		REQUIRE_EQ(ibv_poll_cq(user.send_cq, 8, wc), 0);
	}
}

void test_extended()
{
	ibv_poll_cq_attr poll = {};
	User user;
	ibv_qp_init_attr attr = user.another();
	ibv_cq_init_attr_ex init = {
		.cqe = 16,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP} |
			    uint64_t{IBV_WC_EX_WITH_CVLAN}};

	ibv_cq_ex *cq = ibv_create_cq_ex(context, &init);

	REQUIRE(cq, "errno ", errno);
	attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(cq);

	ibv_qp *qp = ibv_create_qp(user.pd, &attr);

	REQUIRE(qp);
	CqSide &side = *engine.qps.at(qp->qp_num).send_cq;

	REQUIRE_EQ(ibv_start_poll(cq, &poll), ENOENT);
	/* entries of no QP alone: consumed, and the lock is free again */
	pavo_cqe cqe = {.qpn = 0xabcdef};
	side.push(cqe);
	REQUIRE_EQ(ibv_start_poll(cq, &poll), ENOENT);
	REQUIRE_EQ(side.header()->cons, side.prod);

	cqe = {};
	cqe.qpn = qp->qp_num;
	cqe.opcode = PAVO_WQE_SEND;
	cqe.wqe = 5; /* nothing was posted */
	cqe.timestamp = 0x1122334455667788;
	cqe.vlan = 77;
	cqe.sl = 3;
	cqe.src_qp = 0x123456;
	side.push(cqe);
	side.push(cqe);
	REQUIRE_EQ(ibv_start_poll(cq, &poll), 0);
	REQUIRE_EQ(cq->status, IBV_WC_GENERAL_ERR, "it belongs to no request");
	REQUIRE(ibv_wc_read_completion_ts(cq) == cqe.timestamp);
	REQUIRE_EQ(ibv_wc_read_cvlan(cq), 77);
	REQUIRE_EQ(ibv_wc_read_sl(cq), 3);
	REQUIRE_EQ(ibv_wc_read_src_qp(cq), 0x123456);
	REQUIRE_EQ(ibv_next_poll(cq), 0);
	REQUIRE_EQ(ibv_next_poll(cq), ENOENT);
	REQUIRE(side.header()->cons != side.prod, "told at the end only");
	ibv_end_poll(cq);
	REQUIRE_EQ(side.header()->cons, side.prod);
	poll.comp_mask = 1;
	REQUIRE_EQ(ibv_start_poll(cq, &poll), EINVAL);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	REQUIRE_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

void test_destroyed_qp()
{
	User user, other;
	CqSide &cq = *user.side().send_cq;
	ibv_wc wc[4];

	/* A second QP on the first one's CQ. */
	ibv_qp_init_attr attr = user.another();
	ibv_qp *doomed = ibv_create_qp(user.pd, &attr);

	REQUIRE(doomed);
	pavo_cqe cqe = {.qpn = doomed->qp_num, .opcode = PAVO_WQE_SEND};
	cq.push(cqe);
	cqe.qpn = user.qp->qp_num;
	calm_engine();
	REQUIRE_EQ(user.send(1, 77), 0);
	cq.push(cqe);
	REQUIRE_EQ(ibv_destroy_qp(doomed), 0);

	/* Its number is given out again at once. */
	engine.next_qpn--;
	doomed = ibv_create_qp(user.pd, &attr);
	REQUIRE(doomed);
	REQUIRE_EQ(ibv_poll_cq(user.send_cq, 4, wc), 1);
	REQUIRE_EQ(wc[0].wr_id, 77);
	REQUIRE_EQ(ibv_destroy_qp(doomed), 0);
}

void test_reset()
{
	User user;
	ibv_wc wc[4];

	calm_engine();
	engine.completes = true;
	REQUIRE_EQ(user.send(5, 1), 0);
	REQUIRE_EQ(user.recv(5, 1), 0);
	pavo_cqe cqe = {.qpn = user.qp->qp_num,
			.opcode = PAVO_WQE_SEND,
			.flags = PAVO_CQE_RECV};
	user.side().recv_cq->push(cqe);
	user.go(IBV_QPS_RESET);
	REQUIRE_EQ(user.side().rq_header()->prod, 0, "counted since RESET");
	REQUIRE_EQ(ibv_poll_cq(user.send_cq, 4, wc), 0, "entries of the past");
	REQUIRE_EQ(ibv_poll_cq(user.recv_cq, 4, wc), 0, "entries of the past");

	user.go(IBV_QPS_RTS);
	REQUIRE_EQ(user.send(8, 50), 0, "all slots are free again");
	REQUIRE_EQ(user.recv(8, 60), 0);
	REQUIRE_EQ(ibv_poll_cq(user.send_cq, 1, wc), 1);
	REQUIRE_EQ(wc[0].wr_id, 50);
}

} // namespace

void add_poll_cases(Cases &cases)
{
	cases.insert(cases.end(),
		     {
			     {"polling, many passes of the ring", test_polling},
			     {"signalled and unsignalled", test_signalling},
			     {"receives", test_receiving},
			     {"absurd completion entries", test_hostile_cqes},
			     {"a completion ring that never ends",
			      test_endless_ring},
			     {"resizing, by an honest module and by a liar",
			      test_resize},
			     {"extended polling", test_extended},
			     {"entries of a destroyed QP, number reused",
			      test_destroyed_qp},
			     {"entries and indices across RESET", test_reset},
		     });
}
