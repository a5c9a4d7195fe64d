// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* adapter.cpp - addresses, counters, windows; see adapter.h. */
#include "adapter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace windows {

namespace {

pavo::WindowOptions options(uint16_t node, const Address &address,
			    uint32_t recv_frames, uint32_t send_frames)
{
	pavo::WindowOptions options = {.node = node,
				       .send_frames = send_frames,
				       .recv_frames = recv_frames,
				       .gid_index = address.index};

	return options;
}

} // namespace

Address address_of(const pavo::Device &device, bool ipv6)
{
	auto found = common::find_gid(device.name(), [&](const auto &gid) {
		bool global = gid.bytes[0] == 0xfd || gid.bytes[0] == 0x20;

		return ipv6 ? global : gid.is_ipv4();
	});

	return {found.index, found.bytes};
}

Address address_in(const pavo::Device &device, uint8_t net)
{
	auto found = common::find_gid(device.name(), [&](const auto &gid) {
		return gid.is_ipv4() && gid.bytes[12] == 10 &&
		       gid.bytes[13] == 9 && gid.bytes[14] == net;
	});

	return {found.index, found.bytes};
}

void shell(const std::string &command)
{
	must(!std::system(command.c_str()), "failed: " + command);
}

Pair::Pair(bool ipv6, uint32_t recv_frames, uint32_t send_frames)
	: job_a(pavo::Job::reserve(device_a, world::job_id, world::job_key)
			.value()),
	  job_b(pavo::Job::join(device_b, world::job_id, world::job_key)
			.value()),
	  address_a(address_of(device_a, ipv6)),
	  address_b(address_of(device_b, ipv6)),
	  a(pavo::Window::open(job_a, options(node_a, address_a, recv_frames,
					      send_frames))
		    .value()),
	  b(pavo::Window::open(job_b, options(node_b, address_b, recv_frames,
					      send_frames))
		    .value())
{
	must(a.set_node(node_b, address_b.gid));
	must(b.set_node(node_a, address_a.gid));
}

uint64_t used_up(const std::string &loop)
{
	const auto lines = common::lines_of("/sys/kernel/debug/pavo/budgets",
					    loop + " used_up ");

	return std::stoull(lines.at(0).substr(loop.size() + 9));
}

std::unique_ptr<pavo::Window> another(Pair &pair,
				      const pavo::WindowOptions &options)
{
	pavo::WindowOptions own = options;

	own.node = node_b;
	own.gid_index = pair.address_b.index;
	auto made = std::make_unique<pavo::Window>(
		pavo::Window::open(pair.job_b, own).value());
	must(made->set_node(node_a, pair.address_a.gid));
	return made;
}

Buffer::Buffer(pavo::Job &job, size_t bytes, uint32_t number, size_t around)
	: memory(bytes + 2 * around),
	  mapping_(pavo::Mapping::open(job, memory.part(around, bytes)).value())
{
	fill(number);
}

void Buffer::fill(uint32_t number)
{
	common::fill(memory.all(), number);
}

bool Buffer::holds(uint32_t number, size_t from, size_t bytes) const
{
	return common::holds(memory.part(from, bytes), number, from);
}

bool Buffer::holds(uint32_t number) const
{
	return holds(number, 0, memory.all().size());
}

Ends::Ends(size_t bytes, bool ipv6, size_t around)
	: Pair(ipv6), here(job_a, bytes, 1), there(job_b, bytes, 2, around)
{
	must(a.take_rcxts({&rcxt_a, 1}));
	must(b.take_rcxts({&rcxt_b, 1}));
}

pavo::RequestFrame Ends::request(uint64_t tid, uint32_t length,
				 unsigned flags) const
{
	return {.local_rcxt = rcxt_a,
		.remote_rcxt = rcxt_b,
		.tid = tid,
		.local_pvo = here.pvo(),
		.remote_pvo = there.pvo(),
		.length = length,
		.tag = uint32_t(0xabc000 + tid),
		.flags = uint8_t(flags),
		.attempts = 0,
		.cookie = uint32_t(0x50 + tid)};
}

pavo::FrameState Ends::ask(bool write, const pavo::RequestFrame &request)
{
	pavo::FrameState state = pavo::FrameState::empty;

	EXPECT_TRUE(a.prepare_rdma(common::direction_of(write),
				   {node_b, b.number()}, request)
			    .has_value());
	EXPECT_TRUE(a.start().has_value());
	eventually([&] { return a.sent({&state, 1}) == 1; });
	return state;
}

pavo::DoneFrame ended(pavo::Window &window)
{
	pavo::DoneFrame done{};

	eventually([&] {
		return window.receive(
			[&](const pavo::Message &message) {
				EXPECT_EQ(message.type,
					  pavo::FrameType::rdma_done);
				done = message.done();
			},
			1);
	});
	return done;
}

bool quiet(pavo::Window &window)
{
	return !window.receive([](const pavo::Message &) {});
}

} // namespace windows
