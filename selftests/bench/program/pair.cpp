// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes and connects the two ends, waits for completions, checks the bytes.
 *
 * Called by: the tests. Plain verbs only, so that every provider is asked for
 * the same things in the same order.
 */
#include "pair.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "../../common/connect.h"

namespace bench {

using common::must_make;
using common::must_return_0;

volatile sig_atomic_t out_of_time;

namespace {

constexpr uint8_t blank_byte = 0xb5;
constexpr uint32_t first_psn = 0xfffff0; /* wraps during every test */

void check(const ibv_wc *wc, int count)
{
	for (int i = 0; i < count; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			throw std::runtime_error(
				std::string("completion: ") +
				ibv_wc_status_str(wc[i].status));
}

std::vector<uint8_t *> spare_areas;

/* A queue pair for datagrams takes of it what it needs, and an address handle. */
void connect(End &end, ibv_qp *qp, const End &peer, const ibv_qp *other)
{
	const uint8_t index = uint8_t(end.device.gid_index);

	common::connect(qp, {.gid = peer.device.gid,
			     .gid_index = index,
			     .qpn = other->qp_num,
			     .rq_psn = first_psn,
			     .sq_psn = first_psn,
			     .qkey = qkey,
			     .mtu = std::min(end.device.mtu, peer.device.mtu),
			     .reads = uint8_t(peer.device.max_reads),
			     .dest_reads = uint8_t(end.device.max_reads),
			     .hop_limit = 1,
			     .access = IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ});
	if (qp->qp_type != IBV_QPT_UD || end.to_peer)
		return;
	ibv_ah_attr way = common::address_vector(peer.device.gid, index, 1);
	end.to_peer.reset(must_make(ibv_create_ah(end.pd.get(), &way), "AH"));
}

} // namespace

void limit_time(unsigned seconds)
{
	/* no SA_RESTART: waiting for an event has to end as well */
	struct sigaction action = {};

	action.sa_handler = [](int) { out_of_time = 1; };
	sigaction(SIGALRM, &action, nullptr);
	out_of_time = 0;
	alarm(seconds);
}

void keep_pages(const std::string &maps)
{
	must_return_0(mlockall(MCL_CURRENT), "mlockall");
	if (!maps.empty())
		std::ofstream(maps) << std::ifstream("/proc/self/maps").rdbuf();
}

Areas::Areas()
{
	if (spare_areas.empty()) {
		void *map =
			mmap(nullptr, 2 * area_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		common::must(map != MAP_FAILED, "memory");
		spare_areas.push_back(static_cast<uint8_t *>(map));
	}
	out = spare_areas.back();
	in = out + area_bytes;
	spare_areas.pop_back();
}

Areas::~Areas()
{
	spare_areas.push_back(out);
}

Completions::Completions(Device &device, int depth, Wait wait) : wait_(wait)
{
	if (wait == Wait::events)
		channel_.reset(
			must_make(ibv_create_comp_channel(device.context),
				  "completion channel"));
	cq_.reset(must_make(ibv_create_cq(device.context, depth, nullptr,
					  channel_.get(), 0),
			    "CQ"));
}

int Completions::reap(ibv_wc *wc, int room)
{
	int count = ibv_poll_cq(raw(), room, wc);

	if (count < 0)
		throw std::runtime_error("ibv_poll_cq failed");
	check(wc, count);
	return count;
}

void Completions::arm()
{
	if (wait_ == Wait::events)
		must_return_0(ibv_req_notify_cq(raw(), 0),
			      "request for an event");
}

void Completions::next_event()
{
	ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(channel_.get(), &cq, &context))
		throw std::runtime_error(out_of_time ? "hangs" :
						       "no completion event");
	unacked_++;
}

int Completions::wait(ibv_wc *wc, int room)
{
	for (;;) {
		int count = reap(wc, room);

		if (count)
			return count;
		if (out_of_time)
			throw std::runtime_error("hangs");
		if (wait_ == Wait::polling)
			continue;
		arm();
		/* one that came between the look and the request */
		count = reap(wc, room);
		if (count)
			return count;
		next_event();
	}
}

ibv_wc Completions::await()
{
	ibv_wc wc;

	if (wait_ == Wait::events)
		next_event();
	/* a stale event, or polling: wait() goes on from here */
	wait(&wc, 1);
	return wc;
}

End::End(Device &its_device, const PairSpec &spec)
	: device(its_device), pd(must_make(ibv_alloc_pd(device.context), "PD")),
	  mr(must_make(ibv_reg_mr(pd.get(), out, 2 * area_bytes,
				  IBV_ACCESS_LOCAL_WRITE |
					  IBV_ACCESS_REMOTE_WRITE |
					  IBV_ACCESS_REMOTE_READ),
		       "MR")),
	  sent(device, queue_depth * spec.queue_pairs, spec.wait),
	  received(device, queue_depth * spec.queue_pairs, spec.wait)
{
	bool datagrams = spec.service == Service::ud;
	ibv_qp_init_attr init = {
		.send_cq = sent.raw(),
		.recv_cq = received.raw(),
		.cap = {queue_depth, queue_depth, 1, datagrams ? 2u : 1u, 0},
		.qp_type = datagrams ? IBV_QPT_UD : IBV_QPT_RC};

	for (int i = 0; i < spec.queue_pairs; i++)
		qps.emplace_back(
			must_make(ibv_create_qp(pd.get(), &init), "QP"));
	if (datagrams)
		grh_mr.reset(must_make(ibv_reg_mr(pd.get(), grh, sizeof(grh),
						  IBV_ACCESS_LOCAL_WRITE),
				       "MR"));
}

Pair::Pair(Device &first, Device &second, const PairSpec &spec)
	: a(first, spec), b(second, spec)
{
	for (size_t i = 0; i < a.qps.size(); i++) {
		ibv_qp *from = a.qps[i].get(), *to = b.qps[i].get();

		if (first.is_iwarp()) {
			calls.push_back(std::make_unique<Call>(first, from,
							       second, to));
			continue;
		}
		connect(a, from, b, to);
		connect(b, to, a, from);
	}
}

SetupTimes time_setup(Device &a, Device &b, int count, int depth)
{
	const PairSpec spec;
	End here(a, spec), there(b, spec);
	SetupTimes times;
	ibv_qp_init_attr init = {.send_cq = here.sent.raw(),
				 .recv_cq = here.received.raw(),
				 .cap = {uint32_t(depth), uint32_t(depth), 1, 1,
					 0},
				 .qp_type = IBV_QPT_RC};
	std::vector<Owned<ibv_qp, ibv_destroy_qp>> made;
	auto timed = [](std::vector<uint64_t> &into, auto &&step) {
		const uint64_t start = now();

		step();
		into.push_back(now() - start);
	};

	for (int round = 0; round < 2; round++) {
		times = {};
		for (int i = 0; i < count; i++) {
			ibv_qp *qp = nullptr;

			timed(times.create, [&] {
				qp = must_make(ibv_create_qp(here.pd.get(),
							     &init),
					       "QP");
			});
			made.emplace_back(qp);
			timed(times.connect, [&] {
				connect(here, qp, there, there.qps[0].get());
			});
		}
		for (auto &qp : made)
			timed(times.destroy, [&] { qp.reset(); });
		made.clear();
	}
	return times;
}

void post(ibv_qp *qp, ibv_send_wr *wr)
{
	ibv_send_wr *bad;

	if (int error = ibv_post_send(qp, wr, &bad))
		common::throw_errno(error, "ibv_post_send");
}

void post(ibv_qp *qp, ibv_recv_wr *wr)
{
	ibv_recv_wr *bad;

	if (int error = ibv_post_recv(qp, wr, &bad))
		common::throw_errno(error, "ibv_post_recv");
}

Place::Place(End &end, size_t at, size_t size) : bytes_(uint32_t(size))
{
	if (end.grh_mr) {
		parts_[count_++] = {uintptr_t(end.grh), sizeof(end.grh),
				    end.grh_mr->lkey};
		bytes_ += sizeof(end.grh);
	}
	parts_[count_++] = {uintptr_t(end.in) + at, uint32_t(size),
			    end.mr->lkey};
}

void Place::set(ibv_recv_wr &wr)
{
	wr.sg_list = parts_;
	wr.num_sge = count_;
}

void blank(uint8_t *memory, size_t length)
{
	memset(memory, blank_byte, length);
}

void verify(const uint8_t *got, const uint8_t *sent, size_t slots,
	    size_t stride, size_t size)
{
	for (size_t slot = 0; slot < slots; slot++) {
		const uint8_t *at = got + slot * stride;

		if (memcmp(at, sent + slot * stride, size))
			throw std::runtime_error("wrong data in slot " +
						 std::to_string(slot));
		for (size_t i = size; i < stride; i++)
			if (at[i] != blank_byte)
				throw std::runtime_error("data outside slot " +
							 std::to_string(slot));
	}
}

} // namespace bench
