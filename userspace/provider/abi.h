/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * abi.h - the part of libibverbs' private interface that this provider uses.
 *
 * Owns: our own declarations of the structures and functions that libibverbs
 * shares with providers under the symbol version IBVERBS_PRIVATE_NN.
 * Distributions do not ship the original header. Only the layout is shared with
 * it; members that the provider never touches are opaque.
 *
 * The build gives PAVO_VERBS_ABI, the number NN (abi-number.sh), and
 * PAVO_VERBS_PORT_SPEED, whether the public header has ibv_query_port_speed().
 * The numbers, and how each differs from the one before:
 *
 *   34  rdma-core 39 to 56; ibv_qp_ex grew twice (44, 45): layout.h
 *   57  57 and 58: ibv_cmd_get_context() has an argument more
 *   59  59 to 63: three operations more; two again from 62 on: layout.h
 *   64  64: two operations more than 62
 *   65  65: ten operations more
 *
 * selftests/provider/abi_test.cpp checks every offset, size and slot declared
 * here against a library.
 */
#ifndef PAVO_PROVIDER_ABI_H
#define PAVO_PROVIDER_ABI_H

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <sys/types.h>

#ifndef PAVO_VERBS_ABI
#error "PAVO_VERBS_ABI is not set: build with meson, it finds the number"
#endif
#if PAVO_VERBS_ABI == 34
#define pavo_verbs_register_driver verbs_register_driver_34
#elif PAVO_VERBS_ABI == 57
#define pavo_verbs_register_driver verbs_register_driver_57
#elif PAVO_VERBS_ABI == 59
#define pavo_verbs_register_driver verbs_register_driver_59
#elif PAVO_VERBS_ABI == 64
#define pavo_verbs_register_driver verbs_register_driver_64
#elif PAVO_VERBS_ABI == 65
#define pavo_verbs_register_driver verbs_register_driver_65
#else
#error "no declarations for this number: describe in abi.h what differs"
#endif

/* ------------------------------------------------------------- devices */

struct verbs_list_node {
	verbs_list_node *next;
	verbs_list_node *prev;
};

/* A device found in the system; filled by libibverbs before it asks us. */
struct verbs_sysfs_dev {
	verbs_list_node entry;
	void *provider_data;
	const void *match;
	unsigned int flags;
	char sysfs_name[IBV_SYSFS_NAME_MAX];
	dev_t sysfs_cdev;
	char ibdev_name[IBV_SYSFS_NAME_MAX];
	char ibdev_path[IBV_SYSFS_PATH_MAX];
	char modalias[512];
	uint64_t node_guid;
	uint32_t driver_id;
	enum ibv_node_type node_type;
	int ibdev_idx;
	uint32_t num_ports;
	uint32_t abi_ver;
	struct timespec time_created;
};

struct verbs_device_ops;

/* A device that a provider claimed; allocated by us, filled by libibverbs. */
struct verbs_device {
	struct ibv_device device;
	const verbs_device_ops *ops;
	int refcount; /* atomic, libibverbs only */
	verbs_list_node entry;
	verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

/* One way to recognize a device; kind 0 ends the table. */
struct verbs_match_ent {
	void *driver_data;
	uint64_t driver_id;
	uint16_t vendor;
	uint16_t device;
	uint8_t kind;
};

struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const verbs_match_ent *match_table; /* never null: always walked */
	const verbs_device_ops **static_providers;
	bool (*match_device)(verbs_sysfs_dev *sysfs);
	struct verbs_context *(*alloc_context)(ibv_device *device, int cmd_fd,
					       void *private_data);
	struct verbs_context *(*import_context)(ibv_device *device, int cmd_fd);
	verbs_device *(*alloc_device)(verbs_sysfs_dev *sysfs);
	void (*uninit_device)(verbs_device *device);
};

/* ------------------------------------------------------------- objects */

enum verbs_mr_kind : int {
	VERBS_MR_KIND_MEMORY = 0,
	VERBS_MR_KIND_DMABUF = 3,
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	verbs_mr_kind mr_type;
	int access;
};

enum : uint32_t {
	VERBS_QP_HAS_EX = 1 << 1, /* in comp_mask: qp_ex is filled in */
};

/*
 * Behind qp_ex libibverbs has comp_mask and a pointer of its own. Where that is
 * depends on the length of ibv_qp_ex in the library that runs, which grew while
 * the number stayed: layout.h finds it.
 */
struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
		std::byte bytes[sizeof(struct ibv_qp_ex) + 128];
	};
};

struct verbs_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t comp_mask;
	uint32_t handle;
};

struct verbs_srq {
	struct ibv_srq srq;
	enum ibv_srq_type srq_type;
	verbs_xrcd *xrcd;
	struct ibv_cq *cq;
	uint32_t srq_num;
};

struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
};

/* ------------------------------------------------ operations of a context */

/* Stands for a function this provider does not implement; stays null. */
using verbs_unused_op = void (*)();

/* Order is everything here: libibverbs addresses the functions by position. */
struct verbs_context_ops {
	int (*advise_mr)(ibv_pd *pd, ibv_advise_mr_advice advice,
			 uint32_t flags, ibv_sge *sg_list, uint32_t num_sges);
#if PAVO_VERBS_ABI >= 64
	verbs_unused_op alloc_buf;
#endif
	verbs_unused_op alloc_dm;
#if PAVO_VERBS_ABI >= 59
	verbs_unused_op alloc_dmah;
#endif
	ibv_mw *(*alloc_mw)(ibv_pd *pd, ibv_mw_type type);
	verbs_unused_op alloc_null_mr;
	ibv_pd *(*alloc_parent_domain)(ibv_context *context,
				       ibv_parent_domain_init_attr *attr);
	ibv_pd *(*alloc_pd)(ibv_context *context);
	ibv_td *(*alloc_td)(ibv_context *context, ibv_td_init_attr *attr);
	verbs_unused_op async_event;
	verbs_unused_op attach_counters_point_flow;
	int (*attach_mcast)(ibv_qp *qp, const ibv_gid *gid, uint16_t lid);
	int (*bind_mw)(ibv_qp *qp, ibv_mw *mw, ibv_mw_bind *bind);
	int (*close_xrcd)(ibv_xrcd *xrcd);
	verbs_unused_op cq_event;
	ibv_ah *(*create_ah)(ibv_pd *pd, ibv_ah_attr *attr);
#if PAVO_VERBS_ABI >= 65
	ibv_comp_cntr *(*create_comp_cntr)(ibv_context *context,
					   ibv_comp_cntr_init_attr *attr);
#endif
	verbs_unused_op create_counters;
	ibv_cq *(*create_cq)(ibv_context *context, int cqe,
			     ibv_comp_channel *channel, int comp_vector);
	ibv_cq_ex *(*create_cq_ex)(ibv_context *context,
				   ibv_cq_init_attr_ex *attr);
	verbs_unused_op create_flow;
	verbs_unused_op create_flow_action_esp;
	ibv_qp *(*create_qp)(ibv_pd *pd, ibv_qp_init_attr *attr);
	ibv_qp *(*create_qp_ex)(ibv_context *context,
				ibv_qp_init_attr_ex *attr);
	verbs_unused_op create_rwq_ind_table;
	ibv_srq *(*create_srq)(ibv_pd *pd, ibv_srq_init_attr *attr);
	ibv_srq *(*create_srq_ex)(ibv_context *context,
				  ibv_srq_init_attr_ex *attr);
	verbs_unused_op create_wq;
#if PAVO_VERBS_ABI >= 59
	verbs_unused_op dealloc_dmah;
#endif
	int (*dealloc_mw)(ibv_mw *mw);
	int (*dealloc_pd)(ibv_pd *pd);
	int (*dealloc_td)(ibv_td *td);
	int (*dereg_mr)(verbs_mr *mr);
	int (*destroy_ah)(ibv_ah *ah);
#if PAVO_VERBS_ABI >= 65
	int (*destroy_comp_cntr)(ibv_comp_cntr *counter);
#endif
	verbs_unused_op destroy_counters;
	int (*destroy_cq)(ibv_cq *cq);
	verbs_unused_op destroy_flow;
	verbs_unused_op destroy_flow_action;
	int (*destroy_qp)(ibv_qp *qp);
	verbs_unused_op destroy_rwq_ind_table;
	int (*destroy_srq)(ibv_srq *srq);
	verbs_unused_op destroy_wq;
	int (*detach_mcast)(ibv_qp *qp, const ibv_gid *gid, uint16_t lid);
#if PAVO_VERBS_PORT_SPEED
	verbs_unused_op dm_export_dmabuf_fd;
#endif
#if PAVO_VERBS_ABI >= 64
	verbs_unused_op free_buf;
#endif
	void (*free_context)(ibv_context *context);
	verbs_unused_op free_dm;
	int (*get_srq_num)(ibv_srq *srq, uint32_t *srq_num);
	verbs_unused_op import_dm;
	verbs_unused_op import_mr;
	verbs_unused_op import_pd;
#if PAVO_VERBS_ABI >= 65
	int (*inc_comp_cntr)(ibv_comp_cntr *counter, uint64_t amount);
	int (*inc_err_comp_cntr)(ibv_comp_cntr *counter, uint64_t amount);
#endif
	int (*modify_cq)(ibv_cq *cq, ibv_modify_cq_attr *attr);
	verbs_unused_op modify_flow_action_esp;
	int (*modify_qp)(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask);
	verbs_unused_op modify_qp_rate_limit;
	int (*modify_srq)(ibv_srq *srq, ibv_srq_attr *attr, int attr_mask);
	verbs_unused_op modify_wq;
	ibv_qp *(*open_qp)(ibv_context *context, ibv_qp_open_attr *attr);
	ibv_xrcd *(*open_xrcd)(ibv_context *context, ibv_xrcd_init_attr *attr);
	int (*poll_cq)(ibv_cq *cq, int num_entries, ibv_wc *wc);
	int (*post_recv)(ibv_qp *qp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr);
	int (*post_send)(ibv_qp *qp, ibv_send_wr *wr, ibv_send_wr **bad_wr);
	verbs_unused_op post_srq_ops;
	int (*post_srq_recv)(ibv_srq *srq, ibv_recv_wr *wr,
			     ibv_recv_wr **bad_wr);
#if PAVO_VERBS_ABI >= 65
	int (*qp_attach_comp_cntr)(ibv_qp *qp, ibv_comp_cntr *counter,
				   ibv_qp_attach_comp_cntr_attr *attr);
	int (*query_comp_cntr_caps)(ibv_context *context,
				    ibv_comp_cntr_caps *caps, size_t caps_size);
#endif
	int (*query_device_ex)(ibv_context *context,
			       const ibv_query_device_ex_input *input,
			       ibv_device_attr_ex *attr, size_t attr_size);
	verbs_unused_op query_ece;
	int (*query_port)(ibv_context *context, uint8_t port_num,
			  ibv_port_attr *attr);
#if PAVO_VERBS_PORT_SPEED
	int (*query_port_speed)(ibv_context *context, uint32_t port_num,
				uint64_t *speed);
#endif
	int (*query_qp)(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask,
			ibv_qp_init_attr *init_attr);
	verbs_unused_op query_qp_data_in_order;
	int (*query_rt_values)(ibv_context *context, ibv_values_ex *values);
	int (*query_srq)(ibv_srq *srq, ibv_srq_attr *attr);
#if PAVO_VERBS_ABI >= 65
	int (*read_comp_cntr)(ibv_comp_cntr *counter, uint64_t *value);
#endif
	verbs_unused_op read_counters;
#if PAVO_VERBS_ABI >= 65
	int (*read_err_comp_cntr)(ibv_comp_cntr *counter, uint64_t *value);
#endif
	verbs_unused_op reg_dm_mr;
	ibv_mr *(*reg_dmabuf_mr)(ibv_pd *pd, uint64_t offset, size_t length,
				 uint64_t iova, int fd, int access);
	ibv_mr *(*reg_mr)(ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			  int access);
#if PAVO_VERBS_ABI >= 59
	verbs_unused_op reg_mr_ex;
#endif
	int (*req_notify_cq)(ibv_cq *cq, int solicited_only);
	int (*rereg_mr)(verbs_mr *mr, int flags, ibv_pd *pd, void *addr,
			size_t length, int access);
	int (*resize_cq)(ibv_cq *cq, int cqe);
#if PAVO_VERBS_ABI >= 65
	int (*set_comp_cntr)(ibv_comp_cntr *counter, uint64_t value);
#endif
	verbs_unused_op set_ece;
#if PAVO_VERBS_ABI >= 65
	int (*set_err_comp_cntr)(ibv_comp_cntr *counter, uint64_t value);
#endif
	verbs_unused_op unimport_dm;
	verbs_unused_op unimport_mr;
	verbs_unused_op unimport_pd;
};

/* ------------------------------------------- commands sent to the kernel */

/*
 * A command is the uverbs header, the kernel's structure and, behind it, the
 * driver's part (empty for pavo). libibverbs fills all of it; the provider only
 * has to give the room.
 */
template <class Kernel> struct alignas(8) verbs_command {
	ib_uverbs_cmd_hdr hdr;
	std::byte kernel[sizeof(Kernel)];
};

using verbs_cmd_get_context = verbs_command<ib_uverbs_get_context>;
using verbs_cmd_query_port = verbs_command<ib_uverbs_query_port>;
using verbs_cmd_alloc_pd = verbs_command<ib_uverbs_alloc_pd>;
using verbs_cmd_reg_mr = verbs_command<ib_uverbs_reg_mr>;
using verbs_cmd_rereg_mr = verbs_command<ib_uverbs_rereg_mr>;
using verbs_cmd_alloc_mw = verbs_command<ib_uverbs_alloc_mw>;
using verbs_cmd_create_cq = verbs_command<ib_uverbs_create_cq>;
using verbs_cmd_resize_cq = verbs_command<ib_uverbs_resize_cq>;
using verbs_cmd_create_qp = verbs_command<ib_uverbs_create_qp>;
using verbs_cmd_create_srq = verbs_command<ib_uverbs_create_srq>;
using verbs_cmd_create_xsrq = verbs_command<ib_uverbs_create_xsrq>;
using verbs_cmd_modify_srq = verbs_command<ib_uverbs_modify_srq>;
using verbs_cmd_query_srq = verbs_command<ib_uverbs_query_srq>;
using verbs_cmd_open_xrcd = verbs_command<ib_uverbs_open_xrcd>;
using verbs_cmd_open_qp = verbs_command<ib_uverbs_open_qp>;
using verbs_cmd_query_qp = verbs_command<ib_uverbs_query_qp>;
using verbs_cmd_modify_qp = verbs_command<ib_uverbs_modify_qp>;

/* The newer commands have a second header between the first and the rest. */
template <class Kernel> struct alignas(8) verbs_command_ex {
	ib_uverbs_cmd_hdr hdr;
	ib_uverbs_ex_cmd_hdr ex_hdr;
	std::byte kernel[sizeof(Kernel)];
};

using verbs_cmd_modify_cq = verbs_command_ex<ib_uverbs_ex_modify_cq>;

/* A response: the kernel's structure and the driver's directly behind it. */
template <class Kernel, class Driver> struct verbs_response {
	static_assert(sizeof(Kernel) % alignof(Driver) == 0);
	alignas(8) std::byte kernel[sizeof(Kernel)];
	Driver driver;

	Kernel *core() { return reinterpret_cast<Kernel *>(kernel); }
	static constexpr size_t size()
	{
		return sizeof(Kernel) + sizeof(Driver);
	}
};

extern "C" {

void pavo_verbs_register_driver(const verbs_device_ops *ops);
void *_verbs_init_and_alloc_context(ibv_device *device, int cmd_fd,
				    size_t alloc_size,
				    struct verbs_context *offset_of_context,
				    uint32_t driver_id);
void verbs_uninit_context(struct verbs_context *context);
void verbs_set_ops(struct verbs_context *context, const verbs_context_ops *ops);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf,
			size_t size);

int ibv_cmd_get_context(struct verbs_context *context,
			verbs_cmd_get_context *cmd, size_t cmd_size,
#if PAVO_VERBS_ABI >= 57
			struct ibv_fd_arr *descriptors,
#endif
			ib_uverbs_get_context_resp *resp, size_t resp_size);
int ibv_cmd_query_device_any(ibv_context *context,
			     const ibv_query_device_ex_input *input,
			     ibv_device_attr_ex *attr, size_t attr_size,
			     ib_uverbs_ex_query_device_resp *resp,
			     size_t *resp_size);
int ibv_cmd_query_port(ibv_context *context, uint8_t port, ibv_port_attr *attr,
		       verbs_cmd_query_port *cmd, size_t cmd_size);
int ibv_cmd_alloc_pd(ibv_context *context, ibv_pd *pd, verbs_cmd_alloc_pd *cmd,
		     size_t cmd_size, ib_uverbs_alloc_pd_resp *resp,
		     size_t resp_size);
int ibv_cmd_dealloc_pd(ibv_pd *pd);

int ibv_cmd_reg_mr(ibv_pd *pd, void *addr, size_t length, uint64_t iova,
		   int access, verbs_mr *mr, verbs_cmd_reg_mr *cmd,
		   size_t cmd_size, ib_uverbs_reg_mr_resp *resp,
		   size_t resp_size);
int ibv_cmd_rereg_mr(verbs_mr *mr, uint32_t flags, void *addr, size_t length,
		     uint64_t iova, int access, ibv_pd *pd,
		     verbs_cmd_rereg_mr *cmd, size_t cmd_size,
		     ib_uverbs_rereg_mr_resp *resp, size_t resp_size);
int ibv_cmd_dereg_mr(verbs_mr *mr);
/* The last argument came with 56; older ones do not look at it. */
int ibv_cmd_advise_mr(ibv_pd *pd, ibv_advise_mr_advice advice, uint32_t flags,
		      ibv_sge *sg_list, uint32_t num_sge);
int ibv_cmd_reg_dmabuf_mr(ibv_pd *pd, uint64_t offset, size_t length,
			  uint64_t iova, int fd, int access, verbs_mr *mr,
			  void *driver);
int ibv_cmd_alloc_mw(ibv_pd *pd, ibv_mw_type type, ibv_mw *mw,
		     verbs_cmd_alloc_mw *cmd, size_t cmd_size,
		     ib_uverbs_alloc_mw_resp *resp, size_t resp_size);
int ibv_cmd_dealloc_mw(ibv_mw *mw);

int ibv_cmd_create_cq(ibv_context *context, int cqe, ibv_comp_channel *channel,
		      int comp_vector, ibv_cq *cq, verbs_cmd_create_cq *cmd,
		      size_t cmd_size, ib_uverbs_create_cq_resp *resp,
		      size_t resp_size);
int ibv_cmd_resize_cq(ibv_cq *cq, int cqe, verbs_cmd_resize_cq *cmd,
		      size_t cmd_size, ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size);
int ibv_cmd_modify_cq(ibv_cq *cq, ibv_modify_cq_attr *attr,
		      verbs_cmd_modify_cq *cmd, size_t cmd_size);
int ibv_cmd_req_notify_cq(ibv_cq *cq, int solicited_only);
int ibv_cmd_destroy_cq(ibv_cq *cq);

int ibv_cmd_create_qp_ex(ibv_context *context, verbs_qp *qp,
			 ibv_qp_init_attr_ex *attr, verbs_cmd_create_qp *cmd,
			 size_t cmd_size, ib_uverbs_create_qp_resp *resp,
			 size_t resp_size);
int ibv_cmd_query_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask,
		     ibv_qp_init_attr *init_attr, verbs_cmd_query_qp *cmd,
		     size_t cmd_size);
int ibv_cmd_modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask,
		      verbs_cmd_modify_qp *cmd, size_t cmd_size);
int ibv_cmd_destroy_qp(ibv_qp *qp);

int ibv_cmd_create_srq(ibv_pd *pd, ibv_srq *srq, ibv_srq_init_attr *attr,
		       verbs_cmd_create_srq *cmd, size_t cmd_size,
		       ib_uverbs_create_srq_resp *resp, size_t resp_size);
int ibv_cmd_create_srq_ex(ibv_context *context, verbs_srq *srq,
			  ibv_srq_init_attr_ex *attr,
			  verbs_cmd_create_xsrq *cmd, size_t cmd_size,
			  ib_uverbs_create_srq_resp *resp, size_t resp_size);
int ibv_cmd_modify_srq(ibv_srq *srq, ibv_srq_attr *attr, int attr_mask,
		       verbs_cmd_modify_srq *cmd, size_t cmd_size);
int ibv_cmd_query_srq(ibv_srq *srq, ibv_srq_attr *attr,
		      verbs_cmd_query_srq *cmd, size_t cmd_size);
int ibv_cmd_destroy_srq(ibv_srq *srq);

int ibv_cmd_open_xrcd(ibv_context *context, verbs_xrcd *xrcd, int xrcd_size,
		      ibv_xrcd_init_attr *attr, verbs_cmd_open_xrcd *cmd,
		      size_t cmd_size, ib_uverbs_open_xrcd_resp *resp,
		      size_t resp_size);
int ibv_cmd_close_xrcd(verbs_xrcd *xrcd);
int ibv_cmd_open_qp(ibv_context *context, verbs_qp *qp, int qp_size,
		    ibv_qp_open_attr *attr, verbs_cmd_open_qp *cmd,
		    size_t cmd_size, ib_uverbs_create_qp_resp *resp,
		    size_t resp_size);

#if PAVO_VERBS_ABI >= 65
/* The last argument has attributes of the driver; null: none. */
int ibv_cmd_create_comp_cntr(ibv_context *context, ibv_comp_cntr *counter,
			     void *driver);
int ibv_cmd_destroy_comp_cntr(ibv_comp_cntr *counter);
int ibv_cmd_inc_comp_cntr(ibv_comp_cntr *counter, uint64_t amount);
int ibv_cmd_inc_err_comp_cntr(ibv_comp_cntr *counter, uint64_t amount);
int ibv_cmd_read_comp_cntr(ibv_comp_cntr *counter, uint64_t *value);
int ibv_cmd_read_err_comp_cntr(ibv_comp_cntr *counter, uint64_t *value);
int ibv_cmd_set_comp_cntr(ibv_comp_cntr *counter, uint64_t value);
int ibv_cmd_set_err_comp_cntr(ibv_comp_cntr *counter, uint64_t value);
int ibv_cmd_qp_attach_comp_cntr(ibv_qp *qp, ibv_comp_cntr *counter,
				ibv_qp_attach_comp_cntr_attr *attr);
int ibv_cmd_query_comp_cntr_caps(ibv_context *context, ibv_comp_cntr_caps *caps,
				 size_t caps_size);
#endif

int ibv_cmd_create_ah(ibv_pd *pd, ibv_ah *ah, ibv_ah_attr *attr,
		      ib_uverbs_create_ah_resp *resp, size_t resp_size);
int ibv_cmd_destroy_ah(ibv_ah *ah);
int ibv_cmd_attach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t lid);
int ibv_cmd_detach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t lid);

} /* extern "C" */

/* ibv_cmd_get_context() with the arguments of all numbers. */
static inline int get_context(struct verbs_context *context,
			      verbs_cmd_get_context *cmd, size_t cmd_size,
			      ib_uverbs_get_context_resp *resp,
			      size_t resp_size)
{
#if PAVO_VERBS_ABI >= 57
	return ibv_cmd_get_context(context, cmd, cmd_size, nullptr, resp,
				   resp_size);
#else
	return ibv_cmd_get_context(context, cmd, cmd_size, resp, resp_size);
#endif
}

#endif /* PAVO_PROVIDER_ABI_H */
