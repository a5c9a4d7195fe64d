// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * group_tests.cpp - sending to many: the flag of the window, groups that windows join, and
 * bindings, by which RDMA to a group finds memory of each member.
 */
#include <chrono>
#include <cstring>
#include <span>

#include "../common/files.h"
#include "../common/ticks.h"
#include "group_scene.h"

namespace {

/* Of the site: a router may forward it. */
pavo::Gid ipv6_group(uint8_t last)
{
	return {{0xff, 0x05, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}

/* The addresses of all hosts of a subnet, which no window sends to. */
std::vector<pavo::Gid> broadcast_addresses(const Address &own)
{
	auto subnet = own.gid;

	subnet[15] = 0xff;
	return {ipv4(255, 255, 255, 255), subnet};
}

TEST(Broadcast, ToGroupsNeedsTheFlag)
{
	Pair pair;
	auto window = another(pair, {.broadcast = true});

	for (auto group : {ipv4(239, 1, 2, 3), ipv4(224, 0, 0, 1)}) {
		EXPECT_EQ(pair.a.set_node(5, group), invalid);
		EXPECT_EQ(pair.a.add_route(5, group), invalid);
		must(window->set_node(5, group));
	}
}

TEST(Broadcast, ToGroupsOfIpv6NeedsTheFlag)
{
	Pair pair(true);
	const pavo::WindowOptions options = {.node = node_b,
					     .gid_index = pair.address_b.index,
					     .broadcast = true};
	auto window = pavo::Window::open(pair.job_b, options).value();

	EXPECT_EQ(pair.a.set_node(5, ipv6_group(3)), invalid);
	must(window.set_node(5, ipv6_group(3)));
}

TEST(Broadcast, ToASubnetIsRefusedAtTheCall)
{
	Pair pair;
	auto window = another(pair, {.broadcast = true});

	for (const auto &all : broadcast_addresses(pair.address_b)) {
		EXPECT_EQ(pair.b.set_node(5, all), invalid);
		EXPECT_EQ(window->set_node(5, all), invalid);
	}
}

TEST(Broadcast, NodeIsOneAddressOrAGroup)
{
	Pair pair;
	auto window = another(pair, {.broadcast = true});

	must(window->set_node(5, ipv4(239, 1, 2, 3)));
	EXPECT_EQ(window->add_route(5, pair.address_a.gid), invalid);
	must(window->add_route(5, ipv4(239, 1, 2, 4)));
	must(window->set_node(5, pair.address_a.gid));
	EXPECT_EQ(window->add_route(5, ipv4(239, 1, 2, 3)), invalid);
}

/* ------------------------------------------------------------------ groups */

TEST(Groups, MessageReachesEachMember)
{
	Grouped group;
	Member none(group, group.job_b, 4);
	Member here(group, group.job_a, 5);

	for (Member *member : {&group.one, &group.two, &here})
		member->join();
	must(group.source.join(group_gid, group_number));
	group.say("to many", {group_node, group_number});
	for (Member *member : {&group.one, &group.two, &here}) {
		EXPECT_EQ(member->wait().text, "to many");
		EXPECT_EQ(member->wait().from, group.source.address());
	}
	EXPECT_TRUE(quiet(none.window));
	EXPECT_TRUE(quiet(group.source)) << "it has sent that itself";
	must(group.two.window.leave(group_number));
	group.say("to less", {group_node, group_number});
	EXPECT_EQ(group.one.wait(1).text, "to less");
	EXPECT_TRUE(quiet(group.two.window));
}

TEST(Groups, WriteGoesToTheMemoryOfEachMember)
{
	constexpr uint32_t length = 100'000, packet = 1380;
	Grouped group;
	Member unbound(group, group.job_b, 4);

	for (Member *member : {&group.one, &group.two, &unbound})
		member->join();
	group.one.bind();
	group.two.bind();
	Moved sent(group.device_a, "tx_rdma_packets"),
		discarded(group.device_b, "rx_drop_binding");
	auto request = group.write(length, 1000);
	EXPECT_EQ(group.ask(request), pavo::FrameState::sent);
	for (Member *member : {&group.one, &group.two}) {
		const Arrived &end = member->wait();

		ASSERT_TRUE(end.done);
		EXPECT_EQ(end.from, group.source.address());
		EXPECT_EQ(end.done->group, group_number);
		EXPECT_EQ(end.done->rcxt, group_rcxt);
		EXPECT_EQ(end.done->peer_rcxt, group.rcxt);
		EXPECT_EQ(end.done->tid, request.tid);
		EXPECT_EQ(end.done->length, length);
		EXPECT_EQ(end.done->tag, request.tag);
		EXPECT_EQ(end.done->status, pavo::PvoResult::ok);
	}
	EXPECT_TRUE(group.placed(group.one, 2, 1000, length));
	EXPECT_TRUE(group.placed(group.two, 3, 1000, length));
	EXPECT_TRUE(unbound.buffer.holds(4));
	EXPECT_EQ(sent.by(), (length + packet - 1) / packet)
		<< "each packet is on the wire once";
	EXPECT_EQ(discarded.by(), sent.by());
	EXPECT_TRUE(quiet(unbound.window));
}

/* A member that missed all of it gets it alone, and the other one says once more that it has it. */
TEST(Groups, LaterAttemptGoesToOneNode)
{
	Grouped group;

	group.one.join();
	group.two.join();
	group.one.bind();
	auto request = group.write(50'000);
	EXPECT_EQ(group.ask(request), pavo::FrameState::sent);
	EXPECT_TRUE(group.one.wait().done);
	group.two.bind();
	group.one.buffer.fill(6);
	request.tid = ++group.tid;
	request.attempts = 1;
	Moved repeats(group.device_b, "rdma_repeats");
	EXPECT_EQ(group.ask(request, node_b), pavo::FrameState::sent);
	ASSERT_TRUE(group.two.wait().done);
	EXPECT_EQ(group.two.wait().done->tid, request.tid);
	EXPECT_EQ(group.two.wait().done->attempts, 1);
	EXPECT_TRUE(group.placed(group.two, 3, 0, 50'000));
	ASSERT_TRUE(group.one.wait(1).done);
	EXPECT_EQ(group.one.wait(1).done->tid, request.tid - 1);
	EXPECT_EQ(repeats.by(), 1u);
	EXPECT_TRUE(group.one.buffer.holds(6)) << "nothing is placed again";
}

TEST(Groups, BytesBeyondTheBindingEndTheOperation)
{
	Grouped group;

	group.one.join();
	group.one.bind();
	for (uint64_t offset : {group_memory - 99, group_memory, ~size_t(0)}) {
		auto request = group.write(100);

		request.remote_pvo = offset;
		EXPECT_EQ(group.ask(request), pavo::FrameState::sent);
		size_t n = group.one.all.size();
		ASSERT_TRUE(group.one.wait(n).done);
		EXPECT_EQ(group.one.wait(n).done->status,
			  pavo::PvoResult::range);
	}
	EXPECT_TRUE(group.one.buffer.holds(2));
	EXPECT_EQ(group.one.window.lmt().value().state,
		  pavo::WindowState::valid);
}

/* -------------------------------------------------- what a process is refused */

TEST(Groups, FramesThatEachMemberWouldAnswerAreRefused)
{
	using pavo::Direction;
	Grouped group;
	namespace flag = pavo::rdma_flag;
	constexpr auto bad = pavo::FrameState::bad_request;
	Moved sent(group.device_a, "tx_rdma_packets");

	for (uint16_t node : {group_node, node_b}) {
		for (unsigned flags : {flag::notify_source, flag::to_fifo,
				       flag::from_fifo, uint8_t(0xff)}) {
			auto request = group.write(10);

			request.flags = uint8_t(flags | write_target);
			EXPECT_EQ(group.ask(request, node), bad) << flags;
		}
		auto request = group.write(10);
		EXPECT_EQ(group.ask(request, node, group_number,
				    Direction::read),
			  bad);
		request = group.write(10);
		request.remote_rcxt = pavo::group_rcxts;
		EXPECT_EQ(group.ask(request, node), bad);
		must(group.source.prepare_piece({node, group_number},
						{.local_rcxt = group.rcxt,
						 .tid = ++group.tid,
						 .total = 64},
						64, [](auto) {}));
		must(group.source.start());
		EXPECT_EQ(group.mark(), bad);
	}
	/* At the group's address there is no window but the group. */
	auto request = group.write(10);
	EXPECT_EQ(group.ask(request, group_node, group.b.number()),
		  pavo::FrameState::bad_window);
	group.say("x", {group_node, group.b.number()});
	EXPECT_EQ(group.mark(), pavo::FrameState::bad_window);
	EXPECT_EQ(group.ask(request, 6), pavo::FrameState::bad_node);
	EXPECT_EQ(sent.by(), 0u);
}

TEST(Groups, JoiningIsRefused)
{
	Grouped group;
	pavo::Window &window = group.one.window;

	for (uint32_t number : {0u, 77u, pavo::window_group - 1, 0x1800000u})
		EXPECT_EQ(window.join(group_gid, number), invalid) << number;
	for (const auto &gid : broadcast_addresses(group.address_b))
		EXPECT_EQ(window.join(gid, group_number), invalid);
	EXPECT_EQ(window.join(group.address_b.gid, group_number), invalid);
	EXPECT_EQ(window.join({}, group_number), invalid);
	EXPECT_EQ(window.leave(group_number), invalid);
	group.one.join();
	const auto exists = pavo::Unexpected(std::errc::file_exists);
	EXPECT_EQ(window.join(group_gid, group_number), exists);
	EXPECT_EQ(window.join(ipv4(239, 7, 7, 8), group_number), exists);
	EXPECT_EQ(group.two.window.join(ipv4(239, 7, 7, 8), group_number),
		  exists);
	for (uint32_t more = 1; more < PAVO_WINDOW_GROUPS; more++)
		must(window.join(group_gid, group_number + more));
	EXPECT_EQ(window.join(group_gid, group_number + PAVO_WINDOW_GROUPS),
		  pavo::Unexpected(std::errc::no_space_on_device));
	must(window.leave(group_number));
	EXPECT_EQ(window.leave(group_number), invalid);
	must(window.disable());
	EXPECT_EQ(window.join(group_gid, group_number),
		  pavo::Unexpected(ESHUTDOWN));
}

/* Root has more. */
TEST(Groups, AUserHasAShareOfMemberships)
{
	Parameter share("share_per_user", 0);
	world::Process user([](world::Process &parent) {
		world::become_user(1 << 22, 5004);
		pavo::Device own = world::adapter();
		pavo::Job job = pavo::Job::reserve(own, world::job_id + 4,
						   world::job_key)
					.value();
		pavo::Window window = pavo::Window::open(job).value();
		auto joins = [&](uint32_t n) {
			return window.join(group_gid, group_number + n);
		};
		const auto no_more = pavo::Unexpected(EDQUOT);
		bool good = joins(0).has_value() && joins(1) == no_more;

		parent.meet();
		parent.meet();
		must(window.leave(group_number));
		return good && joins(1).has_value() && joins(0) == no_more;
	});

	user.meet();
	Grouped group;
	must(group.source.join(group_gid, group_number));
	must(group.source.join(group_gid, group_number + 1));
	user.meet();
	EXPECT_TRUE(user.good());
}

/* The rest is a work's, which overtakes nothing. Most members have no free frame soon. */
TEST(Groups, CopiesInATickAreBounded)
{
	constexpr uint32_t messages = 100, copies_a_tick = 4096;
	Grouped group;
	std::vector<pavo::Window> crowd;
	std::vector<uint32_t> come, sent;
	std::chrono::steady_clock::duration quickest = std::chrono::hours(1);
	const uint64_t before = used_up("groups");
	auto source = pavo::Window::open(group.job_a,
					 {.node = node_a,
					  .send_frames = 128,
					  .gid_index = group.address_a.index,
					  .broadcast = true})
			      .value();

	must(source.set_node(group_node, group_gid));
	while (crowd.size() < PAVO_GROUP_WINDOWS) {
		const bool last = crowd.size() + 1 == PAVO_GROUP_WINDOWS;

		crowd.push_back(
			pavo::Window::open(
				group.job_b,
				{.node = node_b,
				 .send_frames = PAVO_FIFO_LEAST,
				 .recv_frames = last ? 128 : PAVO_FIFO_LEAST,
				 .gid_index = group.address_b.index})
				.value());
		must(crowd.back().join(group_gid, group_number));
	}
	/* Copies of two ticks may be within the bound of each: repeat it. */
	for (int round = 0; round < 20 && used_up("groups") == before;
	     round++) {
		come.clear();
		sent.clear();
		for (uint32_t n = 0; n < messages; n++) {
			must(source.prepare({group_node, group_number},
					    std::as_bytes(std::span(&n, 1))));
			sent.push_back(n);
		}
		const auto began = std::chrono::steady_clock::now();
		must(source.start());
		EXPECT_TRUE(eventually([&] {
			crowd.back().receive([&](const pavo::Message &message) {
				uint32_t n = 0;

				memcpy(&n, message.payload.data(), sizeof(n));
				come.push_back(n);
			});
			return come.size() == messages;
		}));
		quickest = std::min(quickest,
				    std::chrono::steady_clock::now() - began);
		EXPECT_EQ(come, sent);
	}
	if (used_up("groups") == before &&
	    quickest / common::tick() * copies_a_tick + copies_a_tick >=
		    messages * crowd.size())
		GTEST_SKIP() << "this CPU makes fewer copies in a tick";
	EXPECT_GT(used_up("groups"), before);
}

TEST(Groups, BindingIsRefused)
{
	Grouped group;
	pavo::Window &window = group.one.window;
	const pavo::Pvo there{group.one.buffer.pvo()};
	auto bind = [&](uint32_t rcxt, pavo::Pvo pvo, uint64_t length) {
		return window.bind(group_number, rcxt, pvo, length);
	};

	EXPECT_EQ(bind(1, there, 1), invalid) << "it is no member";
	group.one.join();
	EXPECT_EQ(bind(pavo::group_rcxts, there, 1), invalid);
	EXPECT_EQ(bind(~0u, there, 1), invalid);
	EXPECT_EQ(bind(1, there, 0), invalid);
	EXPECT_EQ(bind(1, there, ~0ull), invalid);
	const auto fault = pavo::Unexpected(std::errc::bad_address);
	EXPECT_EQ(bind(1, there, group_memory + 1), fault);
	EXPECT_EQ(bind(1, {0}, 1), fault);
	EXPECT_EQ(window.unbind(group_number, 1), invalid);
	must(bind(1, there, group_memory));
	EXPECT_EQ(bind(1, there, 1), pavo::Unexpected(std::errc::file_exists));
	must(window.unbind(group_number, 1));
	EXPECT_EQ(window.unbind(group_number, 1), invalid);
	EXPECT_EQ(window.unbind(group_number, ~0u), invalid);
	must(bind(1, there, group_memory));
	must(window.leave(group_number));
	group.one.join();
	EXPECT_EQ(window.unbind(group_number, 1), invalid)
		<< "it ended with the membership";
}

TEST(Groups, ReservedFieldsAreZero)
{
	Grouped group;
	pavo::Command command(PAVO_OBJECT_WINDOW_MORE, PAVO_METHOD_WINDOW_JOIN);
	pavo_group_join_args args{};

	std::ranges::copy(group_gid, args.gid);
	args.group = group_number;
	args.reserved = 1;
	EXPECT_EQ(command.handle(PAVO_ATTR_WINDOW_HANDLE,
				 shared_of(group.one.window).handle())
			  .in(PAVO_ATTR_WINDOW_JOIN_ARGS, args)
			  .run(group.job_b.fd()),
		  EINVAL);
}

/* ------------------------------------------------------------ ends of members */

TEST(Groups, UnboundAndDisabledMembersGetNothing)
{
	Grouped group;
	Moved unbound(group.device_b, "rx_drop_binding"),
		done(group.device_b, "rdma_done");

	group.one.join();
	group.two.join();
	group.one.bind();
	group.two.bind();
	must(group.one.window.unbind(group_number, group_rcxt));
	EXPECT_EQ(group.ask(group.write(1000)), pavo::FrameState::sent);
	EXPECT_TRUE(group.two.wait().done);
	EXPECT_EQ(unbound.by(), 1u);
	must(group.two.window.disable());
	group.two.buffer.fill(3);
	EXPECT_EQ(group.ask(group.write(1000)), pavo::FrameState::sent);
	EXPECT_TRUE(eventually([&] { return unbound.by() == 2; }));
	EXPECT_EQ(done.by(), 1u);
	EXPECT_TRUE(group.one.buffer.holds(2));
	EXPECT_TRUE(group.two.buffer.holds(3));
}

/* A binding that is made anew takes nothing of before. */
TEST(Groups, TidsOfThePastAreStale)
{
	Grouped group;
	Moved stale(group.device_b, "rx_drop_tid");

	group.one.join();
	group.one.bind(10);
	for (uint64_t tid : {9, 10}) {
		group.tid = tid - 1;
		EXPECT_EQ(group.ask(group.write(1000)), pavo::FrameState::sent);
	}
	EXPECT_TRUE(eventually([&] { return stale.by() == 2; }));
	EXPECT_TRUE(group.one.buffer.holds(2));
	EXPECT_EQ(group.ask(group.write(1000)), pavo::FrameState::sent);
	EXPECT_TRUE(group.one.wait().done);
}

/* The memory is no more the job's: the operation ends with an error, and no window dies. */
TEST(Groups, MemoryThatWasUnmapped)
{
	Grouped group;
	world::Memory memory(group_memory);
	std::optional<pavo::Mapping> mapping =
		pavo::Mapping::open(group.job_b, memory.all()).value();

	group.one.join();
	must(group.one.window.bind(group_number, group_rcxt, mapping->pvo(),
				   group_memory));
	mapping.reset();
	EXPECT_EQ(group.ask(group.write(1000)), pavo::FrameState::sent);
	ASSERT_TRUE(group.one.wait().done);
	EXPECT_NE(group.one.wait().done->status, pavo::PvoResult::ok);
	EXPECT_EQ(group.one.window.lmt().value().state,
		  pavo::WindowState::valid);
}

/* QPs and windows, and windows of two groups, may be at one address: the last one leaves it. */
TEST(Groups, OfOneAddressEndOneByOne)
{
	Pair pair(true);
	auto open = [&] {
		return pavo::Window::open(pair.job_b,
					  {.node = node_b,
					   .gid_index = pair.address_b.index,
					   .broadcast = true})
			.value();
	};
	auto joined = [] {
		return !std::system("grep -q ff050000000000000000000000000009 "
				    "/proc/net/igmp6");
	};

	pavo::Window first = open(), second = open();
	must(first.join(ipv6_group(9), group_number));
	must(second.join(ipv6_group(9), group_number + 1));
	EXPECT_TRUE(joined());
	must(first.leave(group_number));
	EXPECT_TRUE(joined());
	must(second.leave(group_number + 1));
	EXPECT_FALSE(joined());
}

TEST(Groups, OfIpv4AreJoinedByTheInterface)
{
	Pair pair;
	auto window = another(pair);
	/* The file shows a word as the CPU has it. */
	auto joined = [] {
		return !std::system("grep -q 070707EF /proc/net/igmp");
	};

	EXPECT_FALSE(joined());
	must(window->join(group_gid, group_number));
	EXPECT_TRUE(joined());
	must(window->leave(group_number));
	EXPECT_FALSE(joined());
}

/* ------------------------------------------------------- packets that are forged */

/* With the memory and the operation of each, beside the contexts of the pool. */
TEST(RcxtDump, HasTheBindingsOfGroups)
{
	Grouped w;
	char begin[96], words[96];

	w.one.join();
	w.one.bind();
	w.two.join();
	ASSERT_EQ(w.ask(w.write(100)), pavo::FrameState::sent);
	EXPECT_TRUE(w.one.wait().done.has_value());
	auto lines = common::lines_of("/sys/kernel/debug/pavo/rcxts",
				      w.device_b.name() + " binding ");
	ASSERT_EQ(lines.size(), 1u);
	snprintf(begin, sizeof(begin), "%s binding %#x window %u job %u idle ",
		 w.device_b.name().c_str(), group_rcxt, w.one.window.number(),
		 world::job_id);
	EXPECT_TRUE(lines[0].starts_with(begin)) << lines[0];
	snprintf(words, sizeof(words), " group %#x base %#llx length %zu ",
		 group_number, (unsigned long long)w.one.buffer.pvo(),
		 group_memory);
	EXPECT_NE(lines[0].find(words), std::string::npos) << lines[0];
	must(w.one.window.leave(group_number));
	EXPECT_TRUE(common::lines_of("/sys/kernel/debug/pavo/rcxts",
				     w.device_b.name() + " binding ")
			    .empty());
}

} // namespace
