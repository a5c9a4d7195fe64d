// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_third_killed.cpp - the controller of third-party operations is killed in the middle of them,
 * and another process does its work. Every client sends to every other one. They take contexts
 * once, so those that the killed process used serve its successor, and all bytes are exact.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <pavo/rdma.hpp>

#include "../common/child.h"
#include "nodes.h"

namespace nodes {

namespace {

constexpr size_t most_clients = 4, given_contexts = 4;
/* Dozens of packets each; more operations of a pair than contexts. */
constexpr size_t killed_length = 60'003, turns = 6;
/* Operations that have ended in a round when the controller is killed. */
constexpr uint32_t killed_after[] = {1, 5, 20};

/* The window, address and contexts that a client gives to every controller. */
struct GivenCard {
	uint32_t window = 0;
	pavo::Gid gid = {};
	std::array<uint32_t, given_contexts> contexts = {};
	pavo::Pvo memory = {};
};

struct GivenCards {
	uint32_t clients = 0;
	pavo::Gid controller = {};
	/* Of client i + 1. */
	std::array<GivenCard, most_clients> all = {};
};

/* Of a client's memory: what it sends, and what comes by either controller. */
enum class Part { sent, by_killed, by_successor };
constexpr size_t part_slots = most_clients * turns;

/* Where the bytes for or from another client are in a part. */
size_t turn_slot(uint32_t other, size_t turn)
{
	return (other - 1) * turns + turn;
}

uint64_t offset_of(Part part, size_t slot)
{
	return (size_t(part) * part_slots + slot) * killed_length;
}

/* Tags name the part and the place there. */
uint32_t tag_in(Part part, size_t slot)
{
	return uint32_t(size_t(part) * part_slots + slot);
}

/* ------------------------------------------------------------- controllers */

/* How far a controller is, for the process that kills it. */
struct Progress {
	std::atomic<uint32_t> begun = 0, ended = 0;
};

/* A busy host answers late: no attempt is the last one before the test ends by itself. */
constexpr pavo::RdmaOptions controller_options = {.attempts = 1000};

/* In a process that may be killed at any time. */
class Controller {
public:
	Controller(const std::string &adapter, const GivenCards &cards,
		   Part part, Progress &progress)
		: node_(adapter, job_id, job_key, 0), cards_(cards),
		  part_(part), progress_(progress),
		  rdma_(pavo::Rdma::open(node_.window, controller_options)
				.value())
	{
		for (uint16_t i = 0; i < cards.clients; i++) {
			const GivenCard &card = cards.all[i];
			const uint16_t node = i + 1;

			must(node_.window.set_node(node, card.gid), "a route");
			peers_.push_back(
				must(rdma_.add({{node, card.window},
						{card.contexts.begin(),
						 card.contexts.end()}}),
				     "a peer"));
		}
	}

	/* Each operation, and again when it has ended, for ever. */
	[[noreturn]] void repeat()
	{
		begin();
		for (;;) {
			(void)rdma_.progress();
			for (const Turn &turn : std::exchange(over_, {}))
				move(turn);
		}
	}

	/* Each operation once. */
	void finish()
	{
		begin();
		until("third-party operations", [&] {
			(void)rdma_.progress();
			return !rdma_.pending();
		});
		must(progress_.ended == progress_.begun, "not each ended once");
	}

private:
	struct Turn {
		uint32_t source;
		uint32_t target;
		size_t number;
	};

	void begin()
	{
		for (uint32_t source = 1; source <= cards_.clients; source++)
			for (uint32_t target = 1; target <= cards_.clients;
			     target++)
				for (size_t i = 0; i < turns; i++)
					if (source != target)
						move({source, target, i});
	}

	void move(const Turn &turn)
	{
		const size_t from = turn_slot(turn.target, turn.number),
			     to = turn_slot(turn.source, turn.number);

		progress_.begun++;
		must(rdma_.third_party(
			     peers_[turn.source - 1], peers_[turn.target - 1],
			     {.local = cards_.all[turn.target - 1].memory +
				       offset_of(part_, to),
			      .remote = cards_.all[turn.source - 1].memory +
					offset_of(Part::sent, from),
			      .length = killed_length,
			      .notify = true,
			      .tag = tag_in(part_, to)},
			     [this, turn](const pavo::Result<void> &how) {
				     must(how, "a third-party operation");
				     progress_.ended++;
				     over_.push_back(turn);
			     }),
		     "a third-party operation");
	}

	Node node_;
	const GivenCards &cards_;
	Part part_;
	Progress &progress_;
	pavo::Rdma rdma_;
	std::vector<pavo::Rdma::Peer> peers_;
	std::vector<Turn> over_;
};

/* The parent of controllers, which has no window of its own. */
class Parent : Visitors {
public:
	explicit Parent(const Arguments &arguments)
		: Visitors(arguments.clients), adapter_(arguments.adapters[0]),
		  shared_(mmap(nullptr, sizeof(Progress),
			       PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0))
	{
		must(shared_ != MAP_FAILED, "shared memory");
		must(arguments.clients <= most_clients, "too many clients");
		cards_.clients = arguments.clients;
		cards_.controller = pavo::Device::open(adapter_)
					    .value()
					    .address()
					    .value()
					    .gid;
		for (nodes::Meeting &meeting : meetings)
			cards_.all[meeting.other() - 1u] =
				meeting.exchange(GivenCard());
		for (nodes::Meeting &meeting : meetings)
			meeting.exchange(cards_);
	}

	~Parent() { munmap(shared_, sizeof(Progress)); }
	Parent(const Parent &) = delete;

	void round(uint32_t number)
	{
		together();
		kill_one(killed_after[number]);
		Progress &progress = *new (shared_) Progress;
		common::Child successor([&] {
			Controller(adapter_, cards_, Part::by_successor,
				   progress)
				.finish();
		});
		successor.must_end_well();
		together();
	}

private:
	/* @ended: operations after whose end it dies; the next ones are under way then. */
	void kill_one(uint32_t ended)
	{
		Progress &progress = *new (shared_) Progress;
		int status = 0;
		common::Child child([&] {
			Controller(adapter_, cards_, Part::by_killed, progress)
				.repeat();
		});

		until("operations of the first controller", [&] {
			must(!child.has_ended(status), "it ended by itself");
			return progress.ended >= ended;
		});
		status = child.kill_now();
		must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		     "it was not killed");
		must(progress.begun > progress.ended, "nothing was under way");
		printf("# killed with %u operations under way, %u over\n",
		       progress.begun - progress.ended, progress.ended.load());
	}

	std::string adapter_;
	void *shared_;
	GivenCards cards_;
};

/* ------------------------------------------------------------------ clients */

/* A source and target. */
class GivingClient {
public:
	explicit GivingClient(const Arguments &arguments)
		: meeting_(visit(arguments)), self_(meeting_.node()),
		  node_(arguments.adapters[0], job_id, job_key, self_),
		  memory_(3 * part_slots * killed_length),
		  mapping_(pavo::Mapping::open(node_.job, memory_).value()),
		  rdma_(pavo::Rdma::open(node_.window).value())
	{
		GivenCard mine{.window = node_.window.number(),
			       .gid = node_.address.gid,
			       .memory = mapping_.pvo()};

		rdma_.on_arrival([this](const pavo::RdmaArrival &arrival) {
			take(arrival);
		});
		must(rdma_.take_rcxts(mine.contexts), "contexts");
		meeting_.exchange(mine);
		cards_ = meeting_.exchange(GivenCards());
		must(node_.window.set_node(0, cards_.controller), "a route");
		for (uint16_t i = 0; i < cards_.clients; i++)
			must(node_.window.set_node(uint16_t(i + 1),
						   cards_.all[i].gid),
			     "a route");
	}

	void round(uint32_t number)
	{
		round_ = number;
		arrived_.clear();
		std::ranges::fill(memory_, std::byte(0));
		for_each([&](uint32_t other, size_t turn) {
			fill(bytes(Part::sent, turn_slot(other, turn)), self_,
			     number_of(other, turn));
		});
		together(meeting_);
		until("both controllers", [&] {
			must(rdma_.progress(), "progress");
			return meeting_.anything();
		});
		must(rdma_.progress(), "progress");
		check();
		together(meeting_);
	}

private:
	template <class Call> void for_each(const Call &call) const
	{
		for (uint32_t other = 1; other <= cards_.clients; other++)
			for (size_t turn = 0; turn < turns; turn++)
				if (other != self_)
					call(other, turn);
	}

	/* Of the pattern that a client sends to another one. */
	uint32_t number_of(uint32_t target, size_t turn) const
	{
		return uint32_t(round_ * part_slots + turn_slot(target, turn));
	}

	std::span<std::byte> bytes(Part part, size_t slot)
	{
		return std::span(memory_).subspan(offset_of(part, slot),
						  killed_length);
	}

	/* When a client is notified it has all bytes, by any of the controllers. */
	void take(const pavo::RdmaArrival &arrival)
	{
		const size_t slot = arrival.tag % part_slots;
		const Part part = Part(arrival.tag / part_slots);

		must(arrival.from.node == 0 && arrival.length == killed_length,
		     "something else came");
		must_hold(bytes(part, slot), uint32_t(slot / turns + 1),
			  number_of(self_, slot % turns));
		must(part == Part::by_killed ||
			     arrived_.insert(arrival.tag).second,
		     "a notification of the successor came twice");
	}

	void check()
	{
		size_t all = 0, cut = 0;

		for_each([&](uint32_t other, size_t turn) {
			const size_t slot = turn_slot(other, turn);

			must(arrived_.contains(
				     tag_in(Part::by_successor, slot)),
			     "a notification is missing");
			must_hold(bytes(Part::by_successor, slot), other,
				  number_of(self_, turn));
			cut += is_cut(slot, other, turn);
			all++;
		});
		must(node_.window.lmt().value().state ==
			     pavo::WindowState::valid,
		     "the window has died");
		printf("# %zu of %zu operations were cut\n", cut, all);
	}

	/* Of what the killed one began each byte is that of its place, or has not come. */
	bool is_cut(size_t slot, uint32_t other, size_t turn)
	{
		std::vector<std::byte> whole(killed_length);
		std::span<std::byte> come = bytes(Part::by_killed, slot);
		bool cut = false;

		fill(whole, other, number_of(self_, turn));
		for (size_t i = 0; i < killed_length; i++) {
			must(come[i] == whole[i] || come[i] == std::byte(0),
			     "a wrong byte has come");
			cut |= come[i] != whole[i];
		}
		return cut;
	}

	nodes::Meeting meeting_;
	uint16_t self_;
	Node node_;
	std::vector<std::byte> memory_;
	pavo::Mapping mapping_;
	pavo::Rdma rdma_;
	GivenCards cards_;
	uint32_t round_ = 0;
	std::set<uint32_t> arrived_;
};

} // namespace

void kill_controllers(const Arguments &arguments)
{
	Parent parent(arguments);

	for (uint32_t number = 0; number < std::size(killed_after); number++)
		parent.round(number);
}

void outlive_controllers(const Arguments &arguments)
{
	GivingClient client(arguments);

	for (uint32_t number = 0; number < std::size(killed_after); number++)
		client.round(number);
}

} // namespace nodes
