// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * object_cases.cpp - life of objects: impossible answers of the module, what
 * is not supported, domains, threads, direct access.
 */
#include "played_module.h"
#include "../common/comp_cntr_methods.h"

#include <algorithm>
#include <memory>
#include <rdma/ib_user_ioctl_cmds.h>
#include <thread>

namespace {

void test_lying_module()
{
	User user;

	for (uint32_t lie : {3u, 0x80000000u, UINT32_MAX}) {
		engine.cqe_cnt_lie = lie;
		REQUIRE(!ibv_create_cq(context, 16, nullptr, nullptr, 0));
		REQUIRE_EQ(errno, EPROTO);
	}
	engine.cqe_cnt_lie = 0;
	engine.short_region = true;
	REQUIRE(!ibv_create_cq(context, 1024, nullptr, nullptr, 0));
	engine.short_region = false;
	kernel->last_method(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);

	ibv_qp_init_attr attr = user.another();

	for (uint32_t lie : {3u, 1u << 20, 0x80000000u}) {
		kernel->forget_calls();
		engine.sq_cnt_lie = lie;
		REQUIRE(!ibv_create_qp(user.pd, &attr));
		kernel->last_method(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	}
	engine.sq_cnt_lie = 0;

	ibv_srq_init_attr srq = {.attr = {8, 1, 0}};

	for (uint32_t lie : {3u, 1u << 20, 0x80000000u}) {
		kernel->forget_calls();
		engine.srq_cnt_lie = lie;
		REQUIRE(!ibv_create_srq(user.pd, &srq));
		kernel->last_method(UVERBS_OBJECT_SRQ,
				    UVERBS_METHOD_SRQ_DESTROY);
	}
	engine.srq_cnt_lie = 0;
}

/* Posts a receive of one entry; 0 or errno. */
int post_srq(ibv_srq *srq, uint64_t wr_id)
{
	ibv_sge sge = {0x1000, 64, 0x77};
	ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

/* Believed of a QP that takes from the queue, and of no other. */
void check_srq_completions(User &user, ibv_srq *srq)
{
	pavo_cqe cqe = {};
	ibv_wc wc;
	ibv_qp_init_attr qp_attr = user.another();

	qp_attr.recv_cq = user.recv_cq;
	qp_attr.srq = srq;
	ibv_qp *qp = ibv_create_qp(user.pd, &qp_attr);

	REQUIRE(qp);
	cqe.qpn = qp->qp_num;
	cqe.wqe = 0x55555555;
	cqe.wr_id = 0xfedcba9876543210;
	cqe.flags = PAVO_CQE_RECV | PAVO_CQE_SRQ;
	cqe.opcode = PAVO_WQE_SEND;
	user.side().recv_cq->push(cqe);
	REQUIRE_EQ(ibv_poll_cq(user.recv_cq, 1, &wc), 1);
	REQUIRE_EQ(wc.wr_id, cqe.wr_id);
	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
	cqe.qpn = user.qp->qp_num;
	user.side().recv_cq->push(cqe);
	REQUIRE_EQ(ibv_poll_cq(user.recv_cq, 1, &wc), 1);
	REQUIRE_EQ(wc.wr_id, 0);
	REQUIRE_EQ(wc.status, IBV_WC_GENERAL_ERR);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
}

/* Slots are free when the module has taken them, completions name requests. */
void test_srq()
{
	pavodv_srq dv = {};
	User user;

	calm_engine();
	ibv_srq_init_attr attr = {.attr = {8, 1, 0}};
	ibv_srq *srq = ibv_create_srq(user.pd, &attr);
	REQUIRE(srq);

	SrqSide &side = engine.srqs.at(srq->handle);

	for (uint64_t i = 0; i < 8; i++)
		REQUIRE_EQ(post_srq(srq, 0x123456789abc00 + i), 0);
	REQUIRE_EQ(side.header()->prod, 8);
	REQUIRE_EQ(post_srq(srq, 8), ENOMEM);
	for (uint32_t i = 0; i < 8; i++)
		REQUIRE_EQ(side.wqe(i)->wr_id, 0x123456789abc00 + i);
	REQUIRE_EQ(pavodv_query_srq(srq, &dv), 0);
	REQUIRE_EQ(dv.head, 8);
	REQUIRE_EQ(dv.wqe_cnt, 8);

	/* Taken, not yet complete: room for three and no more. */
	std::atomic_ref(side.header()->cons).store(3);
	for (uint64_t i = 0; i < 3; i++)
		REQUIRE_EQ(post_srq(srq, 100 + i), 0);
	REQUIRE_EQ(post_srq(srq, 103), ENOMEM);
	/* An impossible number is not believed. */
	std::atomic_ref(side.header()->cons).store(0x70000000);
	REQUIRE_EQ(post_srq(srq, 103), ENOMEM);
	REQUIRE_EQ(side.header()->prod, 11);

	check_srq_completions(user, srq);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
}

void test_unsupported()
{
	User user;
	ibv_qp_init_attr attr = {.send_cq = user.send_cq,
				 .recv_cq = user.send_cq,
				 .qp_type = IBV_QPT_RAW_PACKET};

	REQUIRE(!ibv_create_qp(user.pd, &attr));
	REQUIRE_EQ(errno, EOPNOTSUPP);
}

/* There are no flags, but their absence may be said. */
void test_create_flags()
{
	User user;
	ibv_qp_init_attr_ex attr =
		user.another_ex(IBV_QP_INIT_ATTR_CREATE_FLAGS);
	ibv_qp *qp = ibv_create_qp_ex(context, &attr);

	REQUIRE(qp, "errno ", errno);
	REQUIRE_EQ(attr.comp_mask,
		   IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	REQUIRE(!ibv_create_qp_ex(context, &attr));
	REQUIRE_EQ(errno, EOPNOTSUPP);
}

void test_domains()
{
	ibv_td_init_attr td_attr = {};
	User user;
	ibv_qp_init_attr qp_attr = user.another();
	ibv_td *td = ibv_alloc_td(context, &td_attr);

	REQUIRE(td);
	ibv_parent_domain_init_attr attr = {.pd = user.pd, .td = td};

	ibv_pd *parent = ibv_alloc_parent_domain(context, &attr);

	REQUIRE(parent);
	REQUIRE_EQ(ibv_dealloc_td(td), EBUSY);
	REQUIRE_EQ(ibv_dealloc_pd(user.pd), EBUSY);

	ibv_qp *qp = ibv_create_qp(parent, &qp_attr);

	REQUIRE(qp);
	REQUIRE_EQ(kernel->last_method(UVERBS_OBJECT_QP,
				       UVERBS_METHOD_QP_CREATE)
			   .word[UVERBS_ATTR_CREATE_QP_PD_HANDLE],
		   user.pd->handle);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	REQUIRE_EQ(ibv_dealloc_pd(parent), 0);
	REQUIRE_EQ(ibv_dealloc_td(td), 0);
}

struct Heap {
	int calls = 0;
	int alive = 0;
	bool fails = false;
	bool passes = false; /* lets the provider do it */
	ibv_pd *pd = nullptr;
	bool wrong = false;
};

void *heap_alloc(ibv_pd *pd, void *context, size_t size, size_t alignment,
		 uint64_t resource)
{
	auto *heap = static_cast<Heap *>(context);
	void *memory;

	heap->calls++;
	heap->wrong |= pd != heap->pd || resource >> 32 ||
		       (resource != PAVODV_RES_WR_IDS &&
			resource != PAVODV_RES_REQUEST);
	if (heap->passes)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (heap->fails || posix_memalign(&memory, alignment, size))
		return nullptr;
	memset(memory, 0xa5, size);
	heap->alive++;
	return memory;
}

void heap_free(ibv_pd *pd, void *context, void *memory, uint64_t resource)
{
	auto *heap = static_cast<Heap *>(context);

	heap->wrong |= pd != heap->pd || !resource;
	heap->alive--;
	free(memory);
}

void test_allocators()
{
	User user;
	Heap heap;
	ibv_parent_domain_init_attr attr = {
		.pd = user.pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
		.alloc = heap_alloc};

	REQUIRE(!ibv_alloc_parent_domain(context, &attr), "half an allocator");
	REQUIRE_EQ(errno, EINVAL);
	attr.free = heap_free;
	attr.comp_mask = 1u << 31;
	REQUIRE(!ibv_alloc_parent_domain(context, &attr));
	REQUIRE_EQ(errno, EINVAL);
	/* Memory that a confidential guest shares may be used, too: any may. */
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | 1 << 2;
	attr.pd_context = &heap;
	heap.pd = ibv_alloc_parent_domain(context, &attr);
	REQUIRE(heap.pd);

	ibv_qp_init_attr_ex init =
		user.another_ex(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);

	init.send_ops_flags = IBV_QP_EX_WITH_SEND;
	init.pd = heap.pd;

	ibv_qp *qp = ibv_create_qp_ex(context, &init);

	REQUIRE(qp, "errno ", errno);
	REQUIRE_EQ(heap.alive, 3, "both queues, and the request in the making");
	REQUIRE_EQ(ibv_dealloc_pd(heap.pd), EBUSY);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	REQUIRE_EQ(heap.alive, 0);

	heap.fails = true;
	REQUIRE(!ibv_create_qp_ex(context, &init));
	REQUIRE_EQ(errno, ENOMEM);
	heap.fails = false;
	heap.passes = true;
	heap.calls = 0;
	qp = ibv_create_qp_ex(context, &init);
	REQUIRE(qp);
	REQUIRE_EQ(heap.calls, 3);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	REQUIRE_EQ(heap.alive, 0);
	REQUIRE(!heap.wrong, "arguments of its functions");
	REQUIRE_EQ(ibv_dealloc_pd(heap.pd), 0);
}

/* Threads on one QP each, and two more that share one. */
void test_threads()
{
	constexpr int ROUNDS = 2000;
	std::vector<std::unique_ptr<User>> users;
	std::vector<std::thread> threads;
	std::atomic<int> wrong{0}, polled{0};

	calm_engine();
	engine.completes = true;
	for (int i = 0; i < 3; i++)
		users.push_back(std::make_unique<User>());
	for (int i = 0; i < 4; i++) {
		User *user = users[std::min(i, 2)].get();

		threads.emplace_back([&, user] {
			ibv_wc wc[4];

			for (int sent = 0; sent < ROUNDS;) {
				if (!user->send(1, 1))
					sent++;
				int n = ibv_poll_cq(user->send_cq, 4, wc);
				for (int k = 0; k < n; k++)
					wrong += wc[k].status ||
						 wc[k].wr_id != 1;
				polled += n;
			}
		});
	}
	for (auto &thread : threads)
		thread.join();
	for (auto &user : users) {
		ibv_wc wc[16];

		polled += ibv_poll_cq(user->send_cq, 16, wc);
	}
	REQUIRE_EQ(wrong.load(), 0);
	REQUIRE_EQ(polled.load(), 4 * ROUNDS);
	REQUIRE_EQ(engine.doorbells.size(), 4 * ROUNDS);
}

void test_direct_access()
{
	pavodv_context ctx = {};
	pavodv_cq cq = {};
	pavodv_qp qp = {};
	User user;

	calm_engine();
	REQUIRE_EQ(pavodv_query_context(context, &ctx), 0);
	ctx.doorbell->pad0[0] = 0x5a;
	REQUIRE_EQ(engine.doorbell_page()->pad0[0], 0x5a);
	REQUIRE_EQ(pavodv_query_cq(user.send_cq, &cq), 0);
	cq.entries[3].timestamp = 33;
	REQUIRE_EQ(user.side().send_cq->entry(3)->timestamp, 33);
	REQUIRE_EQ(cq.count, 16);
	REQUIRE_EQ(user.send(2, 1), 0);
	REQUIRE_EQ(pavodv_query_qp(user.qp, &qp), 0);
	REQUIRE_EQ(qp.sq_head, 2);
	REQUIRE_EQ(qp.sq_wqe_cnt, 8);
	REQUIRE(!memcmp(qp.sq, user.side().sq.memory, qp.sq_wqe_size));
	REQUIRE_EQ(pavodv_skip_send(user.qp, 6, 70), 0);
	REQUIRE_EQ(pavodv_skip_send(user.qp, 1, 80), ENOMEM);
	REQUIRE_EQ(pavodv_kick_recv(user.qp), 0);
	REQUIRE_EQ(engine.recv_kicks, 1);
}

#if PAVO_VERBS_PORT_SPEED
void test_port_speed()
{
	uint64_t speed = 0;

	REQUIRE_EQ(ibv_query_port_speed(context, 1, &speed), 0);
	REQUIRE_EQ(speed, 1000, "of 100 Mb/s");
	REQUIRE_EQ(ibv_query_port_speed(context, 256, &speed), EINVAL);
}
#endif

#if PAVO_VERBS_ABI >= 65
/* A method of the counter with handle 77, which changed an entry by so much. */
void must_modify(int result, uint64_t entry, uint64_t change, uint64_t value)
{
	const fake::Call call = kernel->last_method(cntr::object, cntr::modify);

	REQUIRE_EQ(result, 0);
	REQUIRE_EQ(call.word.at(0), 77);
	REQUIRE_EQ(call.word.at(1), entry);
	REQUIRE_EQ(call.word.at(2), change);
	REQUIRE_EQ(call.word.at(3), value);
}

void test_completion_counters()
{
	User user;
	ibv_comp_cntr_init_attr attr = {};
	ibv_qp_attach_comp_cntr_attr ops = {
		0, IBV_QP_ATTACH_COMP_CNTR_OP_SEND |
			   IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE};
	ibv_comp_cntr_caps caps = {};
	uint64_t value = 0;

	calm_engine();
	REQUIRE_EQ(ibv_query_comp_cntr_caps(context, &caps), 0);
	REQUIRE_EQ(caps.max_counters, 5);
	REQUIRE_EQ(caps.max_value, UINT64_MAX);
	REQUIRE_EQ(caps.supported_qp_attach_ops, uint32_t{cntr::all_ops});
	attr.type = IBV_COMP_CNTR_TYPE_BYTES;
	REQUIRE(!ibv_create_comp_cntr(context, &attr));
	REQUIRE_EQ(errno, EOPNOTSUPP);
	attr.type = IBV_COMP_CNTR_TYPE_WRS;
	engine.lacks_memory = 1;
	engine.lack = ENOMEM;
	REQUIRE(!ibv_create_comp_cntr(context, &attr));
	REQUIRE_EQ(errno, ENOMEM);
	ibv_comp_cntr *counter = ibv_create_comp_cntr(context, &attr);

	REQUIRE(counter);
	REQUIRE_EQ(ibv_qp_attach_comp_cntr(user.qp, counter, &ops), 0);
	const fake::Call attach =
		kernel->last_method(UVERBS_OBJECT_QP, cntr::attach_method);

	REQUIRE_EQ(attach.word.at(0), user.qp->handle);
	REQUIRE_EQ(attach.word.at(1), 77);
	REQUIRE_EQ(attach.word.at(2), cntr::send | cntr::remote_write);
	must_modify(ibv_set_comp_cntr(counter, 3), cntr::completed, cntr::set,
		    3);
	must_modify(ibv_set_err_comp_cntr(counter, 4), cntr::failed, cntr::set,
		    4);
	must_modify(ibv_inc_comp_cntr(counter, 5), cntr::completed,
		    cntr::increment, 5);
	must_modify(ibv_inc_err_comp_cntr(counter, 6), cntr::failed,
		    cntr::increment, 6);
	REQUIRE_EQ(ibv_read_comp_cntr(counter, &value), 0);
	REQUIRE_EQ(value, 1000);
	REQUIRE_EQ(ibv_read_err_comp_cntr(counter, &value), 0);
	REQUIRE_EQ(value, 1001);
	REQUIRE_EQ(ibv_destroy_comp_cntr(counter), 0);
	REQUIRE_EQ(kernel->last_method(cntr::object, cntr::destroy).word.at(0),
		   77);
}
#endif

} // namespace

void add_object_cases(Cases &cases)
{
	cases.insert(cases.end(), {
		{"impossible answers of the module", test_lying_module},
			{"a shared receive queue", test_srq},
			{"what is not supported says so", test_unsupported},
			{"flags of creation", test_create_flags},
			{"thread and parent domains", test_domains},
			{"functions of a parent domain that allocate",
			 test_allocators},
			{"several threads", test_threads},
			{"direct access", test_direct_access},
#if PAVO_VERBS_PORT_SPEED
			{"speed of a port", test_port_speed},
#endif
#if PAVO_VERBS_ABI >= 65
			{"completion counters", test_completion_counters},
#endif
	});
}
