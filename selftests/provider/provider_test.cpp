// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * provider_test.cpp - the whole provider behind stock libibverbs, in front of a
 * kernel and an engine that the test plays itself (fake_uverbs). Built with
 * sanitizers.
 *
 * The engine is the honest counterpart of the shared memory: it takes doorbells
 * and WQEs and writes completions. Cases that need a dishonest one write into
 * the regions directly.
 */
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <thread>
#include <unistd.h>

#include "abi.h"
#include "fake_uverbs.h"
#include "pavo_dv.h"
#include "tap.h"

namespace {

fake::Kernel *kernel;
ibv_context *context;

/* --------------------------------------------------- the engine's objects */

struct CqSide {
	fake::Region region;
	uint32_t count;
	uint32_t prod = 0;

	pavo_cq_header *header()
	{
		return reinterpret_cast<pavo_cq_header *>(region.memory);
	}

	pavo_cqe *entry(uint32_t index)
	{
		return reinterpret_cast<pavo_cqe *>(region.memory +
						    PAVO_CQ_HEADER_SIZE) +
		       index % count;
	}

	void push(pavo_cqe cqe)
	{
		pavo_cqe *to = entry(prod);
		uint8_t owner = ((prod / count) & 1) ^ 1;

		cqe.flags = static_cast<uint8_t>(cqe.flags | owner);
		memcpy(to, &cqe, offsetof(pavo_cqe, flags));
		std::atomic_ref(to->flags).store(cqe.flags,
						 std::memory_order_release);
		prod++;
	}
};

struct QpSide {
	fake::Region sq, rq;
	uint32_t sq_stride, sq_count, rq_stride, rq_count;
	uint32_t taken = 0; /* send WQEs seen since RESET */
	CqSide *send_cq, *recv_cq;

	pavo_rq_header *rq_header()
	{
		return reinterpret_cast<pavo_rq_header *>(rq.memory);
	}
};

struct Engine {
	fake::Region page;
	std::map<uint32_t, CqSide> cqs; /* by handle */
	std::map<uint32_t, QpSide> qps; /* by QPN, which is the handle too */
	uint32_t next_handle = 1;
	uint32_t next_qpn = 0x100;
	uint32_t db_cons = 0;
	std::vector<uint64_t> doorbells;
	int send_kicks = 0, recv_kicks = 0;
	bool drains = true;
	bool completes = false;
	/* What to lie about in the next creation. */
	uint32_t cqe_cnt_lie = 0, sq_cnt_lie = 0;
	bool short_region = false;
	std::mutex lock;

	pavo_doorbell_page *doorbell_page()
	{
		return reinterpret_cast<pavo_doorbell_page *>(page.memory);
	}

	void drain()
	{
		pavo_doorbell_page *p = doorbell_page();
		uint32_t prod = std::atomic_ref(p->prod).load();

		for (; db_cons != prod; db_cons++)
			take(p->ring[db_cons % PAVO_DB_RING_ENTRIES]);
		std::atomic_ref(p->cons).store(db_cons);
	}

	void take(uint64_t db);
} engine;

/* Follows a doorbell's chain as the module would, checking its form. */
void Engine::take(uint64_t db)
{
	auto qpn = static_cast<uint32_t>(db >> PAVO_DB_QPN_SHIFT);
	QpSide &qp = qps.at(qpn);

	doorbells.push_back(db);
	while (db >> PAVO_DB_SIZE_SHIFT & 0xff) {
		uint64_t offset = (db >> PAVO_DB_OFFSET_SHIFT &
				   PAVO_DB_OFFSET_MAX) *
				  PAVO_WQE_UNIT;
		pavo_next_seg next;

		if (offset != uint64_t{qp.taken % qp.sq_count} * qp.sq_stride)
			abort();
		memcpy(&next, qp.sq.memory + offset, sizeof(next));
		if (completes && next.flags & PAVO_WQE_SIGNALED) {
			pavo_cqe cqe = {};

			cqe.qpn = qpn;
			cqe.wqe = qp.taken;
			cqe.opcode = db & PAVO_DB_OP_MASK;
			qp.send_cq->push(cqe);
		}
		qp.taken++;
		db = uint64_t{next.size} << PAVO_DB_SIZE_SHIFT | next.next;
	}
}

int create_cq(fake::Call &call)
{
	uint32_t handle = engine.next_handle++;
	CqSide &cq = engine.cqs[handle];
	pavo_create_cq_resp resp = {};

	cq.count = std::bit_ceil(
		call.input<uint32_t>(UVERBS_ATTR_CREATE_CQ_CQE));
	cq.region = kernel->make_region(PAVO_CQ_HEADER_SIZE +
					cq.count * sizeof(pavo_cqe));
	resp.ring = cq.region.info;
	resp.cqe_cnt = engine.cqe_cnt_lie ? engine.cqe_cnt_lie : cq.count;
	if (engine.short_region)
		resp.ring.size = 4096;
	call.output(UVERBS_ATTR_CREATE_CQ_RESP_CQE, cq.count);
	call.set_word(UVERBS_ATTR_CREATE_CQ_HANDLE, handle);
	call.output(UVERBS_ATTR_UHW_OUT, resp);
	return 0;
}

int create_qp(fake::Call &call)
{
	auto cap = call.input<ibv_qp_cap>(UVERBS_ATTR_CREATE_QP_CAP);
	uint32_t qpn = engine.next_qpn++;
	QpSide &qp = engine.qps[qpn];
	pavo_create_qp_resp resp = {};

	qp.sq_stride = 256;
	qp.sq_count = std::bit_ceil(cap.max_send_wr);
	qp.rq_stride = 128;
	qp.rq_count = std::bit_ceil(cap.max_recv_wr);
	qp.sq = kernel->make_region(qp.sq_stride * qp.sq_count);
	qp.rq = kernel->make_region(PAVO_RQ_HEADER_SIZE +
				    qp.rq_stride * qp.rq_count);
	qp.send_cq = &engine.cqs.at(static_cast<uint32_t>(
		call.word[UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE]));
	qp.recv_cq = &engine.cqs.at(static_cast<uint32_t>(
		call.word[UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE]));
	cap.max_inline_data = 64;
	resp.sq = qp.sq.info;
	resp.rq = qp.rq.info;
	resp.sq_wqe_size = qp.sq_stride;
	resp.sq_wqe_cnt = engine.sq_cnt_lie ? engine.sq_cnt_lie : qp.sq_count;
	resp.rq_wqe_size = qp.rq_stride;
	resp.rq_wqe_cnt = qp.rq_count;
	call.output(UVERBS_ATTR_CREATE_QP_RESP_CAP, cap);
	call.output(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn);
	call.set_word(UVERBS_ATTR_CREATE_QP_HANDLE, qpn);
	call.output(UVERBS_ATTR_UHW_OUT, resp);
	return 0;
}

int serve_method(fake::Call &call)
{
	switch (call.object << 16 | call.method) {
	case UVERBS_OBJECT_DEVICE << 16 | UVERBS_METHOD_GET_CONTEXT: {
		pavo_alloc_ucontext_resp resp = {};

		resp.abi_version = PAVO_ABI_VERSION;
		resp.doorbell = engine.page.info;
		call.output(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
			    uint32_t{1});
		call.output(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, uint64_t{0});
		call.output(UVERBS_ATTR_UHW_OUT, resp);
		return 0;
	}
	case UVERBS_OBJECT_ASYNC_EVENT << 16 | UVERBS_METHOD_ASYNC_EVENT_ALLOC:
		call.set_word(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
			      static_cast<uint64_t>(
				      ::open("/dev/null", O_RDONLY)));
		return 0;
	case UVERBS_OBJECT_CQ << 16 | UVERBS_METHOD_CQ_CREATE:
		return create_cq(call);
	case UVERBS_OBJECT_CQ << 16 | UVERBS_METHOD_CQ_DESTROY:
		call.output(UVERBS_ATTR_DESTROY_CQ_RESP, uint64_t{0});
		return 0;
	case UVERBS_OBJECT_QP << 16 | UVERBS_METHOD_QP_CREATE:
		return create_qp(call);
	case UVERBS_OBJECT_QP << 16 | UVERBS_METHOD_QP_DESTROY:
		call.output(UVERBS_ATTR_DESTROY_QP_RESP, uint32_t{0});
		return 0;
	default:
		return 0;
	}
}

int serve_write(fake::Call &call)
{
	switch (call.command) {
	case IB_USER_VERBS_CMD_ALLOC_PD:
		call.output(UVERBS_ATTR_CORE_OUT, engine.next_handle++);
		return 0;
	case IB_USER_VERBS_CMD_MODIFY_QP: {
		auto core =
			call.input<ib_uverbs_modify_qp>(UVERBS_ATTR_CORE_IN);

		if (core.qp_state == IBV_QPS_RESET)
			engine.qps.at(core.qp_handle).taken = 0;
		return 0;
	}
	default:
		return 0;
	}
}

int serve(fake::Call &call)
{
	std::lock_guard guard(engine.lock);

	return call.is_method ? serve_method(call) : serve_write(call);
}

int on_write(uint32_t command, uint32_t)
{
	std::lock_guard guard(engine.lock);

	if (command == IB_USER_VERBS_CMD_POST_RECV) {
		engine.recv_kicks++;
		return 0;
	}
	engine.send_kicks++;
	if (engine.drains)
		engine.drain();
	return 0;
}

/* ----------------------------------------------------- the user's objects */

struct User {
	ibv_pd *pd;
	ibv_cq *send_cq, *recv_cq;
	ibv_qp *qp;

	explicit User(ibv_qp_state state = IBV_QPS_RTS, uint32_t wrs = 8,
		      int all_signalled = 0)
	{
		ibv_qp_init_attr attr = {};

		pd = ibv_alloc_pd(context);
		CHECK(pd);
		send_cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
		recv_cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
		CHECK(send_cq && recv_cq, "errno ", errno);
		attr.send_cq = send_cq;
		attr.recv_cq = recv_cq;
		attr.qp_type = IBV_QPT_RC;
		attr.sq_sig_all = all_signalled;
		attr.cap = {wrs, wrs, 4, 4, 64};
		qp = ibv_create_qp(pd, &attr);
		CHECK(qp, "errno ", errno);
		CHECK_EQ(attr.cap.max_inline_data, 64);
		go(state);
	}

	~User()
	{
		if (qp)
			ibv_destroy_qp(qp);
		ibv_destroy_cq(send_cq);
		ibv_destroy_cq(recv_cq);
		ibv_dealloc_pd(pd);
	}

	void go(ibv_qp_state state)
	{
		ibv_qp_attr attr = {};

		attr.qp_state = state;
		CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	}

	QpSide &side() { return engine.qps.at(qp->qp_num); }

	/* A chain of @count sends, wr_id counting from @wr_id. */
	int send(int count, uint64_t wr_id, unsigned flags = IBV_SEND_SIGNALED,
		 int *posted = nullptr)
	{
		std::vector<ibv_send_wr> wr(static_cast<size_t>(count));
		ibv_sge sge = {0x1000, 64, 5};
		ibv_send_wr *bad = nullptr;
		int err;

		for (int i = 0; i < count; i++) {
			wr[i].wr_id = wr_id + static_cast<uint64_t>(i);
			wr[i].next = i + 1 < count ? &wr[i + 1] : nullptr;
			wr[i].sg_list = &sge;
			wr[i].num_sge = 1;
			wr[i].opcode = IBV_WR_SEND;
			wr[i].send_flags = flags;
		}
		err = ibv_post_send(qp, wr.data(), &bad);
		if (posted)
			*posted = err ? static_cast<int>(bad - wr.data()) :
					count;
		return err;
	}

	int recv(int count, uint64_t wr_id)
	{
		ibv_sge sge = {0x2000, 128, 6};
		ibv_recv_wr *bad;

		for (int i = 0; i < count; i++) {
			ibv_recv_wr wr = {};
			int err;

			wr.wr_id = wr_id + static_cast<uint64_t>(i);
			wr.sg_list = &sge;
			wr.num_sge = 1;
			err = ibv_post_recv(qp, &wr, &bad);
			if (err)
				return err;
		}
		return 0;
	}
};

void calm_engine()
{
	engine.drains = true;
	engine.completes = false;
	engine.send_kicks = engine.recv_kicks = 0;
	engine.doorbells.clear();
	engine.doorbell_page()->flags = PAVO_DB_NEED_KICK;
}

/* ------------------------------------------------------ another provider */

/*
 * Stands before ours and gives a device the driver id that netlink would have
 * told for one of a driver in the kernel's list. libibverbs then walks the
 * match tables of all providers for that id.
 */
bool give_driver_id(verbs_sysfs_dev *sysfs)
{
	if (!strcmp(sysfs->ibdev_name, "foreign"))
		sysfs->driver_id = 4242;
	return false;
}

const verbs_match_ent no_match[] = {{}};
const verbs_device_ops stranger = {
	.name = "stranger",
	.match_min_abi_version = 0,
	.match_max_abi_version = 100,
	.match_table = no_match,
	.static_providers = nullptr,
	.match_device = give_driver_id,
	.alloc_context = nullptr,
	.import_context = nullptr,
	.alloc_device = nullptr,
	.uninit_device = nullptr,
};

/* -------------------------------------------------------------- the cases */

void test_list()
{
	ibv_device **list = ibv_get_device_list(nullptr);
	int found = 0;

	CHECK(list);
	for (int i = 0; list[i]; i++) {
		std::string name = ibv_get_device_name(list[i]);

		CHECK(name != "foreign", "has no pavo_abi");
		CHECK(name != "newer", "has a version we do not know");
		if (name == "what-you-like") {
			found++;
			context = ibv_open_device(list[i]);
		}
	}
	CHECK_EQ(found, 1);
	CHECK(context, "errno ", errno);
	ibv_free_device_list(list);
	CHECK(pavodv_is_supported(context));
}

void test_one_doorbell_per_chain()
{
	User user;

	calm_engine();
	CHECK_EQ(user.send(1, 10), 0);
	CHECK_EQ(engine.doorbells.size(), 1);
	CHECK_EQ(engine.send_kicks, 1);
	CHECK_EQ(user.send(6, 20), 0);
	CHECK_EQ(engine.doorbells.size(), 2, "one for six requests");
	CHECK_EQ(engine.send_kicks, 2);
	CHECK_EQ(user.side().taken, 7, "the engine followed the chain");
	CHECK_EQ(engine.doorbells[1] >> PAVO_DB_QPN_SHIFT, user.qp->qp_num);
}

void test_no_kick_when_polled()
{
	User user;

	calm_engine();
	engine.doorbell_page()->flags = 0;
	CHECK_EQ(user.send(3, 1), 0);
	CHECK_EQ(engine.send_kicks, 0);
	engine.drain();
	CHECK_EQ(user.side().taken, 3);
}

void test_queue_full()
{
	User user;
	int posted = 0;

	calm_engine();
	CHECK_EQ(user.send(10, 100, 0, &posted), ENOMEM);
	CHECK_EQ(posted, 8, "bad_wr is the first that found no room");
	CHECK_EQ(user.side().taken, 8, "those before it are posted");
	CHECK_EQ(user.send(1, 200, 0, &posted), ENOMEM);
	CHECK_EQ(posted, 0);
	CHECK_EQ(engine.doorbells.size(), 1);

	/* One signalled completion frees all before it. */
	pavo_cqe cqe = {};
	ibv_wc wc;

	cqe.qpn = user.qp->qp_num;
	cqe.wqe = 5;
	cqe.opcode = PAVO_WQE_SEND;
	user.side().send_cq->push(cqe);
	CHECK_EQ(ibv_poll_cq(user.send_cq, 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 105);
	CHECK_EQ(user.send(10, 300, 0, &posted), ENOMEM);
	CHECK_EQ(posted, 6);
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
	CHECK_EQ(ibv_post_send(user.qp, wr, &bad), EINVAL);
	CHECK(bad == &wr[1]);
	CHECK_EQ(user.side().taken, 1, "the one before it was posted");
	CHECK_EQ(user.send(1, 5), 0);
	CHECK_EQ(user.side().taken, 2, "the bad one left no hole");
}

void test_states()
{
	static constexpr struct {
		ibv_qp_state state;
		int send, recv;
	} cases[] = {
		{IBV_QPS_RESET, EINVAL, EINVAL}, {IBV_QPS_INIT, EINVAL, 0},
		{IBV_QPS_RTR, EINVAL, 0},	 {IBV_QPS_RTS, 0, 0},
		{IBV_QPS_SQE, 0, 0},		 {IBV_QPS_ERR, 0, 0},
	};

	for (auto &c : cases) {
		User user(c.state);
		int posted = -1;

		calm_engine();
		CHECK_EQ(user.send(1, 1, 0, &posted), c.send, c.state);
		CHECK_EQ(posted, c.send ? 0 : 1);
		CHECK_EQ(user.recv(1, 1), c.recv, c.state);
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
		CHECK_EQ(user.send(1, 1), 0);
	CHECK_EQ(engine.send_kicks, 0);
	CHECK_EQ(user.send(1, 1), 0, "a kick makes room");
	CHECK_EQ(engine.send_kicks, 1);

	engine.drains = false;
	while (page->prod - page->cons < PAVO_DB_RING_ENTRIES)
		CHECK_EQ(user.send(1, 1), 0);
	CHECK_EQ(pavodv_ring(context, 0), EAGAIN);
	CHECK_EQ(engine.send_kicks, 1);

	int posted = -1;

	CHECK_EQ(user.send(2, 1, 0, &posted), ENOMEM, "nobody drains");
	CHECK_EQ(posted, 0, "nothing of the chain was posted");
	CHECK(engine.send_kicks > 2 && engine.send_kicks < 1000,
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
		CHECK_EQ(pavodv_ring(context, 0), 0);
		CHECK(page->prod - cons <= 6, "the count is the provider's");
		forget_doorbells();
	}
	engine.drains = true;

	User user;

	CHECK_EQ(user.send(1, 1), 0);
	CHECK_EQ(user.side().taken, 1);
}

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

		CHECK_EQ(user.send(burst, next), 0);
		next += static_cast<uint64_t>(burst);
		while (seen < next) {
			int n = ibv_poll_cq(user.send_cq, 1 + round % 3, wc);

			CHECK(n > 0);
			for (int i = 0; i < n; i++) {
				CHECK_EQ(wc[i].wr_id, seen);
				CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
				CHECK_EQ(wc[i].opcode, IBV_WC_SEND);
				CHECK_EQ(wc[i].qp_num, user.qp->qp_num);
				seen++;
			}
			CHECK_EQ(user.side().send_cq->header()->cons, seen);
		}
	}
	CHECK_EQ(ibv_poll_cq(user.send_cq, 20, wc), 0);
}

void test_signalling()
{
	User some, all(IBV_QPS_RTS, 8, 1);
	ibv_wc wc[8];

	calm_engine();
	engine.completes = true;
	CHECK_EQ(some.send(3, 1, 0), 0);
	CHECK_EQ(some.send(1, 4), 0);
	CHECK_EQ(ibv_poll_cq(some.send_cq, 8, wc), 1);
	CHECK_EQ(wc[0].wr_id, 4);
	CHECK_EQ(all.send(3, 1, 0), 0);
	CHECK_EQ(ibv_poll_cq(all.send_cq, 8, wc), 3, "sq_sig_all");
}

void test_receiving()
{
	User user;
	pavo_cqe cqe = {};
	ibv_wc wc;

	calm_engine();
	CHECK_EQ(user.recv(8, 40), 0);
	CHECK_EQ(user.side().rq_header()->prod, 8);
	CHECK_EQ(engine.recv_kicks, 0, "posting receives is memory only");
	CHECK_EQ(user.recv(1, 99), ENOMEM);

	pavo_data_seg data;

	memcpy(&data,
	       user.side().rq.memory + PAVO_RQ_HEADER_SIZE +
		       7 * user.side().rq_stride + sizeof(pavo_next_seg),
	       sizeof(data));
	CHECK_EQ(data.va, 0x2000);

	cqe.qpn = user.qp->qp_num;
	cqe.flags = PAVO_CQE_RECV | PAVO_CQE_IMM;
	cqe.opcode = PAVO_WQE_WRITE_IMM;
	cqe.imm = 1234;
	user.side().recv_cq->push(cqe);
	CHECK_EQ(ibv_poll_cq(user.recv_cq, 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 40);
	CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(wc.imm_data, 1234);
	CHECK_EQ(user.recv(1, 99), 0);

	user.side().rq_header()->flags = PAVO_RQ_NEED_KICK;
	cqe.wqe = 1;
	user.side().recv_cq->push(cqe);
	CHECK_EQ(ibv_poll_cq(user.recv_cq, 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 41);
	CHECK_EQ(user.recv(1, 100), 0);
	CHECK_EQ(engine.recv_kicks, 1, "in error the module must be told");
}

void test_hostile_cqes()
{
	User user;
	ibv_wc wc[16];
	pavo_cqe cqe = {};
	CqSide &cq = *user.side().send_cq;

	calm_engine();
	CHECK_EQ(user.send(2, 7), 0);
	cqe.qpn = user.qp->qp_num;
	cqe.opcode = PAVO_WQE_SEND;
	for (uint32_t wqe : {2u, 100u, 0x80000000u, UINT32_MAX}) {
		cqe.wqe = wqe;
		cq.push(cqe);
		CHECK_EQ(ibv_poll_cq(user.send_cq, 1, wc), 1);
		CHECK_EQ(wc[0].status, IBV_WC_GENERAL_ERR);
		CHECK_EQ(wc[0].wr_id, 0);
		CHECK_EQ(wc[0].qp_num, user.qp->qp_num);
	}
	cqe.wqe = 0;
	for (uint32_t qpn : {0u, 1u, 0xffffffu, 0x1000000u, UINT32_MAX}) {
		cqe.qpn = qpn;
		cq.push(cqe);
	}
	CHECK_EQ(ibv_poll_cq(user.send_cq, 16, wc), 0, "QPs nobody has");
	CHECK_EQ(cq.header()->cons, cq.prod, "but they are consumed");
	cqe.qpn = user.qp->qp_num;
	cq.push(cqe);
	CHECK_EQ(ibv_poll_cq(user.send_cq, 16, wc), 1);
	CHECK_EQ(wc[0].wr_id, 7, "the real one is not lost by that");

	/* The index is the provider's, whatever the header says. */
	cq.header()->cons = 12345;
	cqe.wqe = 1;
	cq.push(cqe);
	CHECK_EQ(ibv_poll_cq(user.send_cq, 16, wc), 1);
	CHECK_EQ(wc[0].wr_id, 8);
	CHECK_EQ(cq.header()->cons, cq.prod);
}

void test_endless_ring()
{
	User user;
	ibv_wc wc[64];
	CqSide &cq = *user.side().send_cq;
	std::atomic<bool> stop{false};

	/* Somebody flips owner bits as fast as it can. */
	std::thread writer([&] {
		uint8_t owner = 0;

		while (!stop) {
			for (uint32_t i = 0; i < cq.count; i++)
				std::atomic_ref(cq.entry(i)->flags)
					.store(owner);
			owner ^= PAVO_CQE_OWNER;
		}
	});

	for (int i = 0; i < 1000; i++) {
		int n = ibv_poll_cq(user.send_cq, 64, wc);

		CHECK(n >= 0 && n <= 64);
	}
	stop = true;
	writer.join();
}

void test_destroyed_qp()
{
	User user, other;
	pavo_cqe cqe = {};
	CqSide &cq = *user.side().send_cq;
	ibv_wc wc[4];

	/* A second QP on the first one's CQ. */
	ibv_qp_init_attr attr = {};

	attr.send_cq = attr.recv_cq = user.send_cq;
	attr.qp_type = IBV_QPT_RC;
	attr.cap = {8, 8, 1, 1, 0};

	ibv_qp *doomed = ibv_create_qp(user.pd, &attr);

	CHECK(doomed);
	cqe.opcode = PAVO_WQE_SEND;
	cqe.qpn = doomed->qp_num;
	cq.push(cqe);
	cqe.qpn = user.qp->qp_num;
	calm_engine();
	CHECK_EQ(user.send(1, 77), 0);
	cq.push(cqe);
	CHECK_EQ(ibv_destroy_qp(doomed), 0);

	/* Its number is given out again at once. */
	engine.next_qpn--;
	doomed = ibv_create_qp(user.pd, &attr);
	CHECK(doomed);
	CHECK_EQ(ibv_poll_cq(user.send_cq, 4, wc), 1);
	CHECK_EQ(wc[0].wr_id, 77);
	CHECK_EQ(ibv_destroy_qp(doomed), 0);
}

void test_reset()
{
	User user;
	pavo_cqe cqe = {};
	ibv_wc wc[4];

	calm_engine();
	engine.completes = true;
	CHECK_EQ(user.send(5, 1), 0);
	CHECK_EQ(user.recv(5, 1), 0);
	cqe.qpn = user.qp->qp_num;
	cqe.flags = PAVO_CQE_RECV;
	cqe.opcode = PAVO_WQE_SEND;
	user.side().recv_cq->push(cqe);
	user.go(IBV_QPS_RESET);
	CHECK_EQ(user.side().rq_header()->prod, 0, "counted since RESET");
	CHECK_EQ(ibv_poll_cq(user.send_cq, 4, wc), 0, "entries of the past");
	CHECK_EQ(ibv_poll_cq(user.recv_cq, 4, wc), 0, "entries of the past");

	user.go(IBV_QPS_RTS);
	CHECK_EQ(user.send(8, 50), 0, "all slots are free again");
	CHECK_EQ(user.recv(8, 60), 0);
	CHECK_EQ(ibv_poll_cq(user.send_cq, 1, wc), 1);
	CHECK_EQ(wc[0].wr_id, 50);
}

void test_lying_module()
{
	ibv_qp_init_attr attr = {};
	User user;

	for (uint32_t lie : {3u, 0x80000000u, UINT32_MAX}) {
		engine.cqe_cnt_lie = lie;
		CHECK(!ibv_create_cq(context, 16, nullptr, nullptr, 0));
		CHECK_EQ(errno, EPROTO);
	}
	engine.cqe_cnt_lie = 0;
	engine.short_region = true;
	CHECK(!ibv_create_cq(context, 1024, nullptr, nullptr, 0));
	engine.short_region = false;
	kernel->last_method(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);

	attr.send_cq = attr.recv_cq = user.send_cq;
	attr.qp_type = IBV_QPT_RC;
	attr.cap = {8, 8, 1, 1, 0};
	for (uint32_t lie : {3u, 1u << 20, 0x80000000u}) {
		kernel->forget_calls();
		engine.sq_cnt_lie = lie;
		CHECK(!ibv_create_qp(user.pd, &attr));
		kernel->last_method(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	}
	engine.sq_cnt_lie = 0;
}

void test_unsupported()
{
	ibv_qp_init_attr attr = {};
	ibv_srq_init_attr srq = {};
	User user;

	CHECK(!ibv_create_srq(user.pd, &srq));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(ibv_resize_cq(user.send_cq, 32), EOPNOTSUPP);
	attr.send_cq = attr.recv_cq = user.send_cq;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	CHECK(!ibv_create_qp(user.pd, &attr));
	CHECK_EQ(errno, EOPNOTSUPP);
}

void test_domains()
{
	ibv_td_init_attr td_attr = {};
	ibv_parent_domain_init_attr attr = {};
	ibv_qp_init_attr qp_attr = {};
	User user;
	ibv_td *td = ibv_alloc_td(context, &td_attr);

	CHECK(td);
	attr.pd = user.pd;
	attr.td = td;

	ibv_pd *parent = ibv_alloc_parent_domain(context, &attr);

	CHECK(parent);
	CHECK_EQ(ibv_dealloc_td(td), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(user.pd), EBUSY);
	qp_attr.send_cq = qp_attr.recv_cq = user.send_cq;
	qp_attr.qp_type = IBV_QPT_RC;
	qp_attr.cap = {8, 8, 1, 1, 0};

	ibv_qp *qp = ibv_create_qp(parent, &qp_attr);

	CHECK(qp);
	CHECK_EQ(kernel->last_method(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE)
			 .word[UVERBS_ATTR_CREATE_QP_PD_HANDLE],
		 user.pd->handle);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_dealloc_pd(parent), 0);
	CHECK_EQ(ibv_dealloc_td(td), 0);
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
				int n;

				if (!user->send(1, 1))
					sent++;
				n = ibv_poll_cq(user->send_cq, 4, wc);
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
	CHECK_EQ(wrong.load(), 0);
	CHECK_EQ(polled.load(), 4 * ROUNDS);
	CHECK_EQ(engine.doorbells.size(), 4 * ROUNDS);
}

void test_direct_access()
{
	pavodv_context ctx = {};
	pavodv_cq cq = {};
	pavodv_qp qp = {};
	User user;

	calm_engine();
	CHECK_EQ(pavodv_query_context(context, &ctx), 0);
	ctx.doorbell->pad0[0] = 0x5a;
	CHECK_EQ(engine.doorbell_page()->pad0[0], 0x5a);
	CHECK_EQ(pavodv_query_cq(user.send_cq, &cq), 0);
	cq.entries[3].timestamp = 33;
	CHECK_EQ(user.side().send_cq->entry(3)->timestamp, 33);
	CHECK_EQ(cq.count, 16);
	CHECK_EQ(user.send(2, 1), 0);
	CHECK_EQ(pavodv_query_qp(user.qp, &qp), 0);
	CHECK_EQ(qp.sq_head, 2);
	CHECK_EQ(qp.sq_wqe_cnt, 8);
	CHECK(!memcmp(qp.sq, user.side().sq.memory, qp.sq_wqe_size));
	CHECK_EQ(pavodv_skip_send(user.qp, 6, 70), 0);
	CHECK_EQ(pavodv_skip_send(user.qp, 1, 80), ENOMEM);
	CHECK_EQ(pavodv_kick_recv(user.qp), 0);
	CHECK_EQ(engine.recv_kicks, 1);
}

void test_close()
{
	CHECK_EQ(ibv_close_device(context), 0);
}

} // namespace

int main()
{
	fake::Kernel the_kernel({{.name = "what-you-like", .pavo_abi = "1"},
				 {.name = "newer", .pavo_abi = "99"},
				 {.name = "foreign", .pavo_abi = ""}});

	kernel = &the_kernel;
	/* No other copy of a provider than the one built in here. */
	unsetenv("IBV_DRIVERS");
	unsetenv("RDMAV_DRIVERS");
	kernel->handler = serve;
	kernel->on_write = on_write;
	engine.page = kernel->make_region(sizeof(pavo_doorbell_page));
	
	pavo_verbs_register_driver(&stranger);
	return tap::run({
		{"devices are known by pavo_abi alone", test_list},
		{"one doorbell and one kick per chain",
		 test_one_doorbell_per_chain},
		{"no kick while the page is polled", test_no_kick_when_polled},
		{"a full send queue", test_queue_full},
		{"a bad request inside a chain", test_bad_request_in_chain},
		{"posting in every state", test_states},
		{"a full doorbell ring", test_ring_full},
		{"overwritten doorbell indices", test_hostile_page},
		{"polling, many passes of the ring", test_polling},
		{"signalled and unsignalled", test_signalling},
		{"receives", test_receiving},
		{"absurd completion entries", test_hostile_cqes},
		{"a completion ring that never ends", test_endless_ring},
		{"entries of a destroyed QP, number reused",
		 test_destroyed_qp},
		{"entries and indices across RESET", test_reset},
		{"impossible answers of the module", test_lying_module},
		{"what is not supported says so", test_unsupported},
		{"thread and parent domains", test_domains},
		{"several threads", test_threads},
		{"direct access", test_direct_access},
		{"closing", test_close},
	});
}
