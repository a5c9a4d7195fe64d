// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * abi_commands.cpp - the functions of libibverbs that the provider calls: the
 * length of every command and response, and where each argument arrives.
 */
#include "abi_probe.h"
#include "layout.h"

#include <array>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>

namespace {

int serve_write(fake::Call &call)
{
	switch (call.command) {
	case IB_USER_VERBS_CMD_ALLOC_PD:
		call.output(UVERBS_ATTR_CORE_OUT, uint32_t{11});
		return 0;
	case IB_USER_VERBS_CMD_REG_MR:
	case IB_USER_VERBS_CMD_REREG_MR:
		call.output(UVERBS_ATTR_CORE_OUT,
			    std::array<uint32_t, 3>{21, 22, 23});
		return 0;
	case IB_USER_VERBS_CMD_ALLOC_MW:
		call.output(UVERBS_ATTR_CORE_OUT,
			    std::array<uint32_t, 2>{31, 32});
		return 0;
	case IB_USER_VERBS_CMD_CREATE_AH:
		call.output(UVERBS_ATTR_CORE_OUT, uint32_t{41});
		return 0;
	case IB_USER_VERBS_CMD_RESIZE_CQ:
		call.output(UVERBS_ATTR_CORE_OUT, uint32_t{127});
		return 0;
	case IB_USER_VERBS_CMD_QUERY_QP:
		return ENOENT;
	default:
		return 0;
	}
}

int serve_method(fake::Call &call)
{
	switch (call.object << 16 | call.method) {
	case UVERBS_OBJECT_DEVICE << 16 | UVERBS_METHOD_GET_CONTEXT:
		call.output(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
			    uint32_t{5});
		call.output(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, CORE_SUPPORT);
		call.output(UVERBS_ATTR_UHW_OUT, ANSWER);
		return 0;
	case UVERBS_OBJECT_ASYNC_EVENT << 16 | UVERBS_METHOD_ASYNC_EVENT_ALLOC:
		call.set_word(
			UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
			static_cast<uint64_t>(::open("/dev/null", O_RDONLY)));
		return 0;
	case UVERBS_OBJECT_CQ << 16 | UVERBS_METHOD_CQ_CREATE:
		call.output(UVERBS_ATTR_CREATE_CQ_RESP_CQE, uint32_t{63});
		call.set_word(UVERBS_ATTR_CREATE_CQ_HANDLE, 51);
		call.output(UVERBS_ATTR_UHW_OUT, ANSWER);
		return 0;
	case UVERBS_OBJECT_CQ << 16 | UVERBS_METHOD_CQ_DESTROY:
		call.output(UVERBS_ATTR_DESTROY_CQ_RESP, uint64_t{0});
		return 0;
	case UVERBS_OBJECT_QP << 16 | UVERBS_METHOD_QP_DESTROY:
		call.output(UVERBS_ATTR_DESTROY_QP_RESP, uint32_t{0});
		return 0;
	case UVERBS_OBJECT_QP << 16 | UVERBS_METHOD_QP_CREATE:
		call.output(UVERBS_ATTR_CREATE_QP_RESP_CAP,
			    ibv_qp_cap{1, 2, 3, 4, 5});
		call.output(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, uint32_t{62});
		call.set_word(UVERBS_ATTR_CREATE_QP_HANDLE, 61);
		call.output(UVERBS_ATTR_UHW_OUT, ANSWER);
		return 0;
	case UVERBS_OBJECT_MR << 16 | UVERBS_METHOD_REG_DMABUF_MR:
		call.set_word(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 71);
		call.output(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, uint32_t{72});
		call.output(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, uint32_t{73});
		return 0;
	default:
		return 0;
	}
}

} // namespace

int serve(fake::Call &call)
{
	return call.is_method ? serve_method(call) : serve_write(call);
}

namespace {

/* A command with eight bytes of the driver's on both ends. */
template <class Command> struct Request {
	Command cmd = {};
	uint64_t driver = MAGIC;
};

using DriverWords = std::array<uint32_t, 2>;

template <class Kernel> struct Response {
	verbs_response<Kernel, DriverWords> room = {};
	uint64_t guard = MAGIC;
};

/* The library took our MAGIC for the driver's part, and nothing else. */
void check_lengths(const fake::Call &call, const void *driver_out)
{
	REQUIRE(call.in.count(UVERBS_ATTR_UHW_IN), "command shorter than ours");
	REQUIRE_EQ(call.in.at(UVERBS_ATTR_UHW_IN).size(), 8, "command length");
	REQUIRE(call.input<uint64_t>(UVERBS_ATTR_UHW_IN) == MAGIC);
	REQUIRE(call.out.count(UVERBS_ATTR_UHW_OUT),
		"response shorter than ours");
	REQUIRE_EQ(call.out.at(UVERBS_ATTR_UHW_OUT).second, 8,
		   "response length");
	REQUIRE(call.out.at(UVERBS_ATTR_UHW_OUT).first == driver_out);
}

void test_pd_commands()
{
	Request<verbs_cmd_alloc_pd> request;
	Response<ib_uverbs_alloc_pd_resp> resp;
	ibv_pd pd = {};

	REQUIRE_EQ(ibv_cmd_alloc_pd(context, &pd, &request.cmd, sizeof(request),
				    resp.room.core(), resp.room.size()),
		   0);
	check_lengths(kernel->last_command(IB_USER_VERBS_CMD_ALLOC_PD),
		      &resp.room.driver);
	REQUIRE_EQ(pd.handle, 11);
	REQUIRE_EQ(ibv_cmd_dealloc_pd(&pd), 0);
	kernel->last_method(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
}

void test_mr_commands()
{
	Request<verbs_cmd_reg_mr> request;
	Response<ib_uverbs_reg_mr_resp> resp;
	verbs_mr mr;

	memset(&mr, 0xa5, sizeof(mr));
	ibv_pd pd = {.context = context, .handle = 12};
	REQUIRE_EQ(ibv_cmd_reg_mr(&pd, &mr, 1000, 0x7000, 5, &mr, &request.cmd,
				  sizeof(request), resp.room.core(),
				  resp.room.size()),
		   0);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_REG_MR);
	auto core = call.input<ib_uverbs_reg_mr>(UVERBS_ATTR_CORE_IN);

	check_lengths(call, &resp.room.driver);
	REQUIRE_EQ(core.start, reinterpret_cast<uintptr_t>(&mr));
	REQUIRE_EQ(core.length, 1000);
	REQUIRE_EQ(core.hca_va, 0x7000);
	REQUIRE_EQ(core.access_flags, 5);
	REQUIRE_EQ(core.pd_handle, 12);
	REQUIRE_EQ(mr.ibv_mr.lkey, 22);
	REQUIRE_EQ(mr.ibv_mr.rkey, 23);
	REQUIRE_EQ(static_cast<int>(mr.mr_type), VERBS_MR_KIND_MEMORY);
	REQUIRE_EQ(mr.access, 5);
	REQUIRE_EQ(ibv_cmd_dereg_mr(&mr), 0);
	kernel->last_method(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
}

void test_rereg_commands()
{
	Request<verbs_cmd_rereg_mr> request;
	Response<ib_uverbs_rereg_mr_resp> resp;
	verbs_mr mr = {};
	ibv_pd pd = {};

	pd.context = mr.ibv_mr.context = context;
	pd.handle = 13;
	mr.ibv_mr.handle = 14;
	REQUIRE_EQ(ibv_cmd_rereg_mr(&mr, IBV_REREG_MR_CHANGE_PD, &pd, 2000,
				    0x8000, 7, &pd, &request.cmd,
				    sizeof(request), resp.room.core(),
				    resp.room.size()),
		   0);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_REREG_MR);
	auto core = call.input<ib_uverbs_rereg_mr>(UVERBS_ATTR_CORE_IN);

	check_lengths(call, &resp.room.driver);
	REQUIRE_EQ(core.mr_handle, 14);
	REQUIRE_EQ(core.flags, IBV_REREG_MR_CHANGE_PD);
	REQUIRE_EQ(core.start, reinterpret_cast<uintptr_t>(&pd));
	REQUIRE_EQ(core.length, 2000);
	REQUIRE_EQ(core.hca_va, 0x8000);
	REQUIRE_EQ(core.pd_handle, 13);
	REQUIRE_EQ(core.access_flags, 7);
}

void test_dmabuf_commands()
{
	verbs_mr mr;

	memset(&mr, 0xa5, sizeof(mr));
	ibv_pd pd = {.context = context, .handle = 15};
	int err = ibv_cmd_reg_dmabuf_mr(&pd, 0x1000, 3000, 0x9000, 33, 9, &mr,
					nullptr);
	REQUIRE_EQ(err, 0);

	fake::Call call = kernel->last_method(UVERBS_OBJECT_MR,
					      UVERBS_METHOD_REG_DMABUF_MR);

	REQUIRE_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE], 15);
	REQUIRE_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_OFFSET], 0x1000);
	REQUIRE_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_LENGTH], 3000);
	REQUIRE_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_IOVA], 0x9000);
	REQUIRE_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_FD], 33);
	REQUIRE_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS], 9);
	REQUIRE_EQ(mr.ibv_mr.lkey, 72);
	REQUIRE_EQ(static_cast<int>(mr.mr_type), VERBS_MR_KIND_DMABUF);
}

void test_mw_commands()
{
	Request<verbs_cmd_alloc_mw> request;
	Response<ib_uverbs_alloc_mw_resp> resp;
	ibv_mw mw = {};
	ibv_pd pd = {.context = context, .handle = 16};

	REQUIRE_EQ(ibv_cmd_alloc_mw(&pd, IBV_MW_TYPE_2, &mw, &request.cmd,
				    sizeof(request), resp.room.core(),
				    resp.room.size()),
		   0);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_ALLOC_MW);

	check_lengths(call, &resp.room.driver);
	REQUIRE_EQ(call.input<ib_uverbs_alloc_mw>(UVERBS_ATTR_CORE_IN).mw_type,
		   IBV_MW_TYPE_2);
	REQUIRE_EQ(mw.rkey, 32);
	REQUIRE_EQ(mw.handle, 31);
	REQUIRE_EQ(ibv_cmd_dealloc_mw(&mw), 0);
	kernel->last_method(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY);
}

void test_cq_commands()
{
	Request<verbs_cmd_create_cq> request;
	Response<ib_uverbs_create_cq_resp> resp;
	verbs_cq cq = {};

	REQUIRE_EQ(ibv_cmd_create_cq(context, 60, nullptr, 2, &cq.cq,
				     &request.cmd, sizeof(request),
				     resp.room.core(), resp.room.size()),
		   0);

	fake::Call call =
		kernel->last_method(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);

	check_lengths(call, &resp.room.driver);
	REQUIRE_EQ(call.input<uint32_t>(UVERBS_ATTR_CREATE_CQ_CQE), 60);
	REQUIRE_EQ(call.input<uint32_t>(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR), 2);
	REQUIRE_EQ(cq.cq.handle, 51);
	REQUIRE_EQ(cq.cq.cqe, 63);
	REQUIRE(resp.guard == MAGIC);
	REQUIRE(!memcmp(&resp.room.driver, &ANSWER, sizeof(ANSWER)));

	REQUIRE_EQ(ibv_cmd_req_notify_cq(&cq.cq, 1), 0);
	call = kernel->last_command(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	REQUIRE_EQ(call.input<ib_uverbs_req_notify_cq>(UVERBS_ATTR_CORE_IN)
			   .solicited_only,
		   1);
	REQUIRE_EQ(ibv_cmd_destroy_cq(&cq.cq), 0);
}

void test_cq_changes()
{
	Request<verbs_cmd_resize_cq> request;
	Response<ib_uverbs_resize_cq_resp> resp;
	verbs_cmd_modify_cq modify = {};
	Objects o;

	o.cq.handle = 52;
	REQUIRE_EQ(ibv_cmd_resize_cq(&o.cq, 100, &request.cmd, sizeof(request),
				     resp.room.core(), resp.room.size()),
		   0);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_RESIZE_CQ);
	auto core = call.input<ib_uverbs_resize_cq>(UVERBS_ATTR_CORE_IN);

	check_lengths(call, &resp.room.driver);
	REQUIRE_EQ(core.cq_handle, 52);
	REQUIRE_EQ(core.cqe, 100);
	REQUIRE_EQ(o.cq.cqe, 127);

	ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
				   .moderate = {33, 44}};
	REQUIRE_EQ(ibv_cmd_modify_cq(&o.cq, &attr, &modify, sizeof(modify)), 0);
	call = kernel->last_command(IB_USER_VERBS_EX_CMD_MODIFY_CQ |
				    IB_USER_VERBS_CMD_FLAG_EXTENDED);

	auto sent = call.input<ib_uverbs_ex_modify_cq>(UVERBS_ATTR_CORE_IN);

	REQUIRE_EQ(sent.cq_handle, 52);
	REQUIRE_EQ(sent.attr_mask, IBV_CQ_ATTR_MODERATE);
	REQUIRE_EQ(sent.attr.cq_count, 33);
	REQUIRE_EQ(sent.attr.cq_period, 44);
	REQUIRE_EQ(call.in.at(UVERBS_ATTR_CORE_IN).size(), sizeof(sent));
}

/* Bytes behind the structure show a library that believes in a longer one. */
struct GuardedQp {
	verbs_qp qp;
	std::byte guard[256];
};

bool untouched(const void *at, size_t size)
{
	auto *bytes = static_cast<const unsigned char *>(at);

	for (size_t i = 0; i < size; i++)
		if (bytes[i] != 0xa5)
			return false;
	return true;
}

uint32_t get_comp_mask_of(const verbs_qp &qp)
{
	uint32_t mask;

	memcpy(&mask, qp.bytes + pavo::get_comp_mask(), sizeof(mask));
	return mask;
}

void test_create_qp_command()
{
	Request<verbs_cmd_create_qp> request;
	Response<ib_uverbs_create_qp_resp> resp;
	GuardedQp g;
	Objects o;
	std::byte *behind_mask =
		g.qp.bytes + pavo::get_comp_mask() + sizeof(uint32_t);

	memset(&g, 0xa5, sizeof(g));
	ibv_qp_init_attr_ex attr = {.pd = &o.pd};
	attr.send_cq = attr.recv_cq = &o.cq;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.qp_type = IBV_QPT_RC;
	REQUIRE_EQ(ibv_cmd_create_qp_ex(context, &g.qp, &attr, &request.cmd,
					sizeof(request), resp.room.core(),
					resp.room.size()),
		   0);
	check_lengths(kernel->last_method(UVERBS_OBJECT_QP,
					  UVERBS_METHOD_QP_CREATE),
		      &resp.room.driver);
	REQUIRE_EQ(g.qp.qp.qp_num, 62);
	REQUIRE_EQ(g.qp.qp.handle, 61);
	REQUIRE_EQ(attr.cap.max_inline_data, 5);
	REQUIRE_EQ(get_comp_mask_of(g.qp), 0, "comp_mask is misplaced");
	REQUIRE(untouched(behind_mask,
			  sizeof(g.qp) - (behind_mask - g.qp.bytes)));
	REQUIRE(untouched(g.guard, sizeof(g.guard)));
	REQUIRE(!ibv_qp_to_qp_ex(&g.qp.qp));
	pavo::announce_qp_ex(&g.qp);
	REQUIRE(ibv_qp_to_qp_ex(&g.qp.qp) == &g.qp.qp_ex);
}

/* Only a QP of this kind makes the library write to the last member. */
void test_xrc_qp()
{
	verbs_cmd_create_qp cmd = {};
	Response<ib_uverbs_create_qp_resp> resp;
	std::array<std::byte, 64> domain = {}; /* as libibverbs' own */
	verbs_qp qp = {};
	void *xrcd;

	ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = reinterpret_cast<ibv_xrcd *>(domain.data())};
	REQUIRE_EQ(ibv_cmd_create_qp_ex(context, &qp, &attr, &cmd, sizeof(cmd),
					resp.room.core(), resp.room.size()),
		   0);
	REQUIRE_EQ(get_comp_mask_of(qp), 1);
	memcpy(&xrcd, qp.bytes + pavo::get_comp_mask() + sizeof(xrcd),
	       sizeof(xrcd));
	REQUIRE(xrcd == domain.data(), "xrcd is misplaced");
}

void test_qp_commands()
{
	Request<verbs_cmd_modify_qp> modify;
	Request<verbs_cmd_query_qp> query;
	ibv_qp_init_attr init = {};
	Objects o;

	o.qp.qp.handle = 63;
	ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
	REQUIRE_EQ(ibv_cmd_modify_qp(&o.qp.qp, &attr, IBV_QP_STATE, &modify.cmd,
				     sizeof(modify)),
		   0);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_MODIFY_QP);
	auto core = call.input<ib_uverbs_modify_qp>(UVERBS_ATTR_CORE_IN);

	REQUIRE_EQ(call.in.at(UVERBS_ATTR_CORE_IN).size(),
		   sizeof(ib_uverbs_modify_qp));
	REQUIRE(call.input<uint64_t>(UVERBS_ATTR_UHW_IN) == MAGIC);
	REQUIRE_EQ(core.qp_handle, 63);
	REQUIRE_EQ(core.qp_state, IBV_QPS_INIT);
	REQUIRE_EQ(core.attr_mask, IBV_QP_STATE);

	REQUIRE_EQ(ibv_cmd_query_qp(&o.qp.qp, &attr, IBV_QP_CAP, &init,
				    &query.cmd, sizeof(query)),
		   ENOENT);
	call = kernel->last_command(IB_USER_VERBS_CMD_QUERY_QP);
	REQUIRE_EQ(call.in.at(UVERBS_ATTR_CORE_IN).size(),
		   sizeof(ib_uverbs_query_qp));
	REQUIRE(call.input<uint64_t>(UVERBS_ATTR_UHW_IN) == MAGIC);
	REQUIRE_EQ(
		call.input<ib_uverbs_query_qp>(UVERBS_ATTR_CORE_IN).attr_mask,
		IBV_QP_CAP);

	REQUIRE_EQ(ibv_cmd_destroy_qp(&o.qp.qp), 0);
	call = kernel->last_method(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	REQUIRE_EQ(call.word[UVERBS_ATTR_DESTROY_QP_HANDLE], 63);
}

void test_ah_commands()
{
	ib_uverbs_create_ah_resp resp = {};
	ibv_gid gid = {};
	Objects o;
	ibv_ah_attr attr = {.grh = {.hop_limit = 44}, .is_global = 1};

	REQUIRE_EQ(ibv_cmd_create_ah(&o.pd, &o.ah, &attr, &resp, sizeof(resp)),
		   0);
	REQUIRE_EQ(o.ah.handle, 41);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_CREATE_AH);

	REQUIRE_EQ(call.input<ib_uverbs_create_ah>(UVERBS_ATTR_CORE_IN)
			   .attr.grh.hop_limit,
		   44);
	REQUIRE_EQ(ibv_cmd_destroy_ah(&o.ah), 0);
	gid.raw[0] = 0xff;
	REQUIRE_EQ(ibv_cmd_attach_mcast(&o.qp.qp, &gid, 3), 0);
	call = kernel->last_command(IB_USER_VERBS_CMD_ATTACH_MCAST);
	REQUIRE_EQ(call.input<ib_uverbs_attach_mcast>(UVERBS_ATTR_CORE_IN).mlid,
		   3);
	REQUIRE_EQ(ibv_cmd_detach_mcast(&o.qp.qp, &gid, 4), 0);
	kernel->last_command(IB_USER_VERBS_CMD_DETACH_MCAST);
}

void test_query_commands()
{
	ib_uverbs_ex_query_device_resp resp = {};
	size_t size = sizeof(resp);
	ibv_device_attr_ex attr = {};
	ibv_port_attr port = {};
	verbs_cmd_query_port cmd = {};

	kernel->handler = [](fake::Call &call) {
		if (!call.is_method) {
			ib_uverbs_ex_query_device_resp answer = {};

			answer.base.max_sge = 77;
			answer.response_length = sizeof(answer);
			call.output(UVERBS_ATTR_CORE_OUT, answer);
		}
		return 0;
	};
	REQUIRE_EQ(ibv_cmd_query_device_any(context, nullptr, &attr,
					    sizeof(attr), &resp, &size),
		   0);
	REQUIRE_EQ(attr.orig_attr.max_sge, 77);
	REQUIRE_EQ(resp.base.max_sge, 77);
	REQUIRE_EQ(attr.phys_port_cnt_ex, 3, "num_ports is misplaced");
	REQUIRE_EQ(ibv_cmd_query_port(context, 1, &port, &cmd, sizeof(cmd)), 0);
	kernel->last_method(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	kernel->handler = serve;
}

} // namespace

void add_command_cases(common::Cases &cases)
{
	cases.insert(
		cases.end(),
		{
			{"PD commands", test_pd_commands},
			{"MR commands, verbs_mr", test_mr_commands},
			{"MR re-registration command", test_rereg_commands},
			{"dma-buf command", test_dmabuf_commands},
			{"MW commands", test_mw_commands},
			{"CQ commands", test_cq_commands},
			{"CQ resize and moderation commands", test_cq_changes},
			{"QP creation, verbs_qp", test_create_qp_command},
			{"XRC QP, verbs_qp", test_xrc_qp},
			{"QP commands", test_qp_commands},
			{"AH and multicast commands", test_ah_commands},
			{"device and port queries", test_query_commands},
		});
}
