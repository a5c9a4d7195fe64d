// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Objects of the local end: open, create, destroy, modify, query.
 * The data path (posting, polling, memory) is local_data.cpp.
 *
 * Called by: tests through Host, the RPC server.
 */
#include "local_host.h"

#include <cerrno>
#include <cstring>
#include <map>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/device.h"
#include "../common/pattern.h"
#include "tap.h"

namespace pv {

namespace {

constexpr uint64_t guard_seed = 0x6775617264;

} // namespace

LocalHost::LocalHost(const Selector &selector)
{
	context_ = common::open_device(selector.device);
	fcntl(context_->async_fd, F_SETFL,
	      fcntl(context_->async_fd, F_GETFL) | O_NONBLOCK);
	choose_gid(selector);
	sl_ = selector.sl;
	traffic_class_ = selector.traffic_class;
}

LocalHost::~LocalHost()
{
	clean(true);
	ibv_close_device(context_);
}

/* A global address is preferred to a link-local one. */
void LocalHost::choose_gid(const Selector &selector)
{
	const auto entries = common::addresses_of(context_);
	const ibv_gid_entry *best = nullptr;

	for (const ibv_gid_entry &entry : entries) {
		if (selector.gid_index >= 0) {
			if (entry.gid_index == uint32_t(selector.gid_index))
				best = &entry;
			continue;
		}
		if (common::is_ipv4(entry.gid) != (selector.gid == GidKind::v4))
			continue;
		if (!best || (common::is_link_local(best->gid) &&
			      !common::is_link_local(entry.gid)))
			best = &entry;
	}
	if (!best)
		throw std::runtime_error(
			str(selector.device, " has no GID of the wanted kind"));
	gid_index_ = best->gid_index;
	gid_ = best->gid;
}

HostInfo LocalHost::info()
{
	HostInfo info = {};

	if (ibv_query_device(context_, &info.device))
		throw std::runtime_error("ibv_query_device failed");
	if (ibv_query_port(context_, 1, &info.port))
		throw std::runtime_error("ibv_query_port failed");
	info.gid = gid_;
	info.gid_index = gid_index_;
	return info;
}

Pd LocalHost::alloc_pd()
{
	ibv_pd *pd = ibv_alloc_pd(context_);

	if (!pd)
		return {0, errno};
	pds_[next_] = pd;
	return {next_++, 0};
}

ibv_pd *LocalHost::raw_pd(Handle id)
{
	if (!id) {
		if (!default_pd_)
			default_pd_ = alloc_pd().id;
		id = default_pd_;
	}
	return look_up(pds_, id, "PD");
}

Cq LocalHost::create_cq(int depth, bool events)
{
	return make_cq(
		[&](ibv_comp_channel *channel, void *id) {
			return ibv_create_cq(context_, depth, id, channel, 0);
		},
		events);
}

Cq LocalHost::make_cq(const CqMaker &maker, bool events)
{
	ibv_comp_channel *channel = nullptr;

	if (events) {
		channel = ibv_create_comp_channel(context_);
		if (!channel)
			return {0, 0, errno};
		fcntl(channel->fd, F_SETFL,
		      fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
	}
	Handle id = next_++;
	errno = 0;
	ibv_cq *cq = maker(channel, reinterpret_cast<void *>(uintptr_t(id)));

	if (!cq) {
		int error = errno ? errno : EIO;

		if (channel)
			ibv_destroy_comp_channel(channel);
		return {0, 0, error};
	}
	cqs_[id] = {cq, channel, 0};
	return {id, cq->cqe, 0};
}

ibv_cq *LocalHost::raw_cq(Handle id)
{
	return look_up(cqs_, id, "CQ").cq;
}

Mr LocalHost::reg_mr(MrSpec spec)
{
	size_t lead = page + spec.misalign;
	size_t total = (lead + spec.length + 2 * page - 1) & ~(page - 1);
	void *map = mmap(spec.at ? reinterpret_cast<void *>(spec.at - lead) :
				   nullptr,
			 total, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS |
				 (spec.at ? MAP_FIXED_NOREPLACE : 0),
			 -1, 0);

	if (map == MAP_FAILED)
		return {0, 0, 0, 0, 0, errno};

	MrObject object = {};

	object.map = static_cast<uint8_t *>(map);
	object.map_length = total;
	object.data = object.map + lead;
	object.length = spec.length;
	pattern_fill(object.map, lead, guard_seed, 0);
	pattern_fill(object.data + spec.length, total - lead - spec.length,
		     guard_seed, lead + spec.length);
	if (spec.registered) {
		errno = 0;
		object.mr = ibv_reg_mr(raw_pd(spec.pd), object.data,
				       spec.length, spec.access);
		if (!object.mr) {
			int error = errno ? errno : EIO;

			munmap(map, total);
			return {0, 0, 0, 0, 0, error};
		}
	}

	Handle id = next_++;

	mrs_[id] = object;
	return {id,
		uint64_t(uintptr_t(object.data)),
		spec.length,
		object.mr ? object.mr->lkey : 0,
		object.mr ? object.mr->rkey : 0,
		0};
}

Qp LocalHost::create_qp(QpSpec spec)
{
	Handle id = next_++;
	ibv_qp_init_attr_ex init = {
		.qp_context = reinterpret_cast<void *>(uintptr_t(id)),
		.cap = spec.cap,
		.qp_type = spec.type,
		.sq_sig_all = spec.signal_all};

	if (spec.xrcd) {
		init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		init.xrcd = raw_xrcd(spec.xrcd);
	} else {
		init.comp_mask = IBV_QP_INIT_ATTR_PD;
		init.pd = raw_pd(spec.pd);
		init.send_cq = raw_cq(spec.send_cq);
		if (spec.type != IBV_QPT_XRC_SEND)
			init.recv_cq = raw_cq(spec.recv_cq);
	}
	if (spec.srq)
		init.srq = raw_srq(spec.srq);
	if (spec.send_ops) {
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = spec.send_ops;
	}

	errno = 0;
	ibv_qp *qp = ibv_create_qp_ex(context_, &init);

	if (!qp)
		return {0, 0, {}, errno ? errno : EIO};
	qps_[id] = qp;
	return {id, qp->qp_num, init.cap, 0};
}

ibv_qp *LocalHost::raw_qp(Handle id)
{
	return look_up(qps_, id, "QP");
}

void LocalHost::set_class(ibv_ah_attr *attr) const
{
	if (!attr->sl)
		attr->sl = sl_;
	if (!attr->grh.traffic_class)
		attr->grh.traffic_class = traffic_class_;
}

int LocalHost::modify(Handle qp, ibv_qp_attr attr, int mask)
{
	if (mask & IBV_QP_AV)
		set_class(&attr.ah_attr);
	return ibv_modify_qp(raw_qp(qp), &attr, mask);
}

QpState LocalHost::query(Handle qp, int mask)
{
	QpState state;
	ibv_qp_init_attr init = {};

	state.error = ibv_query_qp(raw_qp(qp), &state.attr, mask, &init);
	state.cap = init.cap;
	state.signal_all = init.sq_sig_all;
	return state;
}

int LocalHost::destroy_cq(Handle id)
{
	CqObject &object = cqs_.at(id);

	if (object.unacked) {
		ibv_ack_cq_events(object.cq, object.unacked);
		object.unacked = 0;
	}
	int error = ibv_destroy_cq(object.cq);

	if (error)
		return error;
	if (object.channel)
		ibv_destroy_comp_channel(object.channel);
	cqs_.erase(id);
	return 0;
}

int LocalHost::destroy_mr(Handle id)
{
	MrObject &object = mrs_.at(id);

	if (object.mr) {
		int error = ibv_dereg_mr(object.mr);

		if (error)
			return error;
	}
	if (!guards_intact(object))
		broken_guards_ +=
			str("memory around region ", id, " was written\n");
	munmap(object.map, object.map_length);
	mrs_.erase(id);
	return 0;
}

int LocalHost::destroy(Kind kind, Handle id)
{
	int error;

	switch (kind) {
	case Kind::pd:
		error = destroy_in(pds_, id, "PD", ibv_dealloc_pd);
		if (!error && id == default_pd_)
			default_pd_ = 0;
		return error;
	case Kind::cq:
		return destroy_cq(id);
	case Kind::mr:
		return destroy_mr(id);
	case Kind::qp:
		return destroy_in(qps_, id, "QP", ibv_destroy_qp);
	default:
		return destroy_service(kind, id);
	}
}

bool LocalHost::guards_intact(const MrObject &object) const
{
	size_t lead = object.data - object.map;
	size_t tail = lead + object.length;

	return pattern_verify(object.map, lead, guard_seed, 0) < 0 &&
	       pattern_verify(object.map + tail, object.map_length - tail,
			      guard_seed, tail) < 0;
}

std::string LocalHost::clean(bool ignore_events)
{
	std::string text;
	std::map<int, unsigned> surprises;

	for (AsyncEvent event = async_event(0); event.type >= 0;
	     event = async_event(0)) {
		bool harmless = event.type == IBV_EVENT_COMM_EST ||
				event.type == IBV_EVENT_SQ_DRAINED ||
				event.type >= IBV_EVENT_PORT_ACTIVE;

		if (!ignore_events && !harmless)
			surprises[event.type]++;
	}
	for (auto [type, count] : surprises)
		text += str("unexpected async event: ",
			    ibv_event_type_str(ibv_event_type(type)), ", ",
			    count, " times\n");

	auto sweep = [&](auto &objects, Kind kind, const char *what) {
		while (!objects.empty()) {
			Handle id = objects.begin()->first;
			int error = destroy(kind, id);

			if (error) {
				text += str("destroying ", what, " ", id, ": ",
					    strerror(error), "\n");
				objects.erase(id);
			}
		}
	};

	text += leave_groups();
	sweep(qps_, Kind::qp, "QP");
	sweep(srqs_, Kind::srq, "SRQ");
	sweep(xrcds_, Kind::xrcd, "XRC domain");
	sweep(ahs_, Kind::ah, "address handle");
	sweep(mrs_, Kind::mr, "MR");
	sweep(cqs_, Kind::cq, "CQ");
	default_pd_ = 0;
	sweep(pds_, Kind::pd, "PD");
	text += broken_guards_;
	broken_guards_.clear();
	return text;
}

} // namespace pv
