// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* forgeries.cpp - see forgeries.h. */
#include "forgeries.h"

namespace windows {

std::vector<Forgery> of_contexts()
{
	return {
		{"AContextOfNobody", "rx_drop_rcxt",
		 [](Scene &scene, Frame &frame) {
			 set_field(frame, AT_RCXT, 4, scene.forged_b + 5);
		 }},
		{"AContextWithAnotherKey", "rx_drop_rcxt",
		 [](Scene &scene, Frame &frame) {
			 set_field(frame, AT_RCXT, 4,
				   scene.forged_b ^ 1u << 31);
		 }},
		{"AContextBeyondThePool", "rx_drop_rcxt",
		 [](Scene &scene, Frame &frame) {
			 set_field(frame, AT_RCXT, 4, scene.forged_b | 0xfffff);
		 }},
		{"AStaleTid", "rx_drop_tid",
		 [](Scene &scene, Frame &frame) {
			 set_field(frame, AT_RCXT, 4, scene.rcxt_b);
			 set_field(frame, AT_TID, 8, 0);
		 }},
		{"ATidThatIsOver", "rx_drop_tid",
		 [](Scene &scene, Frame &frame) {
			 set_field(frame, AT_RCXT, 4, scene.rcxt_b);
			 set_field(frame, AT_TID, 8, 1);
		 }},
	};
}

std::vector<Forgery> of_memory()
{
	return {
		{"AnotherRegion", "rx_drop_rdma_pvo",
		 [](Scene &, Frame &frame) { frame[AT_PVO] ^= 0x10; }},
		{"AnotherTable", "rx_drop_rdma_pvo",
		 [](Scene &, Frame &frame) { frame[AT_PVO + 2] ^= 0x40; }},
		{"BehindTheTable", "rx_drop_rdma_pvo",
		 [](Scene &, Frame &frame) { frame[AT_PVO + 2] |= 3; }},
		{"AcrossTheEndOfTheRegion", "rx_drop_rdma_pvo",
		 [](Scene &scene, Frame &frame) {
			 set_field(frame, AT_PVO, 8,
				   scene.there.pvo(mapped - 999));
		 }},
		{"BeforeTheRegion", "rx_drop_rdma_pvo",
		 [](Scene &scene, Frame &frame) {
			 set_field(frame, AT_PVO, 8, scene.there.pvo() - 500);
		 }},
	};
}

namespace {

/* To an address of IPv4 that others listen to, too; @mac: theirs. */
void send_to(Frame &frame, uint64_t mac, uint32_t address)
{
	set_field(frame, 0, 6, mac);
	set_field(frame, AT_TO, 4, address);
}

} // namespace

std::vector<Forgery> of_addresses()
{
	return {
		{"ToAll", "rx_drop_address",
		 [](Scene &, Frame &frame) {
			 send_to(frame, 0xffffffffffff, 0xffffffff);
		 }},
		{"ToAllOfTheSubnet", "rx_drop_address",
		 [](Scene &, Frame &frame) {
			 uint64_t own = field(frame, AT_TO, 4);

			 send_to(frame, 0xffffffffffff, uint32_t(own | 0xff));
		 }},
		{"ToAGroup", "rx_drop_address",
		 [](Scene &, Frame &frame) {
			 send_to(frame, 0x01005e000001, 0xe0000001);
		 }},
	};
}

std::vector<Forgery> of_amounts()
{
	return {
		{"AFragmentFarAhead", "rx_drop_rdma_far",
		 [](Scene &, Frame &frame) {
			 set_field(frame, AT_FRAGMENT, 4, 4096);
		 }},
		{"TheLastFragmentThereIs", "rx_drop_rdma_far",
		 [](Scene &, Frame &frame) {
			 set_field(frame, AT_FRAGMENT, 4, 0xffffffff);
		 }},
		{"MoreThanAnnounced", "rx_drop_rdma_length",
		 [](Scene &, Frame &frame) {
			 set_field(frame, AT_TOTAL, 4, 999);
		 }},
		{"MoreThanNothing", "rx_drop_rdma_length",
		 [](Scene &, Frame &frame) {
			 set_field(frame, AT_TOTAL, 4, 0);
		 }},
		{"NothingOfMuch", "rx_drop_rdma_length",
		 [](Scene &, Frame &frame) {
			 set_field(frame, AT_TOTAL, 4, 0xffffffff);
			 resize(frame, AT_PAYLOAD, 0);
		 }},
	};
}

} // namespace windows
