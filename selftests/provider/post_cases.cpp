// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * post_cases.cpp - posting: chains, doorbells, kicks, full queues and rings.
 */
#include "played_module.h"

namespace {

void test_one_doorbell_per_chain()
{
	User user;

	calm_engine();
	REQUIRE_EQ(user.send(1, 10), 0);
	REQUIRE_EQ(engine.doorbells.size(), 1);
	REQUIRE_EQ(engine.send_kicks, 1);
	REQUIRE_EQ(user.send(6, 20), 0);
	REQUIRE_EQ(engine.doorbells.size(), 2, "one for six requests");
	REQUIRE_EQ(engine.send_kicks, 2);
	REQUIRE_EQ(user.side().taken, 7, "the engine followed the chain");
	REQUIRE_EQ(engine.doorbells[1] >> PAVO_DB_QPN_SHIFT, user.qp->qp_num);
}

/* In a context of its own, with a page of its own, since it does not forget. */
void test_refused_write()
{
	ibv_context *const usual = context;
	const fake::Region page = engine.page;
	const uint32_t cons = engine.db_cons;

	engine.page = kernel->make_region(page.info.size);
	engine.db_cons = 0;
	context = ibv_open_device(usual->device);
	REQUIRE(context);
	{
		User user;

		calm_engine();
		engine.is_old = true;
		engine.refuses_writes = true;
		for (int chain = 1; chain <= 3; chain++) {
			REQUIRE_EQ(user.send(2, 10 * chain), 0);
			REQUIRE_EQ(engine.send_kicks, chain);
			REQUIRE_EQ(engine.refused, 1, "once is enough");
		}
		REQUIRE_EQ(user.side().taken, 6);
		engine.refuses_writes = false;
	}
	ibv_close_device(context);
	context = usual;
	engine.page = page;
	engine.db_cons = cons;
}

/* It is posted by then: an application that is told otherwise posts it again. */
void test_kick_without_memory(bool by_command)
{
	User user;

	calm_engine();
	engine.is_old = by_command;
	for (int error : {ENOMEM, EFAULT}) {
		engine.lack = error;
		for (int lacking : {1, 2, 3, 50}) {
			const uint32_t before = user.side().taken;

			engine.lacks_memory = lacking;
			REQUIRE_EQ(user.send(1, 10), 0);
			REQUIRE_EQ(engine.lacks_memory, 0);
			REQUIRE_EQ(user.side().taken, before + 1);
		}
	}
	REQUIRE_EQ(engine.doorbells.size(), 8);
	REQUIRE_EQ(engine.send_kicks, 8);
}

void test_no_kick_when_polled()
{
	User user;

	calm_engine();
	engine.doorbell_page()->flags = 0;
	REQUIRE_EQ(user.send(3, 1), 0);
	REQUIRE_EQ(engine.send_kicks, 0);
	engine.drain();
	REQUIRE_EQ(user.side().taken, 3);
}

void test_queue_full()
{
	User user;
	int posted = 0;

	calm_engine();
	REQUIRE_EQ(user.send(10, 100, 0, &posted), ENOMEM);
	REQUIRE_EQ(posted, 8, "bad_wr is the first that found no room");
	REQUIRE_EQ(user.side().taken, 8, "those before it are posted");
	REQUIRE_EQ(user.send(1, 200, 0, &posted), ENOMEM);
	REQUIRE_EQ(posted, 0);
	REQUIRE_EQ(engine.doorbells.size(), 1);

	/* One signalled completion frees all before it. */
	ibv_wc wc;
	pavo_cqe cqe = {
		.qpn = user.qp->qp_num, .wqe = 5, .opcode = PAVO_WQE_SEND};

	user.side().send_cq->push(cqe);
	REQUIRE_EQ(ibv_poll_cq(user.send_cq, 1, &wc), 1);
	REQUIRE_EQ(wc.wr_id, 105);
	REQUIRE_EQ(user.send(10, 300, 0, &posted), ENOMEM);
	REQUIRE_EQ(posted, 6);
}

void test_bad_request_in_chain()
{
	User user;
	ibv_send_wr wr[3] = {}, *bad;

	calm_engine();
	for (auto &one : wr) {
		one.opcode = IBV_WR_SEND;
		one.next = &one + 1;
	}
	wr[1].opcode = IBV_WR_TSO;
	wr[2].next = nullptr;
	REQUIRE_EQ(ibv_post_send(user.qp, wr, &bad), EINVAL);
	REQUIRE(bad == &wr[1]);
	REQUIRE_EQ(user.side().taken, 1, "the one before it was posted");
	REQUIRE_EQ(user.send(1, 5), 0);
	REQUIRE_EQ(user.side().taken, 2, "the bad one left no hole");
}

void test_states()
{
	static constexpr struct {
		ibv_qp_state state;
		int send, recv;
	} cases[] = {
		{IBV_QPS_RESET, EINVAL, EINVAL},
		{IBV_QPS_INIT, EINVAL, 0},
		{IBV_QPS_RTR, EINVAL, 0},
		{IBV_QPS_RTS, 0, 0},
		{IBV_QPS_SQE, 0, 0},
		{IBV_QPS_ERR, 0, 0},
	};

	for (auto &c : cases) {
		User user(c.state);
		int posted = -1;

		calm_engine();
		REQUIRE_EQ(user.send(1, 1, 0, &posted), c.send, c.state);
		REQUIRE_EQ(posted, c.send ? 0 : 1);
		REQUIRE_EQ(user.recv(1, 1), c.recv, c.state);
	}
}

/* The module's side gives up on what is in the ring. */
void forget_doorbells()
{
	engine.db_cons = engine.doorbell_page()->prod;
	engine.doorbell_page()->cons = engine.db_cons;
}

void test_ring_full()
{
	pavo_doorbell_page *page = engine.doorbell_page();
	User user(IBV_QPS_RTS, 1024);

	calm_engine();
	page->flags = 0;
	for (int i = 0; i < PAVO_DB_RING_ENTRIES; i++)
		REQUIRE_EQ(user.send(1, 1), 0);
	REQUIRE_EQ(engine.send_kicks, 0);
	REQUIRE_EQ(user.send(1, 1), 0, "a kick makes room");
	REQUIRE_EQ(engine.send_kicks, 1);

	engine.drains = false;
	while (page->prod - page->cons < PAVO_DB_RING_ENTRIES)
		REQUIRE_EQ(user.send(1, 1), 0);
	REQUIRE_EQ(pavodv_ring(context, 0), EAGAIN);
	REQUIRE_EQ(engine.send_kicks, 1);

	int posted = -1;

	REQUIRE_EQ(user.send(2, 1, 0, &posted), ENOMEM, "no thread drains");
	REQUIRE_EQ(posted, 0, "nothing of the chain was posted");
	REQUIRE(engine.send_kicks > 2 && engine.send_kicks < 1000,
		"tried, but not forever: ", engine.send_kicks);
	forget_doorbells();
}

void test_hostile_page()
{
	pavo_doorbell_page *page = engine.doorbell_page();
	uint32_t cons = page->cons;

	calm_engine();
	engine.drains = false;
	{
		User user(IBV_QPS_RTS, 512);

		for (uint32_t lie :
		     {cons + 1, cons + 1000, cons - 1000, ~cons, 0u}) {
			page->cons = lie;
			page->prod = lie * 77;
			user.send(1, 1); /* any answer; sanitizers watch */
			page->cons = cons;
		}
		REQUIRE_EQ(pavodv_ring(context, 0), 0);
		REQUIRE(page->prod - cons <= 6, "the count is the provider's");
		forget_doorbells();
	}
	engine.drains = true;

	User user;

	REQUIRE_EQ(user.send(1, 1), 0);
	REQUIRE_EQ(user.side().taken, 1);
}

/* The same queue, filled by ibv_wr_* calls. */
void test_built_chain()
{
	User user;
	ibv_qp_init_attr_ex attr =
		user.another_ex(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	char data[] = "data";

	attr.send_ops_flags = IBV_QP_EX_WITH_SEND;

	ibv_qp *qp = ibv_create_qp_ex(context, &attr);

	REQUIRE(qp, "errno ", errno);
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	QpSide &side = engine.qps.at(qp->qp_num);

	REQUIRE(ex);
	qp->state = IBV_QPS_RTS;
	calm_engine();
	ibv_wr_start(ex);
	for (uint64_t i = 0; i < 5; i++) {
		ex->wr_id = i;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, data, sizeof(data));
	}
	REQUIRE_EQ(engine.doorbells.size(), 0, "not before it is complete");
	REQUIRE_EQ(ibv_wr_complete(ex), 0);
	REQUIRE_EQ(engine.doorbells.size(), 1, "one for five requests");
	REQUIRE_EQ(engine.send_kicks, 1);
	REQUIRE_EQ(side.taken, 5);

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	ibv_wr_start(ex);
	for (int i = 0; i < 4; i++)
		ibv_wr_send(ex);
	REQUIRE_EQ(ibv_wr_complete(ex), ENOMEM, "three are free");
	REQUIRE_EQ(engine.doorbells.size(), 1, "nothing of these was posted");
	REQUIRE_EQ(engine.send_kicks, 1);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);

	attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	REQUIRE(!ibv_create_qp_ex(context, &attr));
	REQUIRE_EQ(errno, EOPNOTSUPP);
}

} // namespace

void add_post_cases(Cases &cases)
{
	cases.insert(
		cases.end(),
		{
			{"one doorbell and one kick per chain",
			 test_one_doorbell_per_chain},
			{"a chain built by calls", test_built_chain},
			{"one kick per chain where writes are refused",
			 test_refused_write},
			{"a kick that finds no memory is repeated",
			 [] { test_kick_without_memory(false); }},
			{"a command to kick that finds no memory is repeated",
			 [] { test_kick_without_memory(true); }},
			{"no kick while the page is polled",
			 test_no_kick_when_polled},
			{"a full send queue", test_queue_full},
			{"a bad request inside a chain",
			 test_bad_request_in_chain},
			{"posting in every state", test_states},
			{"a full doorbell ring", test_ring_full},
			{"overwritten doorbell indices", test_hostile_page},
		});
}
