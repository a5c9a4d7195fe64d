// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * uverbs.cpp - see uverbs.h.
 */
#include "uverbs.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

namespace engine {

namespace {

Uverbs *the_uverbs;

using Completion = ib_uverbs_comp_event_desc;
using Async = ib_uverbs_async_event_desc;

uint32_t word(fake::Call &call, uint32_t attr)
{
	return static_cast<uint32_t>(call.word[attr]);
}

/* An output that the caller may have left out. */
template <class T> void answer(fake::Call &call, uint32_t attr, const T &value)
{
	if (call.out.count(attr))
		call.output(attr, value);
}

constexpr uint32_t both(uint32_t object, uint32_t method)
{
	return object << 16 | method;
}

} // namespace

/* ----------------------------------------------------------------- events */

Events::Events()
{
	if (pipe2(ends_, O_NONBLOCK | O_CLOEXEC))
		throw std::runtime_error("no pipe");
}

template <class Event> void Events::add(uint64_t user, const Event &event)
{
	if (write(ends_[1], &event, sizeof(event)) != sizeof(event))
		throw std::runtime_error("too many events");
	count_[user]++;
}

template <class Event> uint32_t Events::end(uint64_t user, __u64 Event::*name)
{
	int left = 0;
	Event event;

	if (ioctl(ends_[0], FIONREAD, &left))
		throw std::runtime_error("FIONREAD");
	for (; left >= int(sizeof(event)); left -= int(sizeof(event))) {
		if (read(ends_[0], &event, sizeof(event)) != sizeof(event))
			throw std::runtime_error("an event is gone");
		count_[event.*name]--;
		if (event.*name != user)
			add(event.*name, event);
	}
	const uint32_t read = count_[user];

	count_.erase(user);
	return read;
}

void Uverbs::completed(int channel, __u64 user)
{
	the_uverbs->channels_.at(channel).add(user, Completion{user});
}

void Uverbs::happened(int type, __u64 user)
{
	the_uverbs->async_.add(user, Async{user, uint32_t(type), 0});
}

void *Uverbs::share(size_t size, __u64 *offset)
{
	const fake::Region region =
		the_uverbs->kernel_.make_region(uint32_t(size));

	/* Earlier cases had the same pages. */
	memset(region.memory, 0, size);
	*offset = region.info.offset;
	return region.memory;
}

/* --------------------------------------------------------------- commands */

Uverbs::Uverbs(fake::Kernel &kernel) : kernel_(kernel)
{
	the_uverbs = this;
	kernel_.handler = [this](fake::Call &call) { return -serve(call); };
	kernel_.on_write = [](uint32_t command, uint32_t qp) {
		return command == IB_USER_VERBS_CMD_POST_SEND ?
			       -engine_kick_send(qp) :
			       -engine_kick_recv(qp);
	};
}

Uverbs::~Uverbs()
{
	kernel_.handler = nullptr;
	kernel_.on_write = nullptr;
	the_uverbs = nullptr;
	/* libibverbs closes the other ends. */
	for (auto &[fd, events] : channels_)
		close(events.write_end());
	close(async_.write_end());
	close(async_.read_end());
	kernel_.forget_calls();
	kernel_.forget_regions();
}

int Uverbs::serve(fake::Call &call)
{
	return call.is_method ? serve_method(call) : serve_command(call);
}

int Uverbs::create_cq(fake::Call &call)
{
	const bool has_channel =
		call.word.count(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	const int channel =
		has_channel ?
			int(word(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL)) :
			-1;
	const uint64_t user = call.word[UVERBS_ATTR_CREATE_CQ_USER_HANDLE];
	pavo_create_cq_resp resp = {};
	uint32_t handle = 0;
	const int err = engine_create_cq(word(call, UVERBS_ATTR_CREATE_CQ_CQE),
					 user, channel, &handle, &resp);

	if (err)
		return err;
	queues_[handle] = {user, channel};
	answer(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, resp.cqe_cnt);
	call.set_word(UVERBS_ATTR_CREATE_CQ_HANDLE, handle);
	call.output(UVERBS_ATTR_UHW_OUT, resp);
	return 0;
}

int Uverbs::create_qp(fake::Call &call)
{
	auto cap = call.input<ib_uverbs_qp_cap>(UVERBS_ATTR_CREATE_QP_CAP);
	engine_qp_init init = {};
	pavo_create_qp_resp resp = {};
	uint32_t handle = 0, qpn = 0;

	init.type = int(word(call, UVERBS_ATTR_CREATE_QP_TYPE));
	init.pd = word(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	init.send_cq = word(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
	init.recv_cq = word(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
	init.srq = word(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
	init.xrcd = word(call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE);
	init.user = call.word[UVERBS_ATTR_CREATE_QP_USER_HANDLE];
	init.signal_all = word(call, UVERBS_ATTR_CREATE_QP_FLAGS) &
			  IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	init.max_send_wr = cap.max_send_wr;
	init.max_recv_wr = cap.max_recv_wr;
	init.max_send_sge = cap.max_send_sge;
	init.max_recv_sge = cap.max_recv_sge;
	init.max_inline_data = cap.max_inline_data;
	const int err = engine_create_qp(&init, &handle, &qpn, &resp);

	if (err)
		return err;
	users_[handle] = init.user;
	cap = {init.max_send_wr, init.max_recv_wr, init.max_send_sge,
	       init.max_recv_sge, init.max_inline_data};
	answer(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, cap);
	answer(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn);
	call.set_word(UVERBS_ATTR_CREATE_QP_HANDLE, handle);
	answer(call, UVERBS_ATTR_UHW_OUT, resp);
	return 0;
}

int Uverbs::create_srq(fake::Call &call)
{
	engine_srq_init init = {};
	pavo_create_srq_resp resp = {};
	uint32_t handle = 0;

	init.pd = word(call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE);
	init.cq = word(call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE);
	init.xrcd = word(call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE);
	init.user = call.word[UVERBS_ATTR_CREATE_SRQ_USER_HANDLE];
	init.max_wr = word(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR);
	init.max_sge = word(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE);
	const int err = engine_create_srq(&init, &handle, &resp);

	if (err)
		return err;
	users_[handle] = init.user;
	answer(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, resp.wqe_cnt);
	answer(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, init.max_sge);
	answer(call, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, resp.srqn);
	call.set_word(UVERBS_ATTR_CREATE_SRQ_HANDLE, handle);
	call.output(UVERBS_ATTR_UHW_OUT, resp);
	return 0;
}

/* There is one interface, so its index is not compared. */
int Uverbs::query_gids(fake::Call &call)
{
	ib_uverbs_gid_entry entries[ENGINE_ADDRESSES] = {};

	for (uint32_t i = 0; i < ENGINE_ADDRESSES; i++) {
		memcpy(entries[i].gid, engine_address[i],
		       sizeof(entries[i].gid));
		entries[i].gid_index = i;
		entries[i].port_num = 1;
		entries[i].gid_type = IBV_GID_TYPE_ROCE_V2;
		entries[i].netdev_ifindex = 1;
	}
	call.output(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, entries);
	call.output(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES,
		    uint64_t{ENGINE_ADDRESSES});
	return 0;
}

int Uverbs::query_port(fake::Call &call)
{
	ib_uverbs_query_port_resp resp = {};
	__u64 pkeys = 0, qkeys = 0;

	engine_counter("bad_pkey_cntr", &pkeys);
	engine_counter("qkey_viol_cntr", &qkeys);
	resp.max_msg_sz = 0x7fffffff;
	resp.bad_pkey_cntr = uint32_t(pkeys);
	resp.qkey_viol_cntr = uint32_t(qkeys);
	resp.gid_tbl_len = ENGINE_ADDRESSES;
	resp.pkey_tbl_len = 1;
	resp.state = IBV_PORT_ACTIVE;
	resp.max_mtu = resp.active_mtu = IBV_MTU_4096;
	resp.link_layer = IBV_LINK_LAYER_ETHERNET;
	call.output(call.is_method ? uint32_t{UVERBS_ATTR_QUERY_PORT_RESP} :
				     uint32_t{UVERBS_ATTR_CORE_OUT},
		    resp);
	return 0;
}

/* Destroy an object, and report to libibverbs how many of its events were read. */
int Uverbs::destroy(fake::Call &call)
{
	/* Every such method names the object first. */
	const uint32_t handle = word(call, 0);

	switch (call.object) {
	case UVERBS_OBJECT_CQ: {
		ib_uverbs_destroy_cq_resp resp = {};
		const Queue queue = queues_.at(handle);

		engine_destroy_cq(handle);
		if (queue.channel >= 0)
			resp.comp_events_reported =
				channels_.at(queue.channel)
					.end(queue.user,
					     &Completion::cq_handle);
		resp.async_events_reported =
			async_.end(queue.user, &Async::element);
		call.output(UVERBS_ATTR_DESTROY_CQ_RESP, resp);
		return 0;
	}
	case UVERBS_OBJECT_QP:
		engine_destroy_qp(handle);
		call.output(UVERBS_ATTR_DESTROY_QP_RESP,
			    ib_uverbs_destroy_qp_resp{async_.end(
				    users_.at(handle), &Async::element)});
		return 0;
	case UVERBS_OBJECT_SRQ:
		engine_destroy_srq(handle);
		call.output(UVERBS_ATTR_DESTROY_SRQ_RESP,
			    ib_uverbs_destroy_srq_resp{async_.end(
				    users_.at(handle), &Async::element)});
		return 0;
	case UVERBS_OBJECT_MR:
		return engine_dereg_mr(handle);
	case UVERBS_OBJECT_PD:
		return engine_dealloc_pd(handle);
	case UVERBS_OBJECT_XRCD:
		return engine_close_xrcd(handle);
	case UVERBS_OBJECT_AH:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int Uverbs::serve_method(fake::Call &call)
{
	switch (both(call.object, call.method)) {
	case both(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT): {
		pavo_alloc_ucontext_resp resp;
		const int err = engine_open(&resp);

		answer(call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
		       uint32_t{1});
		answer(call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, uint64_t{0});
		call.output(UVERBS_ATTR_UHW_OUT, resp);
		return err;
	}
	case both(PAVO_OBJECT_DOORBELLS, PAVO_METHOD_DOORBELLS_KICK):
		return engine_kick_doorbells();
	case both(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT):
		return query_port(call);
	case both(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE):
		return query_gids(call);
	case both(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC):
		call.set_word(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
			      uint64_t(dup(async_.read_end())));
		return 0;
	case both(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE):
		return create_cq(call);
	case both(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE):
		return create_qp(call);
	case both(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE):
		return create_srq(call);
	case both(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY):
	case both(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY):
	case both(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY):
	case both(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY):
	case both(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY):
	case both(UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY):
	case both(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY):
		return destroy(call);
	default:
		return -EOPNOTSUPP;
	}
}

/* libibverbs closes the descriptor with the channel; this end stays. */
int Uverbs::open_channel(fake::Call &call)
{
	Events events;
	const int fd = events.read_end();

	channels_.emplace(fd, events);
	call.output(UVERBS_ATTR_CORE_OUT, uint32_t(fd));
	return 0;
}

int Uverbs::serve_command(fake::Call &call)
{
	const auto answer_handle = [&](int err, uint32_t handle) {
		call.output(UVERBS_ATTR_CORE_OUT, handle);
		return err;
	};
	uint32_t handle = 0;
	int err;

	switch (call.command) {
	case IB_USER_VERBS_CMD_QUERY_PORT:
		return query_port(call);
	case IB_USER_VERBS_CMD_ALLOC_PD:
		err = engine_alloc_pd(&handle);
		return answer_handle(err, handle);
	case IB_USER_VERBS_CMD_OPEN_XRCD:
		err = engine_open_xrcd(&handle);
		return answer_handle(err, handle);
	case IB_USER_VERBS_CMD_CREATE_AH:
		return answer_handle(0, next_ah_++);
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
		return open_channel(call);
	case IB_USER_VERBS_CMD_REG_MR: {
		const auto cmd =
			call.input<ib_uverbs_reg_mr>(UVERBS_ATTR_CORE_IN);
		uint32_t key = 0;

		err = engine_reg_mr(cmd.pd_handle, &cmd, &handle, &key);
		call.output(UVERBS_ATTR_CORE_OUT,
			    std::array<uint32_t, 3>{handle, key, key});
		return err;
	}
	default:
		return serve_use(call);
	}
}

/* Commands to objects that are there. */
int Uverbs::serve_use(fake::Call &call)
{
	switch (call.command) {
	case IB_USER_VERBS_CMD_REQ_NOTIFY_CQ: {
		const auto cmd = call.input<ib_uverbs_req_notify_cq>(
			UVERBS_ATTR_CORE_IN);

		return engine_arm_cq(cmd.cq_handle, cmd.solicited_only);
	}
	case IB_USER_VERBS_CMD_MODIFY_QP: {
		const auto cmd =
			call.input<ib_uverbs_modify_qp>(UVERBS_ATTR_CORE_IN);

		return engine_modify_qp(&cmd);
	}
	case IB_USER_VERBS_CMD_QUERY_QP: {
		const auto cmd =
			call.input<ib_uverbs_query_qp>(UVERBS_ATTR_CORE_IN);
		ib_uverbs_query_qp_resp resp;

		const int err = engine_query_qp(cmd.qp_handle, &resp);

		call.output(UVERBS_ATTR_CORE_OUT, resp);
		return err;
	}
	default:
		return -EOPNOTSUPP;
	}
}

} // namespace engine
