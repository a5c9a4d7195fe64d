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
#include "abi_probe.h"

#include <array>
#include <filesystem>
#include <rdma/ib_user_ioctl_cmds.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

fake::Kernel *kernel;
ibv_context *context;

namespace {

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
	auto *context =
		static_cast<ProbeContext *>(_verbs_init_and_alloc_context(
			device, fd, sizeof(ProbeContext),
			reinterpret_cast<verbs_context *>(
				offsetof(ProbeContext, verbs)),
			DRIVER_ID));

	if (!context)
		return nullptr;
	seen.opened++;
	if (get_context(&context->verbs, &request.cmd, sizeof(request),
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

/* ------------------------------------------------------------- the checks */

void test_sysfs_device()
{
	const verbs_sysfs_dev &dev = seen.at_match;

	REQUIRE(seen.sysfs, "the library did not offer the device");
	REQUIRE_EQ(std::string(dev.sysfs_name), "uverbs0");
	REQUIRE_EQ(dev.sysfs_cdev, makedev(231, 192));
	REQUIRE_EQ(std::string(dev.ibdev_name), "probe");
	REQUIRE_EQ(std::string(dev.ibdev_path),
		   kernel->root() + "/class/infiniband/probe");
	REQUIRE_EQ(std::string(dev.modalias), "fake:probe");
	REQUIRE(dev.match == nullptr, "nothing matches yet");
	REQUIRE(seen.match == &match_table[1], "matches by driver id");
	REQUIRE_EQ(dev.flags, 1, "modalias was read");
	REQUIRE_EQ(dev.node_guid, 0, "the test has not asked for it yet");
	REQUIRE_EQ(dev.driver_id, 0, "unknown when found through sysfs");
	REQUIRE_EQ(dev.node_type, IBV_NODE_CA);
	REQUIRE_EQ(dev.ibdev_idx, -1, "unknown when found through sysfs");
	REQUIRE_EQ(dev.num_ports, 0, "unknown when found through sysfs");
	REQUIRE_EQ(dev.abi_ver, UVERBS_ABI);

	struct stat st;

	REQUIRE(!stat(dev.ibdev_path, &st));
	REQUIRE_EQ(dev.time_created.tv_sec, st.st_mtim.tv_sec);
	REQUIRE_EQ(dev.time_created.tv_nsec, st.st_mtim.tv_nsec);

	REQUIRE(be64toh(ibv_get_device_guid(list[0])) == 0x0123456789abcdefull);
	REQUIRE(seen.sysfs->node_guid == 0x0123456789abcdefull);
	REQUIRE_EQ(seen.sysfs->flags, 3, "the GUID was read");
}

void test_device_ops()
{
	int fd = kernel->open_device();

	REQUIRE(seen.wrong_range_asked > 0, "match_device is in its place");
	REQUIRE(list && list[0] && !list[1], "one of the two versions matches");
	REQUIRE(!ibv_import_device(fd));
	REQUIRE_EQ(seen.imported, 1);
	close(fd);
}

void test_device()
{
	verbs_device *device = seen.device;

	REQUIRE(device && &device->device == list[0]);
	REQUIRE(device->ops == &right_range);
	REQUIRE(device->sysfs == seen.sysfs);
	REQUIRE_EQ(std::string(device->device.name), "probe");
	REQUIRE(device->entry.next && device->entry.next == device->entry.prev,
		"alone in the library's list");
	REQUIRE(device->entry.next->next == &device->entry);

	int before = device->refcount;

	REQUIRE(before > 0 && before < 10, "refcount is ", before);
	context = ibv_open_device(list[0]);
	REQUIRE(context, "open failed with errno ", errno);
	REQUIRE_EQ(device->refcount, before + 1, "an open device is held");
	REQUIRE(device->core_support == CORE_SUPPORT);
}

void test_context()
{
	ProbeContext *mine = reinterpret_cast<ProbeContext *>(
		reinterpret_cast<std::byte *>(verbs_get_ctx(context)) -
		offsetof(ProbeContext, verbs));

	REQUIRE_EQ(mine->before, 0, "the room before the context is ours");
	REQUIRE_EQ(context->num_comp_vectors, 5);
	REQUIRE(context->device == list[0]);

	fake::Call call = kernel->last_method(UVERBS_OBJECT_DEVICE,
					      UVERBS_METHOD_GET_CONTEXT);

	REQUIRE_EQ(call.driver_id, DRIVER_ID);
	REQUIRE(call.input<uint64_t>(UVERBS_ATTR_UHW_IN) == MAGIC);
}

#define CALLS(member, expression)                                           \
	do {                                                                \
		seen.op = 0;                                                \
		(void)(expression);                                         \
		REQUIRE_EQ(seen.op, SLOT(member), #member " is misplaced"); \
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
#if PAVO_VERBS_PORT_SPEED
	uint64_t speed;

	CALLS(query_port_speed, ibv_query_port_speed(context, 1, &speed));
#endif
#if PAVO_VERBS_ABI >= 65
	ibv_comp_cntr counter = {context, 0};
	ibv_comp_cntr_caps caps;
	uint64_t value;

	CALLS(create_comp_cntr, ibv_create_comp_cntr(context, nullptr));
	CALLS(destroy_comp_cntr, ibv_destroy_comp_cntr(&counter));
	CALLS(inc_comp_cntr, ibv_inc_comp_cntr(&counter, 1));
	CALLS(inc_err_comp_cntr, ibv_inc_err_comp_cntr(&counter, 1));
	CALLS(read_comp_cntr, ibv_read_comp_cntr(&counter, &value));
	CALLS(read_err_comp_cntr, ibv_read_err_comp_cntr(&counter, &value));
	CALLS(set_comp_cntr, ibv_set_comp_cntr(&counter, 1));
	CALLS(set_err_comp_cntr, ibv_set_err_comp_cntr(&counter, 1));
	CALLS(qp_attach_comp_cntr,
	      ibv_qp_attach_comp_cntr(&o.qp.qp, &counter, nullptr));
	CALLS(query_comp_cntr_caps, ibv_query_comp_cntr_caps(context, &caps));
#endif
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
	ibv_cq_init_attr_ex cq_attr = {};

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
	CALLS(advise_mr,
	      verbs->advise_mr(nullptr, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
			       nullptr, 0));
	CALLS(get_srq_num, verbs->get_srq_num(nullptr, nullptr));
	CALLS(open_xrcd, verbs->open_xrcd(context, nullptr));
	CALLS(reg_dm_mr, verbs->reg_dm_mr(nullptr, nullptr, 0, 0, 0));
	CALLS(query_rt_values, verbs->query_rt_values(context, nullptr));
	CALLS(create_cq_ex, verbs->create_cq_ex(context, &cq_attr));
	CALLS(modify_cq, verbs->modify_cq(&o.cq, nullptr));
}

void test_close()
{
	verbs_context *verbs = verbs_get_ctx(context);

	CALLS(free_context, ibv_close_device(context));

	int held = seen.device->refcount;

	verbs_uninit_context(verbs);
	REQUIRE_EQ(seen.device->refcount, held - 1);
	free(reinterpret_cast<std::byte *>(verbs) -
	     offsetof(ProbeContext, verbs));

	/* Gone from sysfs: the library lets go of it with the next look. */
	std::filesystem::remove_all(kernel->root() +
				    "/class/infiniband_verbs/uverbs0");
	ibv_free_device_list(list);
	list = ibv_get_device_list(nullptr);
	REQUIRE(list && !list[0]);
	REQUIRE_EQ(seen.uninit, 1);
	ibv_free_device_list(list);
}

} // namespace

int main()
{
	common::Cases cases = {
		{"verbs_sysfs_dev: every field", test_sysfs_device},
		{"verbs_device_ops: callbacks and range", test_device_ops},
		{"verbs_device: every field", test_device},
		{"context allocation and get_context", test_context},
		{"verbs_context_ops: slots behind the verbs", test_private_ops},
		{"verbs_context_ops: slots in public tables", test_public_ops},
	};
	fake::Kernel the_kernel({{.name = "probe",
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
	add_command_cases(cases);
	cases.push_back({"closing and removal", test_close});
	return common::run(cases);
}
