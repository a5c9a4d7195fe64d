// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The application's side: see world.h. Here: work requests and completions.
 */
#include <algorithm>
#include <map>

#include <pavo_dv.h>
#include <poll.h>

#include "world.h"

namespace wf {

namespace {

/* Receives of shared queues outlive a dialogue: their memory is given away for good. */
constexpr size_t given_away = region_size / 2;
constexpr std::string_view for_ever = "srq";

const std::map<std::string_view, ibv_wr_opcode> operations = {
	{"SEND", IBV_WR_SEND},
	{"SEND_IMM", IBV_WR_SEND_WITH_IMM},
	{"SEND_INV", IBV_WR_SEND_WITH_INV},
	{"WRITE", IBV_WR_RDMA_WRITE},
	{"WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM},
	{"READ", IBV_WR_RDMA_READ},
	{"CAS", IBV_WR_ATOMIC_CMP_AND_SWP},
	{"FADD", IBV_WR_ATOMIC_FETCH_AND_ADD},
	{"LOCAL_INV", IBV_WR_LOCAL_INV},
	{"AWRITE", IBV_WR_ATOMIC_WRITE},
};

/* The SRQ that an XRC request names at the peer. */
constexpr uint32_t remote_srqn = 0x55;

bool is_extended(std::string_view name)
{
	return name.starts_with("EXT_") || name == "IMM64";
}

unsigned flags_of(const Step &step)
{
	unsigned flags = 0;

	for (auto &[key, flag] :
	     std::initializer_list<std::pair<const char *, unsigned>>{
		     {"signal", IBV_SEND_SIGNALED},
		     {"fence", IBV_SEND_FENCE},
		     {"inline", IBV_SEND_INLINE},
		     {"solicited", IBV_SEND_SOLICITED}})
		if (step.number(key, 0))
			flags |= flag;
	return flags;
}

bool is_readable(int fd)
{
	pollfd wait{fd, POLLIN, 0};

	return ::poll(&wait, 1, 0) > 0;
}

} // namespace

/* At most two: the second half of a long one comes from another place. */
std::vector<ibv_sge> World::pieces(const Step &step, const Value &at,
				   const std::string &owner)
{
	const auto length = static_cast<uint32_t>(step.number("len", 64));
	Region *region = regions_->find(at.symbol);
	std::vector<ibv_sge> sges;

	if (!region)
		region = regions_->find("l");
	const auto key = region->mr ? region->mr->lkey : region->key;
	const uint32_t parts = step.number("split", 0) && length > 1 ? 2 : 1;

	for (uint32_t i = 0; i < parts; i++) {
		const uint32_t part = parts == 1 ? length :
				      i		 ? length - length / 2 :
						   length / 2;
		const uint64_t offset = at.number + i * (length / 2 + 16);

		sges.push_back(
			{reinterpret_cast<uintptr_t>(region->at) + offset, part,
			 key + static_cast<uint32_t>(step.number("lkey", 0))});
		if (!owner.empty())
			regions_->allow(*region, offset, part, owner);
	}
	return sges;
}

bool World::fill_send(Target &target, const Step &step, ibv_send_wr &wr)
{
	auto found = operations.find(step.name);

	if (found == operations.end())
		return false;
	wr.opcode = found->second;
	wr.send_flags = flags_of(step);
	wr.imm_data = static_cast<uint32_t>(step.number("imm", 7));
	const Value *va = step.find("va"), *rkey = step.find("rkey");
	const uint64_t address = va ? resolve("va", *va) : 0x10000;
	const auto key =
		static_cast<uint32_t>(rkey ? resolve("rkey", *rkey) : 0x1234);

	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr.wr.atomic = {address, step.number("add", 1),
				step.number("swap", 2), key};
	else
		wr.wr.rdma = {address, key};
	if (wr.opcode == IBV_WR_SEND_WITH_INV || wr.opcode == IBV_WR_LOCAL_INV)
		wr.invalidate_rkey = key;
	if (target.type == IBV_QPT_UD) {
		wr.wr.ud = {handle_, target.remote_qpn, datagram_qkey};
		return handle_ != nullptr;
	}
	if (target.is_xrc())
		wr.qp_type.xrc.remote_srqn = remote_srqn;
	return true;
}

/* By pavo_dv.h: masked atomics, swap, and immediate data of eight bytes. */
void World::post_extended(Target &target, const Step &step)
{
	const Value *va = step.find("va"), *at = step.find("at");
	const uint64_t address = va ? resolve("va", *va) : 0x10000;
	const uint64_t mask = step.number("mask", UINT64_MAX);
	const bool atomic = step.name != "IMM64";
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(target.qp);
	std::vector<ibv_sge> sges;

	if (!ex)
		return;
	if (atomic)
		sges = pieces(step, at ? *at : Value{"l", 0}, target.name);
	for (uint64_t n = std::min<uint64_t>(step.number("n", 1), 64); n; n--) {
		ibv_wr_start(ex);
		ex->wr_id = new_id();
		ex->wr_flags = flags_of(step);
		target.posted.insert(ex->wr_id);
		if (step.name == "EXT_FADD")
			pavodv_wr_ext_fetch_add(ex, 0x1234, address,
						step.number("add", 1), mask);
		else if (step.name == "EXT_SWAP")
			pavodv_wr_ext_swap(ex, 0x1234, address,
					   step.number("swap", 2));
		else if (step.name == "EXT_CAS")
			pavodv_wr_ext_cmp_swap(ex, 0x1234, address,
					       step.number("add", 1),
					       step.number("cmask", UINT64_MAX),
					       step.number("swap", 2), mask);
		else
			pavodv_wr_imm64(ex, step.number("imm", 7));
		if (atomic)
			ibv_wr_set_sge_list(ex, sges.size(), sges.data());
		if (target.is_xrc())
			ibv_wr_set_xrc_srqn(ex, remote_srqn);
		if (ibv_wr_complete(ex))
			break;
	}
}

void World::post(Target &target, const Step &step)
{
	ibv_send_wr wr{}, *bad = nullptr;
	const Value *at = step.find("at");
	const Value usual{step.name == "READ" ? "l" : "s", 0};

	if (target.qp && is_extended(step.name))
		return post_extended(target, step);
	if (!target.qp || target.type == IBV_QPT_XRC_RECV ||
	    !fill_send(target, step, wr))
		return;
	bool fetches = wr.opcode == IBV_WR_RDMA_READ ||
		       wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		       wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	auto sges = pieces(step, at ? *at : usual,
			   fetches ? target.name : std::string());
	wr.sg_list = sges.data();
	wr.num_sge = wr.opcode == IBV_WR_LOCAL_INV ?
			     0 :
			     static_cast<int>(sges.size());
	for (uint64_t n = std::min<uint64_t>(step.number("n", 1), 64); n; n--) {
		wr.wr_id = new_id();
		/* It may complete before the call returns. */
		target.posted.insert(wr.wr_id);
		if (ibv_post_send(target.qp, &wr, &bad))
			break;
	}
}

void World::receive(Target &target, const Step &step)
{
	const Value *at = step.find("at"), *queue = step.find("srq");
	Shared *shared = nullptr;
	ibv_recv_wr wr{}, *bad = nullptr;
	Value place = at ? *at : Value{"l", 0};

	if (target.type == IBV_QPT_XRC_RECV || target.shared) {
		shared = target.shared ? &shared_.back() : &shared_.front();
		for (Shared &one : shared_)
			if (queue && one.name == queue->symbol)
				shared = &one;
		place = {"l", place.number % given_away};
	}
	auto sges = pieces(step, place,
			   shared ? std::string(for_ever) : target.name);
	wr.sg_list = sges.data();
	wr.num_sge = static_cast<int>(sges.size());
	for (uint64_t n = std::min<uint64_t>(step.number("n", 1), 64); n; n--) {
		auto &posted = shared ? shared->posted : target.posted;
		int error = EINVAL;

		wr.wr_id = new_id();
		posted.insert(wr.wr_id);
		if (shared && shared->srq)
			error = ibv_post_srq_recv(shared->srq, &wr, &bad);
		else if (!shared && target.qp)
			error = ibv_post_recv(target.qp, &wr, &bad);
		if (error) {
			posted.erase(wr.wr_id);
			break;
		}
	}
}

void World::bind_first(Target &target, ibv_mw_bind_info &info)
{
	if (!windows_[0])
		return;
	ibv_mw_bind bind = {.wr_id = new_id(),
			    .send_flags = IBV_SEND_SIGNALED,
			    .bind_info = info};
	target.posted.insert(bind.wr_id);
	ibv_bind_mw(target.qp, windows_[0], &bind);
	regions_->set_window_key("mw1", windows_[0]->rkey);
}

void World::bind_second(Target &target, ibv_mw_bind_info &info)
{
	ibv_send_wr wr{}, *bad = nullptr;

	if (!windows_[1])
		return;
	wr.wr_id = new_id();
	wr.opcode = IBV_WR_BIND_MW;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.bind_mw = {windows_[1], ibv_inc_rkey(second_key_), info};
	target.posted.insert(wr.wr_id);
	if (ibv_post_send(target.qp, &wr, &bad))
		return;
	second_key_ = wr.bind_mw.rkey;
	regions_->set_window_key("mw2", second_key_);
}

/* bind TARGET mw1|mw2 at=OFFSET len=N access=N */
void World::bind(const Step &step)
{
	Target *by = target(step.subject);
	Region *shown = regions_->find("r");

	if (!by || !by->qp || by->type == IBV_QPT_XRC_RECV || !shown->mr)
		return;
	ibv_mw_bind_info info = {.mr = shown->mr};
	info.addr =
		reinterpret_cast<uintptr_t>(shown->at) + step.number("at", 0);
	info.length = step.number("len", 4096);
	info.mw_access_flags = static_cast<unsigned>(step.number(
		"access", IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
	if (step.name == "mw1")
		bind_first(*by, info);
	else
		bind_second(*by, info);
}

void World::arm()
{
	ibv_req_notify_cq(cq_, 0);
}

void World::take_events()
{
	ibv_async_event event;
	ibv_cq *cq;
	void *context;

	while (is_readable(context_->async_fd) &&
	       !ibv_get_async_event(context_, &event))
		ibv_ack_async_event(&event);
	while (is_readable(channel_->fd) &&
	       !ibv_get_cq_event(channel_, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

void World::settle(const ibv_wc &wc)
{
	for (Target &target : targets_)
		if (target.posted.erase(wc.wr_id))
			return;
	for (Shared &shared : shared_)
		if (shared.posted.erase(wc.wr_id))
			return;
	throw Violation("a completion of what was not posted, or completed "
			"before: wr_id " +
			std::to_string(wc.wr_id) + ", status " +
			ibv_wc_status_str(wc.status) + ", QP " +
			std::to_string(wc.qp_num));
}

void World::poll(const OnCompletion &on_completion)
{
	ibv_wc wc[16];
	int count;

	while ((count = ibv_poll_cq(cq_, 16, wc)) > 0)
		for (int i = 0; i < count; i++) {
			settle(wc[i]);
			on_completion(wc[i]);
		}
	if (count < 0)
		throw Violation("ibv_poll_cq failed");
	take_events();
}

} // namespace wf
