// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * world.cpp - see world.hpp.
 */
#include "world.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <queue>

#include <fmt/format.h>

#include "../engine/engine.h"
#include "../engine/uverbs.h"
#include "peer.hpp"
#include "random.hpp"

namespace sim {

/* A packet as --trace prints it: described only if it is printed. */
struct Shown {
	const Bytes &packet;
};

} // namespace sim

template <> struct fmt::formatter<sim::Shown> : fmt::formatter<std::string> {
	auto format(const sim::Shown &shown, format_context &context) const
	{
		return fmt::formatter<std::string>::format(
			sim::describe(shown.packet), context);
	}
};

namespace sim {

namespace {

/* Most packets and timers of a run. */
constexpr uint64_t events_most = 50000;
/* Packets that a requester may send once more for each fault: all in flight, and a chunk of a read. */
constexpr uint64_t again_most = 128 + 32;
/* Packets of a full backlog (qp/side.h). */
constexpr unsigned full_backlog = 1024;

class World {
public:
	World(fake::Kernel &kernel, const Plan &plan, const Limits &limits,
	      Evidence &evidence);
	~World();

	Outcome run();

private:
	/* A thing that a process does at a time. */
	struct Action {
		uint64_t time, order;
		std::function<void()> act;
		bool operator<(const Action &other) const
		{
			return std::pair(time, order) >
			       std::pair(other.time, other.order);
		}
	};
	/* State of a connection. */
	struct State {
		uint64_t harm = 0; /* packets with faults */
		/*
		 * By sender and message: when the oldest request was posted that was not
		 * complete when this one was. As long as that one has no answer, those to
		 * later requests do not count.
		 */
		std::array<std::vector<uint64_t>, 2> harm_before;
		bool ended = false, ending = false;
		std::array<bool, 2> waits = {}; /* for space in the send queue */
	};

	static void sent(const void *packet, size_t size);
	static __u64 late();
	static __u64 paging();
	static bool pages_out();

	void schedule(uint64_t after, std::function<void()> act);
	void begin();
	void send_some(size_t connection, unsigned from);
	void receive_some(size_t connection, unsigned from);
	void step_to(uint64_t time);
	void before_call();
	void after_call();
	void take_completions();
	void take_sends(const Completion &done);
	void take_receive(const Completion &done, unsigned peer);
	void touch(const Bytes &packet);
	void check_touched();
	void end_soon(size_t connection);
	void check_retransmits(uint64_t harm) const;
	void finish();
	void arrive_while_busy();
	uint64_t global_harm() const;
	Excuse excuse(size_t connection, unsigned from, size_t message) const;
	static uint64_t counter(const char *name);

	static World *the_world;

	template <class... Args>
	void tell(fmt::format_string<Args...> what, Args &&...args) const;
	void note_fault(uint64_t number, const Bytes &packet);

	const Plan &plan_;
	const Limits &limits_;
	Evidence &evidence_;
	engine::Uverbs uverbs_;
	Random random_;
	Network network_;
	std::optional<Objects> objects_;
	std::vector<State> states_;
	std::map<uint32_t, std::pair<size_t, unsigned>>
		by_qpn_; /* peer of the queue pair */
	std::priority_queue<Action> actions_;
	std::set<size_t> touched_; /* connections, since the last check */
	uint64_t order_ = 0;
	uint64_t refused_ = 0; /* allocations */
	bool nested_ = false;
	Outcome outcome_;
};

World *World::the_world;

constexpr engine_host make_host(void (*sent)(const void *, size_t),
				__u64 (*late)(), __u64 (*paging)())
{
	return {engine::Uverbs::share,	  sent, engine::Uverbs::completed,
		engine::Uverbs::happened, late, paging};
}

World::World(fake::Kernel &kernel, const Plan &plan, const Limits &limits,
	     Evidence &evidence)
	: plan_(plan), limits_(limits), evidence_(evidence), uverbs_(kernel),
	  random_(plan.seed, 4),
	  network_(plan.seed, plan.links, limits,
		   [this](uint64_t number, const Bytes &packet) {
			   note_fault(number, packet);
		   })
{
	static engine_host host;

	the_world = this;
	host = make_host(sent, late, paging);
	engine_policy = {scramble(plan.seed), plan.quantum, plan.send_credits,
			 plan.read_credits};
	engine_gso = plan.super;
	for (unsigned i = 0; i < ENGINE_ADDRESSES; i++)
		engine_single[i] = plan.single[i / 2];
	engine_start(&host);
	objects_.emplace(plan);
	states_.resize(plan.connections.size());
	for (size_t i = 0; i < states_.size(); i++)
		for (unsigned peer = 0; peer < 2; peer++)
			by_qpn_[objects_->qps[i][peer]->qp_num] = {i, peer};
}

World::~World()
{
	the_world = nullptr;
}

void World::note_fault(uint64_t number, const Bytes &packet)
{
	const auto found = by_qpn_.find(qpn_of(packet));

	if (found != by_qpn_.end())
		states_[found->second.first].harm++;
	tell("packet {} has a fault", number);
	if (evidence_.count < Evidence::most)
		evidence_.faulty[evidence_.count++] = number;
}

/* Print what happens, for --trace. */
template <class... Args>
void World::tell(fmt::format_string<Args...> what, Args &&...args) const
{
	if (!limits_.trace)
		return;
	fmt::print("{:12} ", engine_now());
	fmt::print(what, std::forward<Args>(args)...);
	fmt::print("\n");
}

/* ------------------------------------------------- functions of the engine */

void World::sent(const void *packet, size_t size)
{
	const auto *bytes = static_cast<const uint8_t *>(packet);
	World &world = *the_world;
	const bool ip6 = bytes[0] >> 4 == 6;
	/* The last byte of the source's address. */
	const unsigned from = bytes[ip6 ? 23 : 15] == 3;

	world.outcome_.trace =
		scramble(world.outcome_.trace ^ size ^ engine_now() << 16);
	Bytes copy(bytes, bytes + size);

	world.tell("peer {} sends packet {}: {}", from, world.network_.sent(),
		   Shown{copy});
	world.network_.send(engine_now(), from, std::move(copy));
	world.arrive_while_busy();
}

/* Another CPU receives a packet while this one sends. */
void World::arrive_while_busy()
{
	const auto next = network_.next();

	if (nested_ || !next || *next > engine_now() + 1000 ||
	    !limits_.allows(Fault::backlog) || !random_.chance(plan_.nested))
		return;
	const Bytes packet = network_.take();

	tell("arrives meanwhile: {}", Shown{packet});
	touch(packet);
	nested_ = true;
	engine_backlog = random_.chance(plan_.full_backlog) ? full_backlog : 0;
	engine_receive(packet.data(), packet.size());
	engine_backlog = 0;
	nested_ = false;
	outcome_.faults[size_t(Fault::backlog)]++;
}

__u64 World::late()
{
	World &world = *the_world;

	if (!world.plan_.late_by || !world.limits_.allows(Fault::late))
		return 0;
	world.outcome_.faults[size_t(Fault::late)]++;
	return world.random_.below(world.plan_.late_by);
}

__u64 World::paging()
{
	return the_world->random_.below(the_world->plan_.paging_time);
}

bool World::pages_out()
{
	return the_world->random_.chance(300);
}

uint64_t World::counter(const char *name)
{
	__u64 value = 0;

	engine_counter(name, &value);
	return value;
}

/* --------------------------------------------------------------- processes */

void World::schedule(uint64_t after, std::function<void()> act)
{
	actions_.push({engine_now() + after, order_++, std::move(act)});
}

void World::begin()
{
	for (size_t i = 0; i < states_.size(); i++)
		for (unsigned from = 0; from < 2; from++) {
			schedule(0, [=, this] { receive_some(i, from); });
			schedule(0, [=, this] { send_some(i, from); });
		}
}

/* Post the next message of a flow, and those that are joined to it. */
void World::send_some(size_t connection, unsigned from)
{
	State &state = states_[connection];
	Line &line = objects_->lines[connection][from];
	FlowOracle &oracle = *line.oracle;
	const size_t first = oracle.posted();
	const size_t depth = plan_.connections[connection].depth;
	size_t count = 0;

	state.waits[from] = false;
	if (state.ended || oracle.failed() || first == oracle.size())
		return;
	while (first + count < oracle.size() &&
	       first + count - oracle.completed() < depth &&
	       (!count || oracle.message(first + count).joined))
		count++;
	if (!count) {
		state.waits[from] = true;
		return;
	}
	std::vector<uint64_t> &before = state.harm_before[from];
	const uint64_t now = state.harm + global_harm();

	before.resize(first + count, oracle.completed() < first ?
					     before[oracle.completed()] :
					     now);
	before_call();
	post_messages(line, first, count);
	after_call();
	if (oracle.posted() < oracle.size())
		schedule(oracle.message(oracle.posted()).pause,
			 [=, this] { send_some(connection, from); });
}

/* Receives of a shared queue are posted in any case, since other connections may need them. */
void World::receive_some(size_t connection, unsigned from)
{
	const Flow &flow = plan_.connections[connection].flows[from];
	Line &line = objects_->lines[connection][from];
	unsigned count = flow.receives_at_once;

	if (states_[connection].ended && !line.pool)
		return;
	for (; count && line.receives_posted < line.oracle->receives(); count--)
		post_receive(line);
	engine_settle();
	if (line.receives_posted < line.oracle->receives())
		schedule(flow.receive_pause,
			 [=, this] { receive_some(connection, from); });
}

/* A flow has failed: end both ends, as a process does. */
void World::end_soon(size_t connection)
{
	if (states_[connection].ending)
		return;
	states_[connection].ending = true;
	schedule(random_.below(100000), [=, this] {
		states_[connection].ended = true;
		for (auto &qp : objects_->qps[connection])
			end(qp.get());
	});
}

/* -------------------------------------------------------------- completions */

/*
 * Packets that were lost inside the machine, of any connection. A page fault whose works run late may
 * outlast all retries.
 */
uint64_t World::global_harm() const
{
	const uint64_t fault = plan_.late_by ? 8 : 1;

	return refused_ + counter("rx_drop_backlog") +
	       counter("tx_drop_no_memory") + counter("rx_drop_no_memory") +
	       fault * counter("odp_faults");
}

Excuse World::excuse(size_t connection, unsigned from, size_t message) const
{
	const State &state = states_[connection];
	const auto &history = state.harm_before[from];
	const uint64_t before = message < history.size() ? history[message] : 0;
	const FlowOracle &other = *objects_->lines[connection][1 - from].oracle;
	const FlowOracle &self = *objects_->lines[connection][from].oracle;

	return {state.ended || other.failed() || other.wrong_posted() ||
			self.failed(),
		unsigned(state.harm + global_harm() - before),
		state.harm + global_harm() > 0,
		unsigned(counter("tx_rnr_naks"))};
}

void World::take_sends(const Completion &done)
{
	const auto [connection, from] = by_qpn_.at(done.qpn);
	State &state = states_[connection];
	FlowOracle &oracle = *objects_->lines[connection][from].oracle;

	tell("connection {} flow {}: message {} ends, status {}", connection,
	     from, done.id, int(done.status));
	oracle.send_done(done, excuse(connection, from, done.id));
	if (done.status)
		end_soon(connection);
	if (state.waits[from]) {
		state.waits[from] = false;
		schedule(0, [connection, from, this] {
			send_some(connection, from);
		});
	}
}

void World::take_receive(const Completion &done, unsigned peer)
{
	const auto found = by_qpn_.find(done.qpn);

	if (found == by_qpn_.end() || found->second.second != peer)
		throw Failure("receive queue pair",
			      fmt::format("a receive of queue pair {}",
					  done.qpn));
	const size_t connection = found->second.first;
	Line &line = objects_->lines[connection][1 - peer];
	const uint8_t *slot =
		line.pool ?
			line.pool->slots->at(done.id * line.pool->slot_size) :
			nullptr;

	tell("connection {} flow {}: receive {} ends, status {}", connection,
	     1 - peer, done.id, int(done.status));
	line.oracle->receive_done(done, slot, excuse(connection, 1 - peer, 0));
}

/*
 * Receives that succeed come first, since their messages may complete in the same step, and those
 * that fail last, since the failed request is the reason.
 */
void World::take_completions()
{
	std::array<std::vector<Completion>, 2> receives;

	for (unsigned peer = 0; peer < 2; peer++) {
		receives[peer] = poll(objects_->peers[peer].recv_cq.get());
		for (const Completion &done : receives[peer])
			if (!done.status)
				take_receive(done, peer);
	}
	for (Peer &peer : objects_->peers)
		for (const Completion &done : poll(peer.send_cq.get()))
			take_sends(done);
	for (unsigned peer = 0; peer < 2; peer++)
		for (const Completion &done : receives[peer])
			if (done.status)
				take_receive(done, peer);
}

/* A packet may change the memory of its connection. */
void World::touch(const Bytes &packet)
{
	const auto found = by_qpn_.find(qpn_of(packet));

	if (found != by_qpn_.end())
		touched_.insert(found->second.first);
}

/* Timers bring pages, for packets of any connection. */
void World::check_touched()
{
	for (size_t i = 0; i < states_.size(); i++)
		if (touched_.count(i) || plan_.connections[i].on_demand)
			for (Line &line : objects_->lines[i])
				line.oracle->check();
	touched_.clear();
}

/* ------------------------------------------------------------------ events */

/* Faults of the machine come with each call of the engine. */
void World::before_call()
{
	if (limits_.allows(Fault::memory) && random_.chance(plan_.no_memory)) {
		tell("an allocation fails");
		engine_fail_allocation(unsigned(random_.between(1, 6)));
		refused_++;
		outcome_.faults[size_t(Fault::memory)]++;
	}
	if (limits_.allows(Fault::paging) && random_.chance(plan_.page_out)) {
		engine_page_out(pages_out);
		outcome_.faults[size_t(Fault::paging)]++;
	}
}

void World::after_call()
{
	engine_fail_allocation(0);
	take_completions();
	check_touched();
	if (++outcome_.events > events_most)
		throw Failure("no end", "the run does not end");
}

/* Let timers fire until then. */
void World::step_to(uint64_t time)
{
	do {
		before_call();
		engine_pass(time);
		after_call();
	} while (engine_now() < time &&
		 !(network_.next() && *network_.next() < time));
}

Outcome World::run()
{
	begin();
	for (;;) {
		const auto arrival = network_.next();
		const bool acts = !actions_.empty() &&
				  (!arrival || actions_.top().time <= *arrival);

		if (!acts && !arrival) {
			engine_settle();
			if (engine_idle())
				break;
			before_call();
			engine_pass(~0ull >> 2);
			after_call();
			continue;
		}
		const uint64_t time = acts ? actions_.top().time : *arrival;

		if (engine_now() < time) {
			step_to(time);
			continue;
		}
		if (acts) {
			const auto act = actions_.top().act;

			actions_.pop();
			act();
		} else {
			const Bytes packet = network_.take();

			tell("arrives: {}", Shown{packet});
			touch(packet);
			before_call();
			engine_receive(packet.data(), packet.size());
		}
		after_call();
	}
	finish();
	return outcome_;
}

/*
 * Where credits are limited, a request without AckReq waits for its ACK until the one behind it has a
 * credit, or the loss timer expires.
 */
void World::check_retransmits(uint64_t harm) const
{
	const bool limited = plan_.send_credits || plan_.read_credits;
	const uint64_t reasons =
		harm + outcome_.not_ready + (limited ? outcome_.messages : 0);

	if (outcome_.retransmits > reasons * again_most)
		throw Failure(
			"retransmits",
			fmt::format("{} packets were sent once more, for {} "
				    "faults and {} RNR NAKs",
				    outcome_.retransmits, harm,
				    outcome_.not_ready));
}

/* All is done: everything has to be at rest. */
void World::finish()
{
	uint64_t harm = global_harm();

	outcome_.time = engine_now();
	outcome_.packets = network_.sent();
	outcome_.retransmits = counter("tx_retransmits");
	outcome_.not_ready = counter("tx_rnr_naks");
	for (size_t i = 0; i < fault_count; i++)
		outcome_.faults[i] += network_.happened(Fault(i));
	for (size_t i = 0; i < states_.size(); i++) {
		harm += states_[i].harm;
		outcome_.failed += states_[i].ended;
		for (Line &line : objects_->lines[i]) {
			line.oracle->check_end(states_[i].ended);
			outcome_.messages += line.oracle->posted();
		}
	}
	if (engine_credits())
		throw Failure("credits",
			      fmt::format("{} credits are held at rest",
					  engine_credits()));
	check_retransmits(harm);
	objects_.reset();
	engine_close();
	engine_stop();
}

} // namespace

Outcome run_plan(fake::Kernel &kernel, const Plan &plan, const Limits &limits,
		 Evidence &evidence)
{
	const long before = engine_allocations();
	Outcome outcome;

	evidence.count = 0;
	auto world = std::make_unique<World>(kernel, plan, limits, evidence);

	try {
		outcome = world->run();
	} catch (...) {
		/* Objects of a run that has failed may not end as they should. */
		(void)world.release();
		throw;
	}
	world.reset();
	if (engine_allocations() != before)
		throw Failure("leak",
			      fmt::format("{} pieces of memory leaked",
					  engine_allocations() - before));
	return outcome;
}

} // namespace sim
