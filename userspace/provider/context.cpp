// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * context.cpp - opening and closing a device, and asking it about itself.
 *
 * Owns: struct Context, the mapped doorbell page, the table of operations that
 * libibverbs calls. Called by libibverbs.
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sys/mman.h>

#include "layout.h"
#include "provider.h"

namespace pavo {

Mapping::~Mapping()
{
	if (data_)
		munmap(data_, size_);
}

bool Mapping::map(int fd, const pavo_mmap_info &info, uint64_t needed)
{
	void *at;

	if (info.size < needed) {
		errno = EPROTO;
		return false;
	}
	at = mmap(nullptr, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  static_cast<off_t>(info.offset));
	if (at == MAP_FAILED)
		return false;
	data_ = at;
	size_ = info.size;
	return true;
}

OwnRing make_ring(pavo_doorbell_page *page, bool shared)
{
	void *at = mmap(nullptr, sizeof(DoorbellRing), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return nullptr;
	if (madvise(at, sizeof(DoorbellRing), MADV_WIPEONFORK)) {
		int err = errno;

		munmap(at, sizeof(DoorbellRing));
		errno = err;
		return nullptr;
	}
	return OwnRing(new (at) DoorbellRing(page, shared));
}

void UnmapRing::operator()(DoorbellRing *ring) const
{
	munmap(ring, sizeof(*ring));
}

namespace {

int query_device(ibv_context *context, const ibv_query_device_ex_input *input,
		 ibv_device_attr_ex *attr, size_t attr_size)
{
	ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int err;

	err = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (err)
		return err;
	version = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", static_cast<unsigned>(version >> 32 & 0xffff),
		 static_cast<unsigned>(version >> 16 & 0xffff),
		 static_cast<unsigned>(version & 0xffff));
	return 0;
}

int query_port(ibv_context *context, uint8_t port, ibv_port_attr *attr)
{
	verbs_cmd_query_port cmd = {};

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

#if PAVO_VERBS_PORT_SPEED
/* Width of a link, 1 to 12, by its code (enum ib_port_width). */
uint64_t link_width(uint8_t code)
{
	switch (code) {
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 1;
	}
}

/* Speed of a link of width 1 by its code (enum ib_port_speed), in units of 100 Mb/s. */
uint64_t link_speed(uint32_t code)
{
	switch (code) {
	case 2: /* DDR */
		return 50;
	case 4: /* QDR */
	case 8: /* FDR10 */
		return 100;
	case 16: /* FDR */
		return 140;
	case 32: /* EDR */
		return 250;
	case 64: /* HDR */
		return 500;
	case 128: /* NDR */
		return 1000;
	case 256: /* XDR */
		return 2000;
	default: /* SDR */
		return 25;
	}
}

int query_port_speed(ibv_context *context, uint32_t port, uint64_t *speed)
{
	ibv_port_attr attr = {};
	int err;

	if (port > UINT8_MAX)
		return EINVAL;
	err = query_port(context, uint8_t(port), &attr);
	if (err)
		return err;
	*speed = link_width(attr.active_width) *
		 link_speed(attr.active_speed_ex ? attr.active_speed_ex :
						   attr.active_speed);
	return 0;
}
#endif

void close_context(Context *context)
{
	adopt_object(context->state).reset();
	verbs_uninit_context(&context->verbs);
	free(context); /* libibverbs allocated it */
}

void free_context(ibv_context *context)
{
	close_context(to_context(context));
}

/* Operations that are not here answer EOPNOTSUPP by libibverbs' default. */
constexpr verbs_context_ops context_ops = [] {
	verbs_context_ops ops = {};

	ops.alloc_mw = alloc_mw;
	ops.alloc_parent_domain = alloc_parent_domain;
	ops.alloc_pd = alloc_pd;
	ops.alloc_td = alloc_td;
	ops.bind_mw = bind_mw;
	ops.close_xrcd = close_xrcd;
	ops.create_ah = create_ah;
#if PAVO_VERBS_ABI >= 65
	ops.create_comp_cntr = create_comp_cntr;
	ops.destroy_comp_cntr = destroy_comp_cntr;
#endif
	ops.create_cq = create_cq;
	ops.create_cq_ex = create_cq_ex;
	ops.create_qp = create_qp;
	ops.create_qp_ex = create_qp_ex;
	ops.create_srq = create_srq;
	ops.create_srq_ex = create_srq_ex;
	ops.dealloc_mw = dealloc_mw;
	ops.dealloc_pd = dealloc_pd;
	ops.dealloc_td = dealloc_td;
	ops.dereg_mr = dereg_mr;
	ops.destroy_ah = destroy_ah;
	ops.destroy_cq = destroy_cq;
	ops.destroy_qp = destroy_qp;
	ops.destroy_srq = destroy_srq;
	ops.free_context = free_context;
	ops.get_srq_num = get_srq_num;
	ops.modify_cq = modify_cq;
	ops.modify_qp = modify_qp;
	ops.modify_srq = modify_srq;
	ops.open_qp = open_qp;
	ops.open_xrcd = open_xrcd;
	ops.poll_cq = poll_cq;
	ops.post_recv = post_recv;
	ops.post_send = post_send;
	ops.post_srq_recv = post_srq_recv;
	ops.query_device_ex = query_device;
	ops.query_port = query_port;
#if PAVO_VERBS_PORT_SPEED
	ops.query_port_speed = query_port_speed;
#endif
	ops.query_qp = query_qp;
	ops.query_rt_values = query_rt_values;
	ops.query_srq = query_srq;
	ops.reg_dmabuf_mr = reg_dmabuf_mr;
	ops.reg_mr = reg_mr;
	ops.rereg_mr = rereg_mr;
	ops.resize_cq = resize_cq;
	return ops;
}();

/* Operations whose code is libibverbs' own; its addresses are no constants. */
void set_ops(verbs_context *context)
{
	verbs_context_ops passed_on = {};

	passed_on.advise_mr = ibv_cmd_advise_mr;
	passed_on.attach_mcast = ibv_cmd_attach_mcast;
	passed_on.detach_mcast = ibv_cmd_detach_mcast;
	passed_on.req_notify_cq = ibv_cmd_req_notify_cq;
#if PAVO_VERBS_ABI >= 65
	passed_on.inc_comp_cntr = ibv_cmd_inc_comp_cntr;
	passed_on.inc_err_comp_cntr = ibv_cmd_inc_err_comp_cntr;
	passed_on.qp_attach_comp_cntr = ibv_cmd_qp_attach_comp_cntr;
	passed_on.query_comp_cntr_caps = ibv_cmd_query_comp_cntr_caps;
	passed_on.read_comp_cntr = ibv_cmd_read_comp_cntr;
	passed_on.read_err_comp_cntr = ibv_cmd_read_err_comp_cntr;
	passed_on.set_comp_cntr = ibv_cmd_set_comp_cntr;
	passed_on.set_err_comp_cntr = ibv_cmd_set_err_comp_cntr;
#endif
	verbs_set_ops(context, &context_ops);
	verbs_set_ops(context, &passed_on);
}

bool single_threaded()
{
	const char *value = getenv("IBVERBS_SINGLE_THREADED");

	return value && atoi(value) != 0;
}

/* Opens the module's side and maps the page; false with errno set. */
bool connect_module(Context *context)
{
	verbs_response<ib_uverbs_get_context_resp, pavo_alloc_ucontext_resp>
		resp = {};
	verbs_cmd_get_context cmd = {};
	int fd = context->verbs.context.cmd_fd;
	int err;

	err = get_context(&context->verbs, &cmd, sizeof(cmd), resp.core(),
			  resp.size());
	if (err) {
		errno = err;
		return false;
	}
	if (resp.driver.abi_version != PAVO_ABI_VERSION) {
		fprintf(stderr,
			"libpavo: the module answers with interface version "
			"%u, this provider knows %d only.\n",
			resp.driver.abi_version, PAVO_ABI_VERSION);
		errno = EPROTO;
		return false;
	}

	Mapping page;

	if (!page.map(fd, resp.driver.doorbell, sizeof(pavo_doorbell_page)))
		return false;

	OwnRing ring = make_ring(static_cast<pavo_doorbell_page *>(page.data()),
				 !single_threaded());

	if (!ring)
		return false;
	context->state = make_object<ContextState>(page, std::move(ring),
						   !single_threaded())
				 .release();
	if (!context->state)
		return false;
	context->state->worker.set_by_environment(fd, "libpavo");
	return true;
}

} // namespace

verbs_context *alloc_context(ibv_device *device, int cmd_fd, void *)
{
	auto *found = reinterpret_cast<verbs_device *>(device);
	uint32_t driver_id = found->sysfs ? found->sysfs->driver_id : 0;
	Context *context;
	int err = check_library();

	if (err) {
		errno = err;
		return nullptr;
	}
	context = static_cast<Context *>(_verbs_init_and_alloc_context(
		device, cmd_fd, sizeof(Context), nullptr, driver_id));
	if (!context)
		return nullptr;
	if (!connect_module(context)) {
		err = errno;
		close_context(context);
		errno = err;
		return nullptr;
	}
	set_ops(&context->verbs);
	return &context->verbs;
}

} // namespace pavo
