// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * abi_test.cpp - do our declarations of libibverbs' private interface agree
 * with the library that is installed?
 *
 * Registers a provider made of probes with the running libibverbs, in front of
 * a kernel that the test plays itself (fake_uverbs), and looks at what the
 * library reads and writes: every field, every operation's slot, the length of
 * every command and the arguments of every function that the provider uses.
 */
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <rdma/ib_user_ioctl_cmds.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

#include "abi.h"
#include "fake_uverbs.h"
#include "tap.h"

namespace {

constexpr uint32_t UVERBS_ABI = 7;
constexpr uint32_t DRIVER_ID = 4242;
constexpr uint64_t CORE_SUPPORT = 0x1234567890abcdefull;
constexpr size_t OPS = sizeof(verbs_context_ops) / sizeof(void *);
constexpr uint64_t MAGIC = 0x6d61676963212121ull;
constexpr uint64_t ANSWER = ~MAGIC;

fake::Kernel *kernel;

/* ------------------------------------------------- the provider of probes */

struct Seen {
	verbs_sysfs_dev at_match; /* as it was when first asked */
	const void *match; /* the table's entry when asked again */
	verbs_sysfs_dev *sysfs;
	int asked;
	verbs_device *device;
	int wrong_range_asked;
	int imported;
	int uninit;
	int opened;
	size_t op; /* last operation called, 1 + its slot */
} seen;

struct ProbeContext {
	uint64_t before; /* the context does not begin the allocation */
	verbs_context verbs;
};

template <size_t N> uintptr_t probe()
{
	seen.op = N + 1;
	return 0;
}

template <size_t... N> auto make_probes(std::index_sequence<N...>)
{
	return std::array<uintptr_t (*)(), sizeof...(N)>{probe<N>...};
}

void set_probes(verbs_context *context)
{
	static const auto probes = make_probes(std::make_index_sequence<OPS>());
	verbs_context_ops ops;

	memcpy(&ops, probes.data(), sizeof(ops));
	verbs_set_ops(context, &ops);
}

/* How slot @member is called when it is called by the library. */
#define SLOT(member) (offsetof(verbs_context_ops, member) / sizeof(void *) + 1)

bool probe_match(verbs_sysfs_dev *sysfs)
{
	if (strcmp(sysfs->ibdev_name, "probe"))
		return false;
	if (!seen.asked++) {
		/*
		 * Netlink would have told these two. The library comes again
		 * when it has loaded all drivers, and then goes by the id.
		 */
		seen.at_match = *sysfs;
		sysfs->driver_id = DRIVER_ID;
		sysfs->num_ports = 3;
		return false;
	}
	seen.match = sysfs->match;
	seen.sysfs = sysfs;
	return true;
}

bool probe_wrong_range(verbs_sysfs_dev *sysfs)
{
	if (strcmp(sysfs->ibdev_name, "probe"))
		return false;
	seen.wrong_range_asked++;
	return true;
}

verbs_device *probe_alloc(verbs_sysfs_dev *)
{
	seen.device = new verbs_device{};
	return seen.device;
}

void probe_uninit(verbs_device *device)
{
	seen.uninit++;
	delete device;
}

verbs_context *probe_open(ibv_device *device, int fd, void *)
{
	verbs_response<ib_uverbs_get_context_resp, uint64_t> resp = {};
	struct {
		verbs_cmd_get_context cmd;
		uint64_t driver;
	} request = {.cmd = {}, .driver = MAGIC};
	auto *context = static_cast<ProbeContext *>(
		_verbs_init_and_alloc_context(
			device, fd, sizeof(ProbeContext),
			reinterpret_cast<verbs_context *>(
				offsetof(ProbeContext, verbs)),
			DRIVER_ID));

	if (!context)
		return nullptr;
	seen.opened++;
	if (ibv_cmd_get_context(&context->verbs, &request.cmd, sizeof(request),
				resp.core(), sizeof(resp)) ||
	    resp.driver != ANSWER) {
		verbs_uninit_context(&context->verbs);
		free(context);
		return nullptr;
	}
	set_probes(&context->verbs);
	return &context->verbs;
}

verbs_context *probe_import(ibv_device *, int)
{
	seen.imported++;
	return nullptr;
}

/* By PCI numbers, which our device has not, and by driver id. */
const verbs_match_ent match_table[] = {
	{.driver_data = nullptr,
	 .driver_id = 0,
	 .vendor = 1,
	 .device = 2,
	 .kind = 1},
	{.driver_data = nullptr,
	 .driver_id = DRIVER_ID,
	 .vendor = 0,
	 .device = 0,
	 .kind = 3},
	{},
};
const verbs_match_ent empty_table[] = {{}};

const verbs_device_ops wrong_range = {
	.name = "probe-of-another-version",
	.match_min_abi_version = UVERBS_ABI + 1,
	.match_max_abi_version = UVERBS_ABI + 2,
	.match_table = empty_table,
	.static_providers = nullptr,
	.match_device = probe_wrong_range,
	.alloc_context = nullptr,
	.import_context = nullptr,
	.alloc_device = nullptr,
	.uninit_device = nullptr,
};

const verbs_device_ops right_range = {
	.name = "probe",
	.match_min_abi_version = UVERBS_ABI,
	.match_max_abi_version = UVERBS_ABI,
	.match_table = match_table,
	.static_providers = nullptr,
	.match_device = probe_match,
	.alloc_context = probe_open,
	.import_context = probe_import,
	.alloc_device = probe_alloc,
	.uninit_device = probe_uninit,
};

ibv_device **list;
ibv_context *context;

/* ------------------------------------------------------- the kernel's side */

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
		call.set_word(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
			      static_cast<uint64_t>(
				      ::open("/dev/null", O_RDONLY)));
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

int serve(fake::Call &call)
{
	return call.is_method ? serve_method(call) : serve_write(call);
}

/* ------------------------------------------------------------- the checks */

void test_sysfs_device()
{
	const verbs_sysfs_dev &dev = seen.at_match;

	CHECK(seen.sysfs, "the library did not offer the device");
	CHECK_EQ(std::string(dev.sysfs_name), "uverbs0");
	CHECK_EQ(dev.sysfs_cdev, makedev(231, 192));
	CHECK_EQ(std::string(dev.ibdev_name), "probe");
	CHECK_EQ(std::string(dev.ibdev_path),
		 kernel->root() + "/class/infiniband/probe");
	CHECK_EQ(std::string(dev.modalias), "fake:probe");
	CHECK(dev.match == nullptr, "nothing matches yet");
	CHECK(seen.match == &match_table[1], "matches by driver id");
	CHECK_EQ(dev.flags, 1, "modalias was read");
	CHECK_EQ(dev.node_guid, 0, "nobody asked for it yet");
	CHECK_EQ(dev.driver_id, 0, "unknown when found through sysfs");
	CHECK_EQ(dev.node_type, IBV_NODE_CA);
	CHECK_EQ(dev.ibdev_idx, -1, "unknown when found through sysfs");
	CHECK_EQ(dev.num_ports, 0, "unknown when found through sysfs");
	CHECK_EQ(dev.abi_ver, UVERBS_ABI);

	struct stat st;

	CHECK(!stat(dev.ibdev_path, &st));
	CHECK_EQ(dev.time_created.tv_sec, st.st_mtim.tv_sec);
	CHECK_EQ(dev.time_created.tv_nsec, st.st_mtim.tv_nsec);

	CHECK(be64toh(ibv_get_device_guid(list[0])) == 0x0123456789abcdefull);
	CHECK(seen.sysfs->node_guid == 0x0123456789abcdefull);
	CHECK_EQ(seen.sysfs->flags, 3, "the GUID was read");
}

void test_device_ops()
{
	int fd = kernel->open_device();

	CHECK(seen.wrong_range_asked > 0, "match_device is in its place");
	CHECK(list && list[0] && !list[1], "one of the two versions matches");
	CHECK(!ibv_import_device(fd));
	CHECK_EQ(seen.imported, 1);
	close(fd);
}

void test_device()
{
	verbs_device *device = seen.device;

	CHECK(device && &device->device == list[0]);
	CHECK(device->ops == &right_range);
	CHECK(device->sysfs == seen.sysfs);
	CHECK_EQ(std::string(device->device.name), "probe");
	CHECK(device->entry.next && device->entry.next == device->entry.prev,
	      "alone in the library's list");
	CHECK(device->entry.next->next == &device->entry);

	int before = device->refcount;

	CHECK(before > 0 && before < 10, "refcount is ", before);
	context = ibv_open_device(list[0]);
	CHECK(context, "open failed with errno ", errno);
	CHECK_EQ(device->refcount, before + 1, "an open device is held");
	CHECK(device->core_support == CORE_SUPPORT);
}

void test_context()
{
	ProbeContext *mine = reinterpret_cast<ProbeContext *>(
		reinterpret_cast<std::byte *>(verbs_get_ctx(context)) -
		offsetof(ProbeContext, verbs));

	CHECK_EQ(mine->before, 0, "the room before the context is ours");
	CHECK_EQ(context->num_comp_vectors, 5);
	CHECK(context->device == list[0]);

	fake::Call call = kernel->last_method(UVERBS_OBJECT_DEVICE,
					      UVERBS_METHOD_GET_CONTEXT);

	CHECK_EQ(call.driver_id, DRIVER_ID);
	CHECK(call.input<uint64_t>(UVERBS_ATTR_UHW_IN) == MAGIC);
}

struct Objects {
	ibv_pd pd = {};
	ibv_cq cq = {};
	verbs_qp qp = {};
	verbs_mr mr = {};
	ibv_ah ah = {};
	ibv_mw mw = {};
	ibv_srq srq = {};
	ibv_dm dm = {};

	Objects()
	{
		pd.context = cq.context = qp.qp.context = context;
		mr.ibv_mr.context = ah.context = mw.context = context;
		srq.context = dm.context = context;
		mr.ibv_mr.pd = &pd;
	}
};

#define CALLS(member, expression)                                         \
	do {                                                              \
		seen.op = 0;                                              \
		(void)(expression);                                       \
		CHECK_EQ(seen.op, SLOT(member), #member " is misplaced"); \
	} while (0)

void test_private_ops()
{
	Objects o;
	ibv_qp_attr qp_attr = {};
	ibv_qp_init_attr qp_init = {};
	ibv_ah_attr ah_attr = {};
	ibv_port_attr port_attr = {};
	ibv_gid gid = {};
	char memory[8];
	ibv_ece ece = {.vendor_id = 1, .options = 0, .comp_mask = 0};

	CALLS(alloc_pd, ibv_alloc_pd(context));
	CALLS(dealloc_pd, ibv_dealloc_pd(&o.pd));
	CALLS(reg_mr, ibv_reg_mr(&o.pd, memory, 8, 0));
	CALLS(reg_dmabuf_mr, ibv_reg_dmabuf_mr(&o.pd, 0, 8, 0, 0, 0));
	CALLS(rereg_mr, ibv_rereg_mr(&o.mr.ibv_mr, IBV_REREG_MR_CHANGE_ACCESS,
				     nullptr, nullptr, 0, 0));
	CALLS(dereg_mr, ibv_dereg_mr(&o.mr.ibv_mr));
	CALLS(create_cq, ibv_create_cq(context, 1, nullptr, nullptr, 0));
	CALLS(resize_cq, ibv_resize_cq(&o.cq, 1));
	CALLS(destroy_cq, ibv_destroy_cq(&o.cq));
	CALLS(create_qp, ibv_create_qp(&o.pd, &qp_init));
	CALLS(query_qp, ibv_query_qp(&o.qp.qp, &qp_attr, 0, &qp_init));
	CALLS(modify_qp, ibv_modify_qp(&o.qp.qp, &qp_attr, 0));
	CALLS(destroy_qp, ibv_destroy_qp(&o.qp.qp));
	CALLS(create_ah, ibv_create_ah(&o.pd, &ah_attr));
	CALLS(destroy_ah, ibv_destroy_ah(&o.ah));
	CALLS(attach_mcast, ibv_attach_mcast(&o.qp.qp, &gid, 0));
	CALLS(detach_mcast, ibv_detach_mcast(&o.qp.qp, &gid, 0));
	CALLS(query_port, ibv_query_port(context, 1, &port_attr));
	CALLS(query_ece, ibv_query_ece(&o.qp.qp, &ece));
	CALLS(set_ece, ibv_set_ece(&o.qp.qp, &ece));
	CALLS(import_dm, ibv_import_dm(context, 0));
	CALLS(unimport_dm, ibv_unimport_dm(&o.dm));
	CALLS(import_mr, ibv_import_mr(&o.pd, 0));
	CALLS(unimport_mr, ibv_unimport_mr(&o.mr.ibv_mr));
	CALLS(import_pd, ibv_import_pd(context, 0));
	CALLS(unimport_pd, ibv_unimport_pd(&o.pd));
}

/* These go through structures of the public header. */
void test_public_ops()
{
	verbs_context *verbs = verbs_get_ctx(context);
	Objects o;
	ibv_wc wc = {};
	ibv_send_wr send = {}, *bad_send;
	ibv_recv_wr recv = {}, *bad_recv;
	ibv_mw_bind bind = {};

	CALLS(poll_cq, ibv_poll_cq(&o.cq, 1, &wc));
	CALLS(req_notify_cq, ibv_req_notify_cq(&o.cq, 0));
	CALLS(post_send, ibv_post_send(&o.qp.qp, &send, &bad_send));
	CALLS(post_recv, ibv_post_recv(&o.qp.qp, &recv, &bad_recv));
	CALLS(post_srq_recv, ibv_post_srq_recv(&o.srq, &recv, &bad_recv));
	CALLS(dealloc_mw, context->ops.dealloc_mw(&o.mw));
	CALLS(alloc_mw, context->ops.alloc_mw(&o.pd, IBV_MW_TYPE_1));
	CALLS(bind_mw, context->ops.bind_mw(&o.qp.qp, &o.mw, &bind));
	CALLS(create_qp_ex, verbs->create_qp_ex(context, nullptr));
	CALLS(query_device_ex,
	      verbs->query_device_ex(context, nullptr, nullptr, 0));
	CALLS(alloc_td, verbs->alloc_td(context, nullptr));
	CALLS(dealloc_td, verbs->dealloc_td(nullptr));
	CALLS(alloc_parent_domain,
	      verbs->alloc_parent_domain(context, nullptr));
	CALLS(advise_mr, verbs->advise_mr(nullptr, IBV_ADVISE_MR_ADVICE_PREFETCH,
					  0, nullptr, 0));
	CALLS(get_srq_num, verbs->get_srq_num(nullptr, nullptr));
	CALLS(open_xrcd, verbs->open_xrcd(context, nullptr));
	CALLS(reg_dm_mr, verbs->reg_dm_mr(nullptr, nullptr, 0, 0, 0));
	CALLS(query_rt_values, verbs->query_rt_values(context, nullptr));
}

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
	CHECK(call.in.count(UVERBS_ATTR_UHW_IN), "command shorter than ours");
	CHECK_EQ(call.in.at(UVERBS_ATTR_UHW_IN).size(), 8, "command length");
	CHECK(call.input<uint64_t>(UVERBS_ATTR_UHW_IN) == MAGIC);
	CHECK(call.out.count(UVERBS_ATTR_UHW_OUT), "response shorter than ours");
	CHECK_EQ(call.out.at(UVERBS_ATTR_UHW_OUT).second, 8, "response length");
	CHECK(call.out.at(UVERBS_ATTR_UHW_OUT).first == driver_out);
}

void test_pd_commands()
{
	Request<verbs_cmd_alloc_pd> request;
	Response<ib_uverbs_alloc_pd_resp> resp;
	ibv_pd pd = {};

	CHECK_EQ(ibv_cmd_alloc_pd(context, &pd, &request.cmd, sizeof(request),
				  resp.room.core(),
				  resp.room.size()),
		 0);
	check_lengths(kernel->last_command(IB_USER_VERBS_CMD_ALLOC_PD),
		      &resp.room.driver);
	CHECK_EQ(pd.handle, 11);
	CHECK_EQ(ibv_cmd_dealloc_pd(&pd), 0);
	kernel->last_method(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
}

void test_mr_commands()
{
	Request<verbs_cmd_reg_mr> request;
	Response<ib_uverbs_reg_mr_resp> resp;
	verbs_mr mr;
	ibv_pd pd = {};

	memset(&mr, 0xa5, sizeof(mr));
	pd.context = context;
	pd.handle = 12;
	CHECK_EQ(ibv_cmd_reg_mr(&pd, &mr, 1000, 0x7000, 5, &mr, &request.cmd,
				sizeof(request), resp.room.core(),
				resp.room.size()),
		 0);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_REG_MR);
	auto core = call.input<ib_uverbs_reg_mr>(UVERBS_ATTR_CORE_IN);

	check_lengths(call, &resp.room.driver);
	CHECK_EQ(core.start, reinterpret_cast<uintptr_t>(&mr));
	CHECK_EQ(core.length, 1000);
	CHECK_EQ(core.hca_va, 0x7000);
	CHECK_EQ(core.access_flags, 5);
	CHECK_EQ(core.pd_handle, 12);
	CHECK_EQ(mr.ibv_mr.lkey, 22);
	CHECK_EQ(mr.ibv_mr.rkey, 23);
	CHECK_EQ(static_cast<int>(mr.mr_type), VERBS_MR_KIND_MEMORY);
	CHECK_EQ(mr.access, 5);
	CHECK_EQ(ibv_cmd_dereg_mr(&mr), 0);
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
	CHECK_EQ(ibv_cmd_rereg_mr(&mr, IBV_REREG_MR_CHANGE_PD, &pd, 2000,
				  0x8000, 7, &pd, &request.cmd, sizeof(request),
				  resp.room.core(), resp.room.size()),
		 0);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_REREG_MR);
	auto core = call.input<ib_uverbs_rereg_mr>(UVERBS_ATTR_CORE_IN);

	check_lengths(call, &resp.room.driver);
	CHECK_EQ(core.mr_handle, 14);
	CHECK_EQ(core.flags, IBV_REREG_MR_CHANGE_PD);
	CHECK_EQ(core.start, reinterpret_cast<uintptr_t>(&pd));
	CHECK_EQ(core.length, 2000);
	CHECK_EQ(core.hca_va, 0x8000);
	CHECK_EQ(core.pd_handle, 13);
	CHECK_EQ(core.access_flags, 7);
}

void test_dmabuf_commands()
{
	verbs_mr mr;
	ibv_pd pd = {};
	int err;

	memset(&mr, 0xa5, sizeof(mr));
	pd.context = context;
	pd.handle = 15;
	err = ibv_cmd_reg_dmabuf_mr(&pd, 0x1000, 3000, 0x9000, 33, 9, &mr,
				    nullptr);
	CHECK_EQ(err, 0);

	fake::Call call = kernel->last_method(UVERBS_OBJECT_MR,
					      UVERBS_METHOD_REG_DMABUF_MR);

	CHECK_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE], 15);
	CHECK_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_OFFSET], 0x1000);
	CHECK_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_LENGTH], 3000);
	CHECK_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_IOVA], 0x9000);
	CHECK_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_FD], 33);
	CHECK_EQ(call.word[UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS], 9);
	CHECK_EQ(mr.ibv_mr.lkey, 72);
	CHECK_EQ(static_cast<int>(mr.mr_type), VERBS_MR_KIND_DMABUF);
}

void test_mw_commands()
{
	Request<verbs_cmd_alloc_mw> request;
	Response<ib_uverbs_alloc_mw_resp> resp;
	ibv_mw mw = {};
	ibv_pd pd = {};

	pd.context = context;
	pd.handle = 16;
	CHECK_EQ(ibv_cmd_alloc_mw(&pd, IBV_MW_TYPE_2, &mw, &request.cmd,
				  sizeof(request), resp.room.core(),
				  resp.room.size()),
		 0);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_ALLOC_MW);

	check_lengths(call, &resp.room.driver);
	CHECK_EQ(call.input<ib_uverbs_alloc_mw>(UVERBS_ATTR_CORE_IN).mw_type,
		 IBV_MW_TYPE_2);
	CHECK_EQ(mw.rkey, 32);
	CHECK_EQ(mw.handle, 31);
	CHECK_EQ(ibv_cmd_dealloc_mw(&mw), 0);
	kernel->last_method(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY);
}

void test_cq_commands()
{
	Request<verbs_cmd_create_cq> request;
	Response<ib_uverbs_create_cq_resp> resp;
	verbs_cq cq = {};

	CHECK_EQ(ibv_cmd_create_cq(context, 60, nullptr, 2, &cq.cq,
				   &request.cmd, sizeof(request), resp.room.core(),
				   resp.room.size()),
		 0);

	fake::Call call =
		kernel->last_method(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);

	check_lengths(call, &resp.room.driver);
	CHECK_EQ(call.input<uint32_t>(UVERBS_ATTR_CREATE_CQ_CQE), 60);
	CHECK_EQ(call.input<uint32_t>(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR), 2);
	CHECK_EQ(cq.cq.handle, 51);
	CHECK_EQ(cq.cq.cqe, 63);
	CHECK(resp.guard == MAGIC);
	CHECK(!memcmp(&resp.room.driver, &ANSWER, sizeof(ANSWER)));

	CHECK_EQ(ibv_cmd_req_notify_cq(&cq.cq, 1), 0);
	call = kernel->last_command(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	CHECK_EQ(call.input<ib_uverbs_req_notify_cq>(UVERBS_ATTR_CORE_IN)
			 .solicited_only,
		 1);
	CHECK_EQ(ibv_cmd_destroy_cq(&cq.cq), 0);
}

/* Room behind the structure shows a library that believes in a longer one. */
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

void test_create_qp_command()
{
	Request<verbs_cmd_create_qp> request;
	Response<ib_uverbs_create_qp_resp> resp;
	ibv_qp_init_attr_ex attr = {};
	GuardedQp g;
	Objects o;

	memset(&g, 0xa5, sizeof(g));
	attr.pd = &o.pd;
	attr.send_cq = attr.recv_cq = &o.cq;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.qp_type = IBV_QPT_RC;
	CHECK_EQ(ibv_cmd_create_qp_ex(context, &g.qp, &attr, &request.cmd,
				      sizeof(request), resp.room.core(),
				      resp.room.size()),
		 0);
	check_lengths(kernel->last_method(UVERBS_OBJECT_QP,
					  UVERBS_METHOD_QP_CREATE),
		      &resp.room.driver);
	CHECK_EQ(g.qp.qp.qp_num, 62);
	CHECK_EQ(g.qp.qp.handle, 61);
	CHECK_EQ(attr.cap.max_inline_data, 5);
	CHECK_EQ(g.qp.comp_mask, 0, "comp_mask is misplaced");
	CHECK(untouched(&g.qp.xrcd, sizeof(g.qp.xrcd)));
	CHECK(untouched(g.guard, sizeof(g.guard)));
	CHECK(!ibv_qp_to_qp_ex(&g.qp.qp));
	g.qp.comp_mask = VERBS_QP_HAS_EX;
	CHECK(ibv_qp_to_qp_ex(&g.qp.qp) == &g.qp.qp_ex);
}

void test_qp_commands()
{
	Request<verbs_cmd_modify_qp> modify;
	Request<verbs_cmd_query_qp> query;
	ibv_qp_init_attr init = {};
	ibv_qp_attr attr = {};
	Objects o;

	o.qp.qp.handle = 63;
	attr.qp_state = IBV_QPS_INIT;
	CHECK_EQ(ibv_cmd_modify_qp(&o.qp.qp, &attr, IBV_QP_STATE, &modify.cmd,
				   sizeof(modify)),
		 0);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_MODIFY_QP);
	auto core = call.input<ib_uverbs_modify_qp>(UVERBS_ATTR_CORE_IN);

	CHECK_EQ(call.in.at(UVERBS_ATTR_CORE_IN).size(),
		 sizeof(ib_uverbs_modify_qp));
	CHECK(call.input<uint64_t>(UVERBS_ATTR_UHW_IN) == MAGIC);
	CHECK_EQ(core.qp_handle, 63);
	CHECK_EQ(core.qp_state, IBV_QPS_INIT);
	CHECK_EQ(core.attr_mask, IBV_QP_STATE);

	CHECK_EQ(ibv_cmd_query_qp(&o.qp.qp, &attr, IBV_QP_CAP, &init,
				  &query.cmd, sizeof(query)),
		 ENOENT);
	call = kernel->last_command(IB_USER_VERBS_CMD_QUERY_QP);
	CHECK_EQ(call.in.at(UVERBS_ATTR_CORE_IN).size(),
		 sizeof(ib_uverbs_query_qp));
	CHECK(call.input<uint64_t>(UVERBS_ATTR_UHW_IN) == MAGIC);
	CHECK_EQ(call.input<ib_uverbs_query_qp>(UVERBS_ATTR_CORE_IN).attr_mask,
		 IBV_QP_CAP);

	CHECK_EQ(ibv_cmd_destroy_qp(&o.qp.qp), 0);
	call = kernel->last_method(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	CHECK_EQ(call.word[UVERBS_ATTR_DESTROY_QP_HANDLE], 63);
}

void test_ah_commands()
{
	ib_uverbs_create_ah_resp resp = {};
	ibv_ah_attr attr = {};
	ibv_gid gid = {};
	Objects o;

	attr.is_global = 1;
	attr.grh.hop_limit = 44;
	CHECK_EQ(ibv_cmd_create_ah(&o.pd, &o.ah, &attr, &resp, sizeof(resp)),
		 0);
	CHECK_EQ(o.ah.handle, 41);

	fake::Call call = kernel->last_command(IB_USER_VERBS_CMD_CREATE_AH);

	CHECK_EQ(call.input<ib_uverbs_create_ah>(UVERBS_ATTR_CORE_IN)
			 .attr.grh.hop_limit,
		 44);
	CHECK_EQ(ibv_cmd_destroy_ah(&o.ah), 0);
	gid.raw[0] = 0xff;
	CHECK_EQ(ibv_cmd_attach_mcast(&o.qp.qp, &gid, 3), 0);
	call = kernel->last_command(IB_USER_VERBS_CMD_ATTACH_MCAST);
	CHECK_EQ(call.input<ib_uverbs_attach_mcast>(UVERBS_ATTR_CORE_IN).mlid,
		 3);
	CHECK_EQ(ibv_cmd_detach_mcast(&o.qp.qp, &gid, 4), 0);
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
	CHECK_EQ(ibv_cmd_query_device_any(context, nullptr, &attr, sizeof(attr),
					  &resp, &size),
		 0);
	CHECK_EQ(attr.orig_attr.max_sge, 77);
	CHECK_EQ(resp.base.max_sge, 77);
	CHECK_EQ(attr.phys_port_cnt_ex, 3, "num_ports is misplaced");
	CHECK_EQ(ibv_cmd_query_port(context, 1, &port, &cmd, sizeof(cmd)), 0);
	kernel->last_method(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	kernel->handler = serve;
}

void test_close()
{
	verbs_context *verbs = verbs_get_ctx(context);

	CALLS(free_context, ibv_close_device(context));

	int held = seen.device->refcount;

	verbs_uninit_context(verbs);
	CHECK_EQ(seen.device->refcount, held - 1);
	free(reinterpret_cast<std::byte *>(verbs) -
	     offsetof(ProbeContext, verbs));

	/* Gone from sysfs: the library lets go of it with the next look. */
	std::filesystem::remove_all(kernel->root() +
				    "/class/infiniband_verbs/uverbs0");
	ibv_free_device_list(list);
	list = ibv_get_device_list(nullptr);
	CHECK(list && !list[0]);
	CHECK_EQ(seen.uninit, 1);
	ibv_free_device_list(list);
}

} // namespace

int main()
{
	fake::Kernel the_kernel(
		{{.name = "probe",
		  .pavo_abi = "",
		  .uverbs_abi = std::to_string(UVERBS_ABI)}});

	kernel = &the_kernel;
	/* No other copy of a provider than the one built in here. */
	unsetenv("IBV_DRIVERS");
	unsetenv("RDMAV_DRIVERS");
	kernel->handler = serve;
	
	pavo_verbs_register_driver(&wrong_range);
	pavo_verbs_register_driver(&right_range);
	list = ibv_get_device_list(nullptr);
	return tap::run({
		{"verbs_sysfs_dev: every field", test_sysfs_device},
		{"verbs_device_ops: callbacks and range", test_device_ops},
		{"verbs_device: every field", test_device},
		{"context allocation and get_context", test_context},
		{"verbs_context_ops: slots behind the verbs", test_private_ops},
		{"verbs_context_ops: slots in public tables", test_public_ops},
		{"PD commands", test_pd_commands},
		{"MR commands, verbs_mr", test_mr_commands},
		{"MR re-registration command", test_rereg_commands},
		{"dma-buf command", test_dmabuf_commands},
		{"MW commands", test_mw_commands},
		{"CQ commands", test_cq_commands},
		{"QP creation, verbs_qp", test_create_qp_command},
		{"QP commands", test_qp_commands},
		{"AH and multicast commands", test_ah_commands},
		{"device and port queries", test_query_commands},
		{"closing and removal", test_close},
	});
}
