// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * windows.cpp - see windows.hpp.
 */
#include "windows.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>

#include <fmt/format.h>

#include "../common/pattern.h"
#include "../unit/rdma_world.h"
#include "../unit/striped_world.h"
#include "random.hpp"

namespace sim {

namespace {

/* Memory of each end is divided into places, of which an operation has one at either end. */
constexpr uint32_t place_size = 4096,
		   places = rdma_world::memory_size / place_size;
/* On several paths: sources in the lower half, targets in the upper one. */
constexpr uint32_t stripe_size = 400, stripe_targets = 8192;
/* Between two looks at all memory. */
constexpr uint32_t look_after = 16;
constexpr uint32_t steps_most = 4'000'000;
/* In which packets that are late may arrive. */
constexpr uint32_t steps_behind = 2000;

using Bytes = std::vector<uint8_t>;

struct Range {
	size_t from, size;
};

/* The bytes that an end's memory has to have. */
class Shadow {
public:
	Shadow(std::string name, Bytes &memory)
		: name_(std::move(name)), real_(memory)
	{
		own({0, real_.size()});
	}

	/* New bytes of the owner's, as no one else may have any before. */
	void own(Range range)
	{
		pattern_fill(&real_[range.from], range.size, next_++, 0);
		std::copy_n(&real_[range.from], range.size, bytes(range));
	}
	Bytes copy(Range range)
	{
		return {bytes(range), bytes(range) + range.size};
	}
	/* From now on an operation writes @data there. */
	void expect(Range range, Bytes data)
	{
		if (range.size)
			coming_[range.from] = std::move(data);
	}
	/* It says that it has. */
	std::string take(Range range);
	/* All other bytes are as they were. */
	std::string look() const;

private:
	uint8_t *bytes(Range range) { return &mine_[range.from]; }
	std::string look_at(size_t from, size_t to) const;
	size_t count_good(size_t at, const uint8_t *coming, size_t size) const;

	std::string name_;
	Bytes &real_;
	Bytes mine_ = Bytes(real_.size());
	std::map<size_t, Bytes> coming_;
	uint64_t next_ = 1;
};

std::string Shadow::take(Range range)
{
	const auto found = coming_.find(range.from);

	if (found == coming_.end())
		return {};
	const Bytes &data = found->second;
	const auto wrong = std::ranges::mismatch(
		data, std::span(&real_[range.from], range.size));

	if (wrong.in1 != data.end())
		return fmt::format(
			"{}: byte {} of {} is wrong although it is complete",
			name_, wrong.in1 - data.begin(), range.size);
	std::ranges::copy(data, bytes(range));
	coming_.erase(found);
	return {};
}

std::string Shadow::look_at(size_t from, size_t to) const
{
	if (!std::memcmp(&real_[from], &mine_[from], to - from))
		return {};
	while (real_[from] == mine_[from])
		from++;
	return fmt::format("{}: byte {} has changed, which no operation writes",
			   name_, from);
}

/* Of @size bytes from @at on: how many are in front of the first that is neither old nor new. */
size_t Shadow::count_good(size_t at, const uint8_t *coming, size_t size) const
{
	constexpr size_t block = 64;
	size_t i = 0;

	/* Most blocks are one or the other. */
	for (; i + block <= size; i += block)
		if (std::memcmp(&real_[at + i], &mine_[at + i], block) &&
		    std::memcmp(&real_[at + i], coming + i, block))
			break;
	while (i < size &&
	       (real_[at + i] == mine_[at + i] || real_[at + i] == coming[i]))
		i++;
	return i;
}

std::string Shadow::look() const
{
	size_t at = 0;

	for (const auto &[from, data] : coming_) {
		if (std::string wrong = look_at(at, from); !wrong.empty())
			return wrong;
		const size_t good = count_good(from, data.data(), data.size());

		if (good < data.size())
			return fmt::format("{}: byte {} is neither old nor new",
					   name_, from + good);
		at = from + data.size();
	}
	return look_at(at, real_.size());
}

/* ------------------------------------------------- two windows */

class PairRun {
public:
	explicit PairRun(const WindowPlan &plan);
	WindowOutcome run();

private:
	struct Flight {
		const WindowOperation &op;
		Range source, target;
		unsigned place_from, place_to;
		unsigned notified = 0, ended = 0;
	};

	Shadow &source_of(const WindowOperation &op)
	{
		return op.write ? a_ : b_;
	}
	Shadow &target_of(const WindowOperation &op)
	{
		return op.write ? b_ : a_;
	}
	static Range range(unsigned place, uint32_t offset, uint32_t length)
	{
		return {size_t(place) * place_size + offset, length};
	}

	void begin_next();
	void begin(Flight &flight);
	void end(const Flight &flight);
	void settle();
	void fail(const std::string &why)
	{
		if (outcome_.failure.empty())
			outcome_.failure = why;
	}

	const WindowPlan &plan_;
	rdma_world::Bench bench_;
	Shadow a_, b_;
	WindowOutcome outcome_;
	std::map<unsigned, Flight> flights_;
	/* Of sources, and of targets: free ones. */
	std::array<std::vector<unsigned>, 2> free_;
	size_t next_ = 0;
	uint32_t paused_ = 0;
};

PairRun::PairRun(const WindowPlan &plan)
	: plan_(plan), bench_(unsigned(plan.seed), plan.piece),
	  a_("end a", bench_.world.a.memory), b_("end b", bench_.world.b.memory)
{
	bench_.world.loss = plan.loss;
	bench_.world.repeats = plan.repeats;
	bench_.world.reorder = plan.reorder;
	bench_.world.slowness = plan.slowness;
	bench_.recovers = plan.recovers;
	bench_.arrived = [this](const pavo::RdmaArrival &arrival) {
		const auto found = flights_.find(arrival.tag);

		if (found == flights_.end())
			fail(fmt::format(
				"operation {}: an unexpected notification",
				arrival.tag));
		else
			found->second.notified++;
	};
	/* At both ends: even places are sources, odd ones targets. */
	for (unsigned place = 0; place < places; place++)
		free_[place % 2].push_back(place);
}

void PairRun::begin_next()
{
	if (next_ == plan_.operations.size() ||
	    paused_++ < plan_.operations[next_].pause || free_[0].empty() ||
	    free_[1].empty())
		return;
	const WindowOperation &op = plan_.operations[next_++];
	const unsigned from = free_[0].back(), to = free_[1].back();

	paused_ = 0;
	free_[0].pop_back();
	free_[1].pop_back();
	begin(flights_.emplace(op.number,
			       Flight{.op = op,
				      .source = range(from, op.from, op.length),
				      .target = range(to, op.to, op.length),
				      .place_from = from,
				      .place_to = to})
		      .first->second);
}

void PairRun::begin(Flight &flight)
{
	const WindowOperation &op = flight.op;
	const uint64_t source = flight.source.from, target = flight.target.from;

	target_of(op).expect(flight.target, source_of(op).copy(flight.source));
	const auto refused = bench_.engine.begin(
		common::direction_of(op.write), bench_.peer,
		{.local = {op.write ? source : target},
		 .remote = {op.write ? target : source},
		 .length = op.length,
		 .notify = op.notify,
		 .tag = op.number},
		[this, &flight](const pavo::Result<void> &how) {
			flight.ended++;
			if (!how.has_value())
				fail(fmt::format("operation {} fails: {}",
						 flight.op.number,
						 how.error().message()));
		},
		bench_.world.now);

	if (refused)
		fail(fmt::format("operation {} is refused: {}", op.number,
				 refused.message()));
}

/* Its memory is the owners' again: what still comes of it must not be seen. */
void PairRun::end(const Flight &flight)
{
	const WindowOperation &op = flight.op;

	if (flight.ended > 1)
		fail(fmt::format("operation {} ends twice", op.number));
	if (flight.notified != op.notify)
		fail(fmt::format("operation {}: {} notifications, not {}",
				 op.number, flight.notified,
				 unsigned(op.notify)));
	if (const std::string wrong = target_of(op).take(flight.target);
	    !wrong.empty())
		fail(fmt::format("operation {}, {}", op.number, wrong));
	source_of(op).own(flight.source);
	target_of(op).own(flight.target);
	free_[0].push_back(flight.place_from);
	free_[1].push_back(flight.place_to);
	outcome_.operations++;
	outcome_.bytes += op.length;
}

void PairRun::settle()
{
	std::erase_if(flights_, [this](const auto &entry) {
		if (!entry.second.ended)
			return false;
		end(entry.second);
		return true;
	});
	if (outcome_.steps % look_after)
		return;
	for (const Shadow *shadow : {&a_, &b_})
		if (const std::string wrong = shadow->look(); !wrong.empty())
			fail(wrong);
}

WindowOutcome PairRun::run()
{
	uint32_t behind = steps_behind;

	while (behind && outcome_.failure.empty()) {
		begin_next();
		bench_.step();
		settle();
		if (++outcome_.steps == steps_most)
			fail(fmt::format("{} operations do not end",
					 flights_.size()));
		if (flights_.empty() && next_ == plan_.operations.size())
			behind--;
	}
	if (outcome_.failure.empty() && bench_.engine.pending())
		fail("the engine waits for something");
	outcome_.repeated = bench_.engine.repeated();
	outcome_.recoveries =
		bench_.world.a.recoveries + bench_.world.b.recoveries;
	return outcome_;
}

/* ------------------------------------------------- several paths */

class StripedRun {
public:
	explicit StripedRun(const WindowPlan &plan);
	WindowOutcome run();

private:
	Range source(const WindowOperation &op) const
	{
		return {op.number * stripe_size + op.from, op.length};
	}
	Range target(const WindowOperation &op) const
	{
		return {stripe_targets + op.number * stripe_size + op.to,
			op.length};
	}
	/* Bytes go from end a to end b. */
	static bool is_from_a(const WindowOperation &op)
	{
		return op.write != op.by_b;
	}

	void begin_next();
	void die();
	void look();
	void check_end();
	void fail(const std::string &why)
	{
		if (outcome_.failure.empty())
			outcome_.failure = why;
	}

	const WindowPlan &plan_;
	striped::World world_;
	Shadow a_, b_;
	WindowOutcome outcome_;
	size_t next_ = 0;
	uint32_t paused_ = 0;
};

StripedRun::StripedRun(const WindowPlan &plan)
	: plan_(plan), world_(unsigned(plan.seed), plan.paths),
	  a_("end a", world_.a.memory), b_("end b", world_.b.memory)
{
	world_.loss = plan.loss;
	world_.repeats = plan.repeats;
	world_.reorder = plan.reorder;
}

void StripedRun::begin_next()
{
	if (next_ == plan_.operations.size() ||
	    paused_++ < plan_.operations[next_].pause)
		return;
	const WindowOperation &op = plan_.operations[next_++];
	Shadow &from = is_from_a(op) ? a_ : b_, &to = is_from_a(op) ? b_ : a_;
	striped::End &by = world_.end(op.by_b);

	paused_ = 0;
	to.expect(target(op), from.copy(source(op)));
	if (op.write)
		by.put(source(op).from, target(op).from, op.length, op.notify,
		       op.number);
	else
		by.get(source(op).from, target(op).from, op.length, op.notify,
		       op.number);
}

/* One of several paths: the others take over. */
void StripedRun::die()
{
	if (!plan_.death || outcome_.steps != plan_.death || plan_.paths < 2)
		return;
	world_.wires[plan_.seed % plan_.paths] =
		plan_.late ? striped::Wire::HELD : striped::Wire::CUT;
	outcome_.deaths++;
}

void StripedRun::look()
{
	for (const Shadow *shadow : {&a_, &b_})
		if (const std::string wrong = shadow->look(); !wrong.empty())
			fail(wrong);
}

void StripedRun::check_end()
{
	for (const WindowOperation &op : plan_.operations) {
		striped::End &by = world_.end(op.by_b),
			     &other = world_.end(!op.by_b);
		Shadow &to = is_from_a(op) ? b_ : a_;

		if (by.ended[op.number] != 1 || by.errors[op.number])
			fail(fmt::format("operation {} ends {} times: {}",
					 op.number, by.ended[op.number],
					 by.errors[op.number].message()));
		if (other.arrived[op.number] != op.notify)
			fail(fmt::format(
				"operation {}: {} notifications, not {}",
				op.number, other.arrived[op.number],
				unsigned(op.notify)));
		if (const std::string wrong = to.take(target(op));
		    !wrong.empty())
			fail(fmt::format("operation {}, {}", op.number, wrong));
		to.own(target(op));
		outcome_.operations++;
		outcome_.bytes += op.length;
	}
}

WindowOutcome StripedRun::run()
{
	do {
		begin_next();
		die();
		world_.step();
		if (outcome_.steps % look_after == 0)
			look();
		if (++outcome_.steps == steps_most)
			fail("operations do not end");
	} while (outcome_.failure.empty() &&
		 (next_ < plan_.operations.size() ||
		  world_.a.engine.pending() || world_.b.engine.pending()));
	if (!outcome_.failure.empty())
		return outcome_;
	check_end();
	/* Packets of a dead path come when all is over. */
	const auto arrived_a = world_.a.arrived, arrived_b = world_.b.arrived;

	world_.release();
	for (int i = 0; i < 300; i++)
		world_.step();
	look();
	if (world_.a.arrived != arrived_a || world_.b.arrived != arrived_b)
		fail("a notification comes twice");
	return outcome_;
}

/* ------------------------------------------------- plans */

WindowOperation make_operation(Random &random, unsigned number, bool striped)
{
	const uint32_t most = striped ? stripe_size - 4 : place_size - 64;
	const uint32_t length = random.chance(100) ?
					random.one_of<uint32_t>({0, 1, most}) :
					uint32_t(random.below(most));

	return {.number = number,
		.by_b = striped && random.chance(500),
		.write = random.chance(500),
		.notify = random.chance(400),
		.length = length,
		.from = uint32_t(random.below((striped ? 4 : 64))),
		.to = uint32_t(random.below((striped ? 4 : 64))),
		.pause = uint32_t(random.chance(700) ?
					  0 :
					  random.below(striped ? 100 : 2000))};
}

} // namespace

WindowPlan make_window_plan(uint64_t seed)
{
	Random random(seed, 0x77696e);
	const bool striped = random.chance(400);
	WindowPlan plan{
		.seed = seed,
		.striped = striped,
		.piece = random.one_of<uint32_t>({100, 300, 700, 1000, 4000}),
		.loss = random.chance(300) ?
				0 :
				uint32_t(random.below(striped ? 20 : 40)),
		.repeats = random.chance(400) ? 0 : uint32_t(random.below(40)),
		.reorder = random.chance(300) ? 0 : uint32_t(random.below(100)),
		.slowness = random.one_of<uint32_t>({1, 1, 2, 2, 4, 10}),
		.recovers = !striped && random.chance(400),
		.paths = uint32_t(random.between(1, 4)),
		.death = 0,
		.late = random.chance(500),
		.operations = {}};

	if (striped && random.chance(500))
		plan.death = uint32_t(random.between(1, 120));
	for (unsigned n = 0, most = unsigned(random.between(1, 12)); n < most;
	     n++)
		plan.operations.push_back(make_operation(random, n, striped));
	return plan;
}

std::string describe(const WindowPlan &plan)
{
	std::string text = fmt::format(
		"seed {}: {}, pieces of {}, of 100 packets {} lost, {} repeated, {} reordered; "
		"slowness {}{}{}\n",
		plan.seed,
		plan.striped ? fmt::format("{} paths", plan.paths) :
			       "two windows",
		plan.piece, plan.loss, plan.repeats, plan.reorder,
		plan.slowness, plan.recovers ? ", adapters recover" : "",
		plan.death ?
			fmt::format(", a path dies at step {}{}", plan.death,
				    plan.late ? ", and its packets come late" :
						"") :
			"");

	for (const WindowOperation &op : plan.operations)
		text += fmt::format(
			"  {}: end {} {} {} bytes, {} to {}{}, after {} steps\n",
			op.number, op.by_b ? 'b' : 'a',
			op.write ? "writes" : "reads", op.length, op.from,
			op.to, op.notify ? ", notifies" : "", op.pause);
	return text;
}

const std::vector<std::string> &window_troubles()
{
	static const std::vector<std::string> names{
		"loss", "repeats", "reorder", "recovery", "death"};

	return names;
}

void cut_down(WindowPlan &plan, const WindowLimits &limits)
{
	const auto drop = [&limits](const char *name, auto &value) {
		if (limits.without.contains(name))
			value = {};
	};

	drop("loss", plan.loss);
	drop("repeats", plan.repeats);
	drop("reorder", plan.reorder);
	drop("recovery", plan.recovers);
	drop("death", plan.death);
	if (limits.operations)
		std::erase_if(
			plan.operations, [&limits](const WindowOperation &op) {
				return !limits.operations->contains(op.number);
			});
}

WindowOutcome run(const WindowPlan &plan)
{
	return plan.striped ? StripedRun(plan).run() : PairRun(plan).run();
}

} // namespace sim
