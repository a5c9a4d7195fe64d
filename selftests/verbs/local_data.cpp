// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The data path of the local end: posting, polling, events, memory.
 *
 * Called by: tests through Host, the RPC server.
 */
#include <chrono>
#include <cstring>

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <time.h>

#include "local_host.h"
#include "../common/pattern.h"
#include "tap.h"

namespace pv {

namespace {

using clock = std::chrono::steady_clock;

int remaining_ms(clock::time_point deadline)
{
	auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
			    deadline - clock::now())
			    .count();

	return left > 0 ? int(left) : 0;
}

bool readable(int fd, int ms)
{
	pollfd waiter = {fd, POLLIN, 0};

	return poll(&waiter, 1, ms) > 0;
}

/*
 * Polling gives the processor away after a while: in an emulated guest the
 * kernel threads that do the work may have no other one.
 */
void relax(unsigned idle)
{
	if (idle < 64) {
		sched_yield();
	} else {
		timespec pause = {0, 50000};

		nanosleep(&pause, nullptr);
	}
}

} // namespace

LocalHost::MrObject &LocalHost::region(Handle id)
{
	return look_up(mrs_, id, "MR");
}

uint8_t *LocalHost::memory(Handle mr)
{
	return region(mr).data;
}

ibv_mr *LocalHost::raw_mr(Handle id)
{
	return region(id).mr;
}

int LocalHost::rereg(Handle mr, int flags, Handle pd, const Mr *place,
		     unsigned access)
{
	return ibv_rereg_mr(raw_mr(mr), flags, pd ? raw_pd(pd) : nullptr,
			    place ? memory(place->id) : nullptr,
			    place ? place->length : 0, int(access));
}

ibv_sge LocalHost::convert(const Sge &sge)
{
	const MrObject &object = region(sge.mr);
	uint32_t key = object.mr ? object.mr->lkey : 0xdeadbeef;

	return {uint64_t(uintptr_t(object.data)) + sge.offset, sge.length,
		key ^ sge.key_xor};
}

namespace {

/* Work requests of libibverbs, with the entries they point to. */
template <typename Wr> struct WrList {
	std::vector<std::vector<ibv_sge>> sges;
	std::vector<Wr> wrs;

	template <typename From, typename Convert>
	WrList(const std::vector<From> &from, Convert convert)
		: sges(from.size()), wrs(from.size())
	{
		for (size_t i = 0; i < from.size(); i++) {
			for (const Sge &sge : from[i].sges)
				sges[i].push_back(convert(sge));
			wrs[i] = {};
			wrs[i].wr_id = from[i].id;
			wrs[i].next = i + 1 < from.size() ? &wrs[i + 1] :
							    nullptr;
			wrs[i].sg_list = sges[i].data();
			wrs[i].num_sge = int(sges[i].size());
		}
	}

	PostResult result(int error, const Wr *bad) const
	{
		return {error, error && bad ? int(bad - wrs.data()) : -1};
	}
};

} // namespace

PostResult LocalHost::post_send(Handle qp, std::vector<SendWr> wrs)
{
	WrList<ibv_send_wr> list(wrs,
				 [&](const Sge &sge) { return convert(sge); });
	ibv_send_wr *bad = nullptr;

	for (size_t i = 0; i < wrs.size(); i++) {
		const SendWr &from = wrs[i];
		ibv_send_wr &to = list.wrs[i];

		to.opcode = from.opcode;
		to.send_flags = from.flags;
		to.imm_data = htonl(from.imm);
		set_remote(from, &to);
	}
	int error = ibv_post_send(raw_qp(qp), list.wrs.data(), &bad);

	return list.result(error, bad);
}

PostResult LocalHost::post_recv(Handle qp, std::vector<RecvWr> wrs)
{
	WrList<ibv_recv_wr> list(wrs,
				 [&](const Sge &sge) { return convert(sge); });
	ibv_recv_wr *bad = nullptr;
	int error = ibv_post_recv(raw_qp(qp), list.wrs.data(), &bad);

	return list.result(error, bad);
}

PostResult LocalHost::post_srq(Handle srq, std::vector<RecvWr> wrs)
{
	WrList<ibv_recv_wr> list(wrs,
				 [&](const Sge &sge) { return convert(sge); });
	ibv_recv_wr *bad = nullptr;
	int error = ibv_post_srq_recv(raw_srq(srq), list.wrs.data(), &bad);

	return list.result(error, bad);
}

std::vector<Wc> LocalHost::poll(Handle cq, uint32_t count, uint32_t ms)
{
	auto deadline = clock::now() + std::chrono::milliseconds(ms);
	std::vector<Wc> done;
	unsigned idle = 0;
	bool last = false;

	while (done.size() < count) {
		ibv_wc wcs[32];
		int room = int(std::min<size_t>(32, count - done.size()));
		int got = ibv_poll_cq(raw_cq(cq), room, wcs);

		if (got < 0)
			throw std::runtime_error("ibv_poll_cq failed");
		for (int i = 0; i < got; i++)
			done.push_back({wcs[i].wr_id, wcs[i].status,
					wcs[i].opcode, wcs[i].byte_len,
					ntohl(wcs[i].imm_data), wcs[i].qp_num,
					wcs[i].wc_flags, wcs[i].vendor_err,
					wcs[i].src_qp});
		if (got) {
			idle = 0;
			continue;
		}
		/* Look once more after the deadline: we may have been stopped. */
		if (last)
			break;
		last = clock::now() >= deadline;
		if (!last)
			relax(idle++);
	}
	return done;
}

int LocalHost::arm(Handle cq, bool solicited_only)
{
	return ibv_req_notify_cq(raw_cq(cq), solicited_only);
}

bool LocalHost::wait_event(Handle cq, uint32_t ms)
{
	CqObject &object = cqs_.at(cq);
	ibv_cq *which = nullptr;
	void *context = nullptr;

	if (!object.channel)
		throw std::runtime_error("this CQ has no channel");
	if (!readable(object.channel->fd, int(ms)))
		return false;
	if (ibv_get_cq_event(object.channel, &which, &context))
		return false;
	if (which != object.cq)
		throw std::runtime_error("event of another CQ");
	object.unacked++;
	return true;
}

AsyncEvent LocalHost::async_event(uint32_t ms)
{
	auto deadline = clock::now() + std::chrono::milliseconds(ms);

	for (;;) {
		ibv_async_event event;

		if (!readable(context_->async_fd, remaining_ms(deadline)))
			return {};
		if (ibv_get_async_event(context_, &event))
			continue;

		AsyncEvent seen = {int(event.event_type), 0};

		switch (event.event_type) {
		case IBV_EVENT_CQ_ERR:
			seen.object =
				Handle(uintptr_t(event.element.cq->cq_context));
			break;
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
		case IBV_EVENT_COMM_EST:
		case IBV_EVENT_SQ_DRAINED:
		case IBV_EVENT_QP_LAST_WQE_REACHED:
			seen.object =
				Handle(uintptr_t(event.element.qp->qp_context));
			break;
		case IBV_EVENT_SRQ_ERR:
		case IBV_EVENT_SRQ_LIMIT_REACHED:
			seen.object = Handle(
				uintptr_t(event.element.srq->srq_context));
			break;
		default:
			break;
		}
		ibv_ack_async_event(&event);
		return seen;
	}
}

void LocalHost::fill(Handle mr, int64_t offset, uint64_t length, uint64_t seed,
		     uint64_t position)
{
	pattern_fill(region(mr).data + offset, length, seed, position);
}

int64_t LocalHost::verify(Handle mr, int64_t offset, uint64_t length,
			  uint64_t seed, uint64_t position)
{
	return pattern_verify(region(mr).data + offset, length, seed, position);
}

uint64_t LocalHost::load(Handle mr, int64_t offset)
{
	uint64_t value;

	memcpy(&value, region(mr).data + offset, sizeof(value));
	return value;
}

void LocalHost::store(Handle mr, int64_t offset, uint64_t value)
{
	memcpy(region(mr).data + offset, &value, sizeof(value));
}

} // namespace pv
