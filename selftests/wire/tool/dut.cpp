// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device under test: see dut.h.
 */
#include "dut.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#include "../../common/connect.h"
#include "../../common/device.h"
#include "pattern.h"

namespace pw {

using common::must_return_0;

namespace {

constexpr uint8_t port = 1;
constexpr size_t page = 4096, guard = 4096;
/* No region begins on a page or a cache line: that would hide mistakes. */
constexpr size_t offset_in_page = 0x6a8;
constexpr uint8_t guard_byte = 0xa5;
/* Operations of begin_operation(). */
constexpr uint64_t extended_operations =
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

void nonblocking(int fd)
{
	common::must_not_fail(
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), "fcntl");
}

bool readable(int fd)
{
	pollfd wait{fd, POLLIN, 0};

	return poll(&wait, 1, 0) > 0;
}

} // namespace

void Dut::load_providers()
{
	ibv_device **list = ibv_get_device_list(nullptr);

	if (list)
		ibv_free_device_list(list);
}

bool Dut::can_flush(const std::string &device)
{
	/* Newer verbs have a name for it. */
	constexpr uint64_t flush_global = 1ull << 38;
	ibv_context *context = common::open_device(device);
	ibv_device_attr_ex attr = {};
	const int error = ibv_query_device_ex(context, nullptr, &attr);

	ibv_close_device(context);
	must_return_0(error, "ibv_query_device_ex");
	return attr.device_cap_flags_ex & flush_global;
}

Dut::Dut(Bench &bench, const std::string &device, const Address &peer,
	 int64_t deadline)
	: context_(common::open_device(device)), bench_(bench), device_(device),
	  peer_(peer)
{
	while (!find_address(peer)) {
		if (bench_.now() >= deadline)
			throw std::runtime_error(device +
						 " has no RoCE v2 address"
						 " of the family of " +
						 print_address(peer));
		bench_.pass(deadline);
	}
	nonblocking(context_->async_fd);
	pd_ = common::must_make(ibv_alloc_pd(context_), "ibv_alloc_pd");
}

Dut::~Dut()
{
	if (qp_)
		ibv_destroy_qp(qp_);
	if (peer_handle_)
		ibv_destroy_ah(peer_handle_);
	for (auto &[name, srq] : srqs_)
		ibv_destroy_srq(srq);
	for (ibv_xrcd *domain : {xrcd_, other_xrcd_})
		if (domain)
			ibv_close_xrcd(domain);
	for (ibv_cq *cq : cq_)
		if (cq)
			ibv_destroy_cq(cq);
	for (ibv_comp_channel *channel : channel_)
		if (channel)
			ibv_destroy_comp_channel(channel);
	for (auto &[name, region] : regions_)
		if (region->mr)
			ibv_dereg_mr(region->mr);
	if (other_pd_)
		ibv_dealloc_pd(other_pd_);
	if (pd_)
		ibv_dealloc_pd(pd_);
	ibv_close_device(context_);
}

bool Dut::find_address(const Address &peer)
{
	for (const ibv_gid_entry &entry : common::addresses_of(context_)) {
		Address address;

		std::copy_n(entry.gid.raw, address.size(), address.begin());
		const auto mac = bench_.device_mac(entry.ndev_ifindex);

		if (common::is_link_local(entry.gid) ||
		    is_ip4(address) != is_ip4(peer) || !mac)
			continue;
		address_ = address;
		gid_index_ = static_cast<uint8_t>(entry.gid_index);
		mac_ = *mac;
		return true;
	}
	return false;
}

Region &Dut::add_region(const std::string &name, size_t size, int access,
			const Placement &placement)
{
	auto region = std::make_unique<Region>();
	Region &r = *region;

	r.name = name;
	r.size = size;
	r.shadow = stream(name, 0, size);
	r.mapping.assign(page + 2 * guard + offset_in_page + placement.from +
				 size,
			 guard_byte);

	auto base = reinterpret_cast<uintptr_t>(r.mapping.data()) + guard;

	base = (base + page - 1) / page * page + offset_in_page +
	       placement.from;
	r.at = reinterpret_cast<uint8_t *>(base);
	r.iova = placement.zero_based ? 0 : base;
	std::copy(r.shadow.begin(), r.shadow.end(), r.at);
	return register_region(std::move(region),
			       placement.other_pd ? other_pd() : pd_, access);
}

Region &Dut::add_empty_region(const std::string &name, size_t size, int access)
{
	auto region = std::make_unique<Region>();
	void *at = mmap(nullptr, size, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		common::throw_errno(errno, "mmap of " + name);
	region->name = name;
	region->size = size;
	region->at = static_cast<uint8_t *>(at);
	region->iova = reinterpret_cast<uint64_t>(at);
	return register_region(std::move(region), pd_, access);
}

Region &Dut::register_region(std::unique_ptr<Region> region, ibv_pd *pd,
			     int access)
{
	Region &r = *region;

	if (!r.iova)
		access |= IBV_ACCESS_ZERO_BASED;
	r.mr = common::must_make(ibv_reg_mr(pd, r.at, r.size, access),
				 "ibv_reg_mr of " + r.name);
	r.lkey = r.mr->lkey;
	r.rkey = r.mr->rkey;
	regions_[r.name] = std::move(region);
	return r;
}

ibv_pd *Dut::other_pd()
{
	if (!other_pd_)
		other_pd_ = ibv_alloc_pd(context_);
	return other_pd_;
}

Region *Dut::region(std::string_view name)
{
	auto found = regions_.find(name);

	return found == regions_.end() ? nullptr : found->second.get();
}

void Dut::deregister(Region &region)
{
	common::must_return_0(ibv_dereg_mr(region.mr),
			      "ibv_dereg_mr of " + region.name);
	region.mr = nullptr;
}

void Dut::hide(Region &region, uint64_t offset)
{
	const auto byte = reinterpret_cast<uintptr_t>(region.at) + offset;

	region.hidden.push_back(reinterpret_cast<void *>(byte / page * page));
	common::must_not_fail(mprotect(region.hidden.back(), page, PROT_NONE),
			      "mprotect");
}

std::string Dut::check_regions()
{
	for (auto &[name, region] : regions_) {
		const Region &r = *region;

		for (void *at : r.hidden)
			common::must_not_fail(mprotect(at, page,
						       PROT_READ | PROT_WRITE),
					      "mprotect");

		const auto wrong =
			std::mismatch(r.shadow.begin(), r.shadow.end(), r.at);

		if (wrong.first != r.shadow.end())
			return "byte " + std::to_string(wrong.second - r.at) +
			       " of region " + name +
			       " changed, no statement says so";
		for (const uint8_t *p = r.mapping.data();
		     p < r.mapping.data() + r.mapping.size(); p++)
			if ((p < r.at || p >= r.at + r.size) &&
			    *p != guard_byte)
				return "byte at " + std::to_string(p - r.at) +
				       ", outside region " + name +
				       ", was written";
	}
	return "";
}

void Dut::make_queue(Queue queue, uint32_t depth)
{
	channel_[queue] = common::must_make(ibv_create_comp_channel(context_),
					    "ibv_create_comp_channel");
	nonblocking(channel_[queue]->fd);
	if (config_.extended) {
		ibv_cq_init_attr_ex attr = {.cqe = depth,
					    .channel = channel_[queue],
					    .wc_flags = IBV_WC_STANDARD_FLAGS};

		extended_cq_[queue] = ibv_create_cq_ex(context_, &attr);
		if (extended_cq_[queue])
			cq_[queue] = ibv_cq_ex_to_cq(extended_cq_[queue]);
	} else {
		cq_[queue] = ibv_create_cq(context_, static_cast<int>(depth),
					   nullptr, channel_[queue], 0);
	}
	common::must_make(cq_[queue], "ibv_create_cq");
}

ibv_xrcd *Dut::open_domain()
{
	ibv_xrcd_init_attr attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
						IBV_XRCD_INIT_ATTR_OFLAGS,
				   .fd = -1,
				   .oflags = O_CREAT};

	return common::must_make(ibv_open_xrcd(context_, &attr),
				 "ibv_open_xrcd");
}

void Dut::make_srq(const SrqConfig &config)
{
	if (config.other_domain && !other_xrcd_)
		other_xrcd_ = open_domain();
	ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = config_.depth, .max_sge = config_.sges},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = config.other_pd ? other_pd() : pd_,
		.xrcd = config.other_domain ? other_xrcd_ : xrcd_,
		.cq = cq_[recv_queue]};

	ibv_srq *srq = common::must_make(ibv_create_srq_ex(context_, &attr),
					 "ibv_create_srq_ex");

	srqs_[config.name] = srq;
}

/* An XRC target, its domain, and the queues that its messages name. */
void Dut::make_target()
{
	xrcd_ = open_domain();
	make_srq({std::string(first_srq)});
	for (const SrqConfig &config : srq_configs_)
		make_srq(config);
	ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_XRC_RECV,
				    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
				    .xrcd = xrcd_};
	qp_ = ibv_create_qp_ex(context_, &attr);
}

std::optional<uint32_t> Dut::srqn(std::string_view name)
{
	auto found = srqs_.find(name);
	uint32_t number = 0;

	if (found == srqs_.end())
		return std::nullopt;
	common::must_return_0(ibv_get_srq_num(found->second, &number),
			      "ibv_get_srq_num");
	return number;
}

void Dut::make_connected(const QpConfig &config)
{
	ibv_qp_init_attr_ex init = {.send_cq = cq_[send_queue],
				    .recv_cq = cq_[recv_queue],
				    .cap = {.max_send_wr = config.depth,
					    .max_recv_wr = config.depth,
					    .max_send_sge = config.sges,
					    .max_recv_sge = config.sges,
					    .max_inline_data =
						    config.inline_data},
				    .qp_type = config.type,
				    .sq_sig_all = config.signal_all,
				    .comp_mask = IBV_QP_INIT_ATTR_PD,
				    .pd = pd_};

	if (config.extended) {
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = extended_operations;
	}
	qp_ = ibv_create_qp_ex(context_, &init);
}

void Dut::create_qp(const QpConfig &config)
{
	config_ = config;
	make_queue(send_queue, 2 * config.depth);
	make_queue(recv_queue, 2 * config.depth);
	if (config.type == IBV_QPT_XRC_RECV)
		make_target();
	else
		make_connected(config);
	common::must_make(qp_, "ibv_create_qp");
	if (config.target >= IBV_QPS_INIT)
		to_init();
	if (config.target >= IBV_QPS_RTR)
		to_rtr();
	if (config.target >= IBV_QPS_RTS)
		to_rts();
}

void Dut::to_init()
{
	common::must_return_0(
		common::modify(
			qp_,
			common::init_attr({.qkey = config_.qkey,
					   .access = unsigned(config_.access)}),
			common::init_mask),
		"modify_qp to INIT");
}

ibv_ah_attr Dut::peer_attr() const
{
	ibv_gid gid;

	std::copy(peer_.begin(), peer_.end(), gid.raw);
	return common::address_vector(gid, gid_index_);
}

void Dut::to_rtr()
{
	const ibv_mtu mtu = common::mtu_code(int(config_.mtu));
	ibv_qp_attr attr = common::rtr_attr({.qpn = config_.remote_qpn,
					     .rq_psn = config_.rq_psn,
					     .mtu = mtu,
					     .dest_reads = config_.dest_rd,
					     .min_rnr_timer = config_.min_rnr});

	common::must(common::mtu_bytes(mtu) == int(config_.mtu),
		     "no such MTU: " + std::to_string(config_.mtu));
	attr.ah_attr = peer_attr();
	common::must_return_0(common::modify(qp_, attr, common::rtr_mask),
			      "modify_qp to RTR");
}

void Dut::to_rts()
{
	common::must_return_0(
		common::modify(
			qp_,
			common::rts_attr({.sq_psn = config_.sq_psn,
					  .reads = config_.rd,
					  .timeout = config_.timeout,
					  .retry_count = config_.retry,
					  .rnr_retry = config_.rnr_retry}),
			common::rts_mask),
		"modify_qp to RTS");
}

void Dut::set_state(ibv_qp_state state, ibv_qp_attr attr, int mask)
{
	switch (state) {
	case IBV_QPS_INIT:
		return to_init();
	case IBV_QPS_RTR:
		return to_rtr();
	case IBV_QPS_RTS:
		if (this->state() == IBV_QPS_RTR)
			return to_rts();
		break;
	default:
		break;
	}
	attr.qp_state = state;
	common::must_return_0(ibv_modify_qp(qp_, &attr, IBV_QP_STATE | mask),
			      "modify_qp");
}

ibv_qp_state Dut::state()
{
	ibv_qp_attr attr{};
	ibv_qp_init_attr init{};

	common::must_return_0(ibv_query_qp(qp_, &attr, IBV_QP_STATE, &init),
			      "query_qp");
	return attr.qp_state;
}

void Dut::post_send(std::vector<SendRequest> &requests)
{
	ibv_send_wr *bad = nullptr;

	if (config_.extended)
		return post_extended(requests);
	for (size_t i = 0; i < requests.size(); i++) {
		SendRequest &r = requests[i];

		r.wr.sg_list = r.sges.data();
		r.wr.num_sge = static_cast<int>(r.sges.size());
		r.wr.next = i + 1 < requests.size() ? &requests[i + 1].wr :
						      nullptr;
	}
	common::must_return_0(ibv_post_send(qp_, &requests.front().wr, &bad),
			      "ibv_post_send");
}

ibv_ah *Dut::peer()
{
	ibv_ah_attr attr = peer_attr();

	if (!peer_handle_)
		peer_handle_ = common::must_make(ibv_create_ah(pd_, &attr),
						 "ibv_create_ah");
	return peer_handle_;
}

void Dut::post_recv(uint64_t id, std::vector<ibv_sge> sges)
{
	ibv_recv_wr wr{}, *bad = nullptr;

	wr.wr_id = id;
	wr.sg_list = sges.data();
	wr.num_sge = static_cast<int>(sges.size());
	common::must_return_0(ibv_post_recv(qp_, &wr, &bad), "ibv_post_recv");
}

void Dut::post_srq_recv(const std::string &srq, uint64_t id,
			std::vector<ibv_sge> sges)
{
	auto found = srqs_.find(srq);
	ibv_recv_wr wr{}, *bad = nullptr;

	if (found == srqs_.end())
		common::throw_errno(ENOENT, "no queue is called " + srq);
	wr.wr_id = id;
	wr.sg_list = sges.data();
	wr.num_sge = static_cast<int>(sges.size());
	common::must_return_0(ibv_post_srq_recv(found->second, &wr, &bad),
			      "ibv_post_srq_recv");
}

std::optional<Completion> Dut::poll(Queue queue)
{
	if (extended_cq_[queue])
		return poll_extended(extended_cq_[queue]);

	Completion wc{};
	const int count = ibv_poll_cq(cq_[queue], 1, &wc);

	if (count < 0)
		common::throw_errno(EIO, "ibv_poll_cq");
	return count ? std::optional(wc) : std::nullopt;
}

void Dut::arm(Queue queue, bool solicited)
{
	common::must_return_0(ibv_req_notify_cq(cq_[queue], solicited),
			      "ibv_req_notify_cq");
}

bool Dut::take_event(Queue queue)
{
	ibv_cq *cq;
	void *context;

	if (!readable(channel_[queue]->fd) ||
	    ibv_get_cq_event(channel_[queue], &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

std::optional<ibv_event_type> Dut::take_async()
{
	ibv_async_event event;

	if (!readable(context_->async_fd) ||
	    ibv_get_async_event(context_, &event))
		return std::nullopt;
	ibv_ack_async_event(&event);
	return event.event_type;
}

/* The counters of ibv_query_port. */
std::optional<uint64_t> Dut::port_counter(const std::string &name)
{
	ibv_port_attr attr{};

	common::must_return_0(ibv_query_port(context_, port, &attr),
			      "ibv_query_port");
	if (name == "bad_pkey_cntr")
		return attr.bad_pkey_cntr;
	if (name == "qkey_viol_cntr")
		return attr.qkey_viol_cntr;
	return std::nullopt;
}

std::optional<uint64_t> Dut::counter(const std::string &name)
{
	if (auto count = port_counter(name))
		return count;
	return bench_.counter(name);
}

} // namespace pw
