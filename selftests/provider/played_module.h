/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * played_module.h - the module as the provider's tests play it.
 *
 * Owns: the engine, an honest counterpart of the shared memory (it takes
 * doorbells and WQEs and writes completions), and User, a set of objects made
 * through libibverbs. Used by the *_cases.cpp and provider_test.cpp. Cases that
 * need a dishonest counterpart write into the regions directly.
 */
#ifndef PAVO_PLAYED_MODULE_H
#define PAVO_PLAYED_MODULE_H

#include <atomic>
#include <cerrno>
#include <cstring>
#include <infiniband/verbs.h>
#include <map>
#include <mutex>
#include <vector>

#include "fake_uverbs.h"
#include "pavo_dv.h"
#include "../common/cases.h"

extern fake::Kernel *kernel;
extern ibv_context *context;

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

struct SrqSide {
	fake::Region rq;
	uint32_t stride, count;

	pavo_rq_header *header()
	{
		return reinterpret_cast<pavo_rq_header *>(rq.memory);
	}

	/* First segment of the WQE with that free-running number. */
	pavo_srq_seg *wqe(uint32_t number)
	{
		return reinterpret_cast<pavo_srq_seg *>(
			rq.memory + PAVO_RQ_HEADER_SIZE +
			number % count * stride);
	}
};

struct Engine {
	fake::Region page;
	std::map<uint32_t, CqSide> cqs; /* by handle */
	std::map<uint32_t, QpSide> qps; /* by QPN, which is the handle too */
	std::map<uint32_t, SrqSide> srqs; /* by handle */
	uint32_t next_handle = 1;
	uint32_t next_qpn = 0x100;
	uint32_t db_cons = 0;
	std::vector<uint64_t> doorbells;
	/* As the kernel does with a process whose credentials have changed. */
	bool refuses_writes = false;
	/* It has no method to kick or to ring, only commands. */
	bool is_old = false;
	/* So many kicks find no memory, by whatever way they come, and say so by this. */
	int lacks_memory = 0, lack = ENOMEM;
	int send_kicks = 0, recv_kicks = 0, refused = 0;
	int rung = 0; /* doorbells by calls */
	bool drains = true;
	bool completes = false;
	/* The lies of the next creation. */
	uint32_t cqe_cnt_lie = 0, sq_cnt_lie = 0, srq_cnt_lie = 0;
	bool short_region = false;
	/* The version that the module claims; one of another version has its own. */
	uint32_t abi_version = PAVO_ABI_VERSION;
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
};

extern Engine engine;

/* For fake::Kernel: creates, destroys and drains on behalf of the engine. */
int serve(fake::Call &call);
int on_write(uint32_t command, uint32_t qp_handle);

/* Back to a module that has to be kicked, drains and completes nothing. */
void calm_engine();

/* ----------------------------------------------------- the user's objects */

struct User {
	ibv_pd *pd;
	ibv_cq *send_cq, *recv_cq;
	ibv_qp *qp;

	explicit User(ibv_qp_state state = IBV_QPS_RTS, uint32_t wrs = 8,
		      int all_signalled = 0)
	{
		pd = ibv_alloc_pd(context);
		REQUIRE(pd);
		send_cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
		recv_cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
		REQUIRE(send_cq && recv_cq, "errno ", errno);
		ibv_qp_init_attr attr = {.send_cq = send_cq,
					 .recv_cq = recv_cq,
					 .cap = {wrs, wrs, 4, 4, 64},
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = all_signalled};
		qp = ibv_create_qp(pd, &attr);
		REQUIRE(qp, "errno ", errno);
		REQUIRE_EQ(attr.cap.max_inline_data, 64);
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
		ibv_qp_attr attr = {.qp_state = state};

		REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	}

	/* One more queue pair on the send CQ, in whatever way. */
	ibv_qp_init_attr another() const
	{
		return {.send_cq = send_cq,
			.recv_cq = send_cq,
			.cap = {8, 8, 1, 1, 0},
			.qp_type = IBV_QPT_RC};
	}

	ibv_qp_init_attr_ex another_ex(uint32_t more) const
	{
		return {.send_cq = send_cq,
			.recv_cq = send_cq,
			.cap = {8, 8, 1, 1, 64},
			.qp_type = IBV_QPT_RC,
			.comp_mask = IBV_QP_INIT_ATTR_PD | more,
			.pd = pd};
	}

	QpSide &side() { return engine.qps.at(qp->qp_num); }

	/* A chain of @count sends, wr_id counting from @wr_id. */
	int send(int count, uint64_t wr_id, unsigned flags = IBV_SEND_SIGNALED,
		 int *posted = nullptr)
	{
		std::vector<ibv_send_wr> wr(static_cast<size_t>(count));
		ibv_sge sge = {0x1000, 64, 5};
		ibv_send_wr *bad = nullptr;

		for (int i = 0; i < count; i++) {
			wr[i].wr_id = wr_id + static_cast<uint64_t>(i);
			wr[i].next = i + 1 < count ? &wr[i + 1] : nullptr;
			wr[i].sg_list = &sge;
			wr[i].num_sge = 1;
			wr[i].opcode = IBV_WR_SEND;
			wr[i].send_flags = flags;
		}
		int err = ibv_post_send(qp, wr.data(), &bad);
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
			ibv_recv_wr wr = {.wr_id = wr_id +
						   static_cast<uint64_t>(i),
					  .sg_list = &sge,
					  .num_sge = 1};
			int err = ibv_post_recv(qp, &wr, &bad);

			if (err)
				return err;
		}
		return 0;
	}
};

/* The lists of cases. */
using common::Cases;

void add_post_cases(Cases &cases);
void add_poll_cases(Cases &cases);
void add_object_cases(Cases &cases);
void add_direct_cases(Cases &cases);
void add_table_cases(Cases &cases);
void add_fork_cases(Cases &cases);

#endif /* PAVO_PLAYED_MODULE_H */
