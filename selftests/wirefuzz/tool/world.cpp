// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The application's side: see world.h. Here: objects that last, and their numbers.
 */
#include "world.h"

#include <algorithm>
#include <stdexcept>

#include <fcntl.h>
#include <net/if.h>
#include <unistd.h>

#include "../../common/connect.h"
#include "../../common/device.h"

namespace wf {

using common::must_make;

namespace {

constexpr int cq_depth = 16384;
constexpr uint32_t srq_depth = 256;
constexpr int gid_patience_ms = 20000;

void set_nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

} // namespace

pw::Address peer_address(bool ipv6)
{
	return pw::parse_address(ipv6 ? "fd00:9::2" : "10.9.0.2");
}

World::World(const std::string &device) : context_(common::open_device(device))
{
	for (int ms = 0; !find_addresses(); ms++) {
		if (ms > gid_patience_ms)
			throw std::runtime_error(device + " has no addresses");
		usleep(1000);
	}
	set_nonblocking(context_->async_fd);
	pd_ = must_make(ibv_alloc_pd(context_), "ibv_alloc_pd");
	other_pd_ = must_make(ibv_alloc_pd(context_), "ibv_alloc_pd");
	channel_ = must_make(ibv_create_comp_channel(context_), "comp_channel");
	set_nonblocking(channel_->fd);
	cq_ = must_make(ibv_create_cq(context_, cq_depth, nullptr, channel_, 0),
			"ibv_create_cq");
	regions_ = std::make_unique<Regions>(pd_, other_pd_);

	ibv_xrcd_init_attr attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
						IBV_XRCD_INIT_ATTR_OFLAGS,
				   .fd = -1,
				   .oflags = O_CREAT};

	xrcd_ = must_make(ibv_open_xrcd(context_, &attr), "ibv_open_xrcd");
	targets_ = {{"rc0", IBV_QPT_RC, false, false, 0x100},
		    {"rc1", IBV_QPT_RC, true, true, 0x101},
		    {"uc0", IBV_QPT_UC, false, false, 0x102},
		    {"uc1", IBV_QPT_UC, true, true, 0x103},
		    {"ud0", IBV_QPT_UD, false, false, 0x104},
		    {"xt0", IBV_QPT_XRC_RECV, false, false, 0x105},
		    {"xi0", IBV_QPT_XRC_SEND, true, false, 0x106}};
	shared_ = {{"s0", false}, {"s1", true}, {"s2", false}};
	complete();
}

World::~World()
{
	for (Target &target : targets_)
		destroy(target);
	take_events();
	for (ibv_mw *window : windows_)
		if (window)
			ibv_dealloc_mw(window);
	if (handle_)
		ibv_destroy_ah(handle_);
	for (Shared &shared : shared_)
		if (shared.srq)
			ibv_destroy_srq(shared.srq);
	regions_.reset();
	ibv_close_xrcd(xrcd_);
	ibv_destroy_cq(cq_);
	ibv_destroy_comp_channel(channel_);
	ibv_dealloc_pd(other_pd_);
	ibv_dealloc_pd(pd_);
	ibv_close_device(context_);
}

bool World::find_addresses()
{
	bool found[2] = {};

	for (const ibv_gid_entry &entry : common::addresses_of(context_)) {
		pw::Address address;

		std::copy_n(entry.gid.raw, address.size(), address.begin());
		if (address[0] == 0xfe)
			continue;
		const bool ipv6 = !pw::is_ip4(address);

		gids_[ipv6] = {address, static_cast<uint8_t>(entry.gid_index)};
		found[ipv6] = true;
	}
	return found[0] && found[1];
}

void World::make_shared(Shared &shared)
{
	const bool xrc = shared.name != "s2";
	ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = srq_depth, .max_sge = 2},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = xrc ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = shared.other_pd ? other_pd_ : pd_};

	if (xrc) {
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attr.xrcd = xrcd_;
		attr.cq = cq_;
	}
	shared.srq = ibv_create_srq_ex(context_, &attr);
}

void World::make_windows()
{
	const ibv_mw_type types[] = {IBV_MW_TYPE_1, IBV_MW_TYPE_2};

	for (size_t i = 0; i < windows_.size(); i++)
		if (!windows_[i])
			windows_[i] = ibv_alloc_mw(pd_, types[i]);
	if (windows_[1] && !second_key_)
		second_key_ = windows_[1]->rkey;
}

void World::complete()
{
	for (const char *name : {"l", "s", "r", "ro", "n", "p", "o"})
		regions_->register_one(*regions_->find(name));
	for (Shared &shared : shared_)
		if (!shared.srq)
			make_shared(shared);
	make_windows();
	if (!handle_) {
		ibv_ah_attr attr = peer_attr(false);

		handle_ = ibv_create_ah(pd_, &attr);
	}
}

Target *World::target(std::string_view name)
{
	for (Target &target : targets_)
		if (target.name == name)
			return &target;
	return nullptr;
}

Target *World::target_of_qpn(uint32_t qpn)
{
	for (Target &target : targets_)
		if (target.qp && target.qp->qp_num == qpn)
			return &target;
	return nullptr;
}

Target *World::target_of_peer(uint32_t qpn)
{
	for (Target &target : targets_)
		if (target.remote_qpn == qpn)
			return &target;
	return nullptr;
}

ibv_ah_attr World::peer_attr(bool ipv6) const
{
	const pw::Address peer = peer_address(ipv6);
	ibv_gid gid;

	std::copy(peer.begin(), peer.end(), gid.raw);
	return common::address_vector(gid, gids_[ipv6].index);
}

uint64_t World::base(std::string_view field, std::string_view symbol) const
{
	const bool address = field == "va";

	if (Region *region = regions_->find(symbol))
		return address ? reinterpret_cast<uintptr_t>(region->at) :
				 region->key;
	for (const Target &target : targets_)
		if (target.name == symbol)
			return target.qp ? target.qp->qp_num : 0;
	for (const Shared &shared : shared_) {
		uint32_t number = 0;

		if (shared.name != symbol || !shared.srq)
			continue;
		/* Of a plain one there is none. */
		if (ibv_get_srq_num(shared.srq, &number))
			number = 0;
		return number;
	}
	if (symbol == "mw1" && windows_[0])
		return windows_[0]->rkey;
	if (symbol == "mw2")
		return second_key_;
	return 0;
}

uint64_t World::resolve(std::string_view field, const Value &value) const
{
	return value.number +
	       (value.symbol.empty() ? 0 : base(field, value.symbol));
}

} // namespace wf
