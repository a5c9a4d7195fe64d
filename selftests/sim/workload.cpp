// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * workload.cpp - see workload.hpp.
 */
#include "workload.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "random.hpp"

namespace sim {

namespace {

constexpr uint64_t us = 1000, ms = 1000 * us;

constexpr std::string_view op_names[] = {
	"send",		 "send_imm", "write",	     "write_imm",
	"read",		 "cmp_swap", "fetch_add",    "atomic_write",
	"ext_fetch_add", "ext_swap", "ext_cmp_swap", "imm64",
};

/* How bad the network is. */
enum class Weather { clean, lossy, awful, odd };

/* Draws a plan. */
class Planner {
public:
	explicit Planner(uint64_t seed) : random_(seed) { plan_.seed = seed; }

	Plan make();

private:
	LinkPlan make_link();
	void make_machine();
	Connection make_connection();
	Flow make_flow(const Connection &connection, bool may_be_wrong);
	Message make_message(const Connection &connection);
	uint32_t make_length(int mtu, uint32_t most);
	void make_atomic(Message &message);
	void spoil(Message &message, const Connection &connection);
	unsigned some(unsigned of_1000, unsigned most);
	bool is_deaf() const;

	Random random_;
	Plan plan_;
	Weather weather_ = Weather::clean;
	bool long_ = false; /* few connections, long messages */
	unsigned messages_ = 0;
};

/* A chance up to @most that is there in @of_1000 cases. */
unsigned Planner::some(unsigned of_1000, unsigned most)
{
	return random_.chance(of_1000) ? unsigned(random_.between(1, most)) : 0;
}

LinkPlan Planner::make_link()
{
	LinkPlan link;

	link.delay =
		random_.one_of<uint64_t>({1 * us, 5 * us, 50 * us, 1 * ms});
	if (random_.chance(400))
		link.ns_per_kib =
			random_.one_of<uint64_t>({100, 1 * us, 8 * us});
	link.queue = 100000;
	if (weather_ == Weather::clean)
		return link;
	link.jitter = random_.chance(500) ? random_.below(2 * link.delay) + 1 :
					    0;
	link.reorder_by = link.delay * random_.between(1, 4);
	if (link.ns_per_kib && random_.chance(500)) {
		link.queue = unsigned(random_.between(4, 64));
		link.mark_at = random_.chance(500) ? link.queue / 2 : 0;
	}
	const unsigned worst = weather_ == Weather::awful ? 250 : 30;

	link.loss = some(500, worst);
	link.burst = some(300, worst / 3);
	link.burst_length = unsigned(random_.between(2, 12));
	link.corrupt = some(300, worst / 3);
	link.duplicate = some(300, worst);
	link.reorder = some(400, worst);
	if (random_.chance(weather_ == Weather::odd ? 400 : 50)) {
		link.cut_from = random_.below(2 * ms);
		link.cut_until = link.cut_from + random_.one_of<uint64_t>(
							 {50 * us, 1 * ms,
							  20 * ms, 10000 * ms});
	}
	return link;
}

void Planner::make_machine()
{
	plan_.super = random_.chance(500);
	plan_.single = {random_.chance(300), random_.chance(300)};
	if (random_.chance(350)) {
		plan_.quantum = uint32_t(random_.between(32, 128));
		plan_.send_credits = random_.chance(500) ?
					     uint32_t(random_.between(2, 64)) :
					     0;
		plan_.read_credits = random_.chance(500) ?
					     uint32_t(random_.between(1, 4)) :
					     0;
	}
	plan_.late_by = random_.chance(300) ? random_.between(1, 2 * ms) : 0;
	plan_.paging_time = random_.between(1, 200 * us);
	if (weather_ == Weather::clean)
		return;
	plan_.nested = some(300, 300);
	plan_.full_backlog = some(200, 300);
	plan_.no_memory = some(300, 30);
	plan_.page_out = some(300, 100);
}

bool Planner::is_deaf() const
{
	return plan_.links[0].deaf || plan_.links[1].deaf;
}

/* Lengths around multiples of the path MTU are more likely. */
uint32_t Planner::make_length(int mtu, uint32_t most)
{
	const uint32_t path = uint32_t(mtu);
	uint32_t length = 0;

	switch (random_.below(6)) {
	case 0:
		return uint32_t(random_.below(3));
	case 1:
		length = uint32_t(random_.between(1, 64));
		break;
	case 2:
		length = uint32_t(random_.between(1, most / path + 1)) * path;
		break;
	case 3:
		length = uint32_t(random_.between(1, 3)) * path +
			 uint32_t(random_.below(3)) - 1;
		break;
	default:
		length = uint32_t(random_.between(1, most));
	}
	return std::min(length, most);
}

void Planner::make_atomic(Message &m)
{
	m.length = 8;
	m.offset = uint32_t(random_.below(word_bytes / 8)) * 8;
	m.operand = random_.next();
	m.compare = random_.next();
	/* Half of the comparisons succeed: the oracle fills in the value (see Oracle). */
	m.compare_mask = random_.chance(500) ? ~0ull : random_.next();
	m.mask = random_.chance(300) ? 0 : random_.next();
}

Message Planner::make_message(const Connection &connection)
{
	const uint32_t most = long_ ? area_bytes - word_bytes : 3000;
	const bool deaf = is_deaf();
	Message m;

	m.number = messages_++;
	do {
		m.op = Op(random_.below(size_t(Op::imm64) + 1));
	} while (is_extended(m.op) && (deaf || random_.chance(500)));
	if (long_ && random_.chance(700))
		m.op = random_.one_of({Op::write, Op::read, Op::send});
	m.pause = random_.chance(600) ? 0 : random_.below(300 * us);
	m.joined = random_.chance(400);
	m.signaled = random_.chance(700);
	m.fence = random_.chance(150);
	m.solicited = random_.chance(200);
	if (is_atomic(m.op)) {
		make_atomic(m);
		return m;
	}
	if (m.op == Op::imm64) {
		m.operand = random_.next();
		return m;
	}
	m.length = make_length(connection.mtu, most);
	m.operand = random_.next(); /* immediate data */
	m.inlined = m.op != Op::read && m.length <= 64 && random_.chance(500);
	m.pieces = unsigned(random_.between(1, 3));
	if (!is_send(m.op))
		m.offset = word_bytes +
			   uint32_t(random_.below(area_bytes - word_bytes -
						  m.length + 1));
	return m;
}

/* Make a request one that the peer refuses. */
void Planner::spoil(Message &m, const Connection &connection)
{
	m.signaled = true;
	if (is_send(m.op) && !connection.shared_receives &&
	    connection.service == Service::rc) {
		m.length = connection.receive_size + 1;
		m.inlined = false;
		m.wrong = Wrong::too_long;
	} else if (is_atomic(m.op)) {
		m.wrong = random_.one_of({Wrong::key, Wrong::alignment});
	} else if ((is_write(m.op) || m.op == Op::read) && m.length) {
		m.wrong = random_.one_of({Wrong::key, Wrong::bounds});
	}
	if (m.wrong == Wrong::alignment)
		m.offset += 4;
	if (m.wrong == Wrong::bounds)
		m.offset =
			area_bytes - m.length + uint32_t(random_.between(1, 8));
}

Flow Planner::make_flow(const Connection &connection, bool may_be_wrong)
{
	const unsigned count = unsigned(random_.between(1, long_ ? 6 : 9));
	unsigned unsignaled = 0;
	Flow flow;

	flow.receives_at_once = unsigned(random_.between(1, 6));
	flow.receive_pause = random_.chance(500) ? 0 : random_.below(1 * ms);
	for (unsigned i = 0; i < count; i++) {
		Message m = make_message(connection);

		/* Space in the queue comes back with a completion. */
		if (!m.signaled && ++unsignaled >= connection.depth / 2)
			m.signaled = true;
		if (m.signaled)
			unsignaled = 0;
		flow.messages.push_back(m);
	}
	Message &last = flow.messages.back();

	if (is_deaf() && random_.chance(300)) {
		const unsigned number = last.number;

		last = {};
		last.number = number;
		last.op = random_.one_of({Op::ext_swap, Op::imm64});
		make_atomic(last);
		if (last.op == Op::imm64)
			last.length = 0;
	} else if (may_be_wrong) {
		spoil(last, connection);
	}
	last.signaled = true;
	return flow;
}

/*
 * Code of a timeout that no packet exceeds which is not lost (4.096 us * 2^code), and no pause of a
 * side that had no memory.
 */
uint8_t timeout_for(const Plan &plan, uint64_t more)
{
	const uint64_t round =
		plan.links[0].longest() + plan.links[1].longest() + more;
	uint8_t code = 1;

	while (4096ull << code <
	       2 * round + 100 * us + (plan.no_memory ? 2 * ms : 0))
		code++;
	return code;
}

Connection Planner::make_connection()
{
	Connection c;

	c.service = random_.chance(150) ? Service::xrc : Service::rc;
	c.ip6 = random_.chance(300);
	c.shared_receives = c.service == Service::rc && random_.chance(250);
	c.on_demand = random_.chance(200);
	c.marked = random_.chance(500);
	c.mtu = random_.one_of({256, 256, 512, 1024, 2048, 4096});
	for (uint32_t &psn : c.psn)
		psn = random_.chance(300) ?
			      0xffffff - uint32_t(random_.below(40)) :
			      uint32_t(random_.below(0x1000000));
	/* Lossless queues of a slow link may hold a cwnd of each flow. */
	c.timeout = timeout_for(plan_, 64 * ms *
					       (plan_.links[0].ns_per_kib +
						plan_.links[1].ns_per_kib) /
					       (8 * us));
	c.retries = random_.chance(800) ? 7 : uint8_t(random_.between(1, 7));
	c.rnr_retries = random_.chance(850) ? 7 : uint8_t(random_.below(7));
	c.rnr_timer = uint8_t(random_.between(1, 12));
	c.reads = uint8_t(random_.one_of({1, 1, 2, 3, 8}));
	c.level = uint8_t(random_.below(8));
	c.depth = random_.one_of({4u, 8u, 16u, 64u});
	c.receive_size = long_ ? area_bytes : 3000;
	for (unsigned i = 0; i < (c.service == Service::xrc ? 1u : 2u); i++)
		c.flows[i] = make_flow(c, random_.chance(60));
	return c;
}

Plan Planner::make()
{
	weather_ =
		random_.one_of({Weather::clean, Weather::lossy, Weather::lossy,
				Weather::lossy, Weather::awful, Weather::odd});
	long_ = random_.chance(150);
	for (LinkPlan &link : plan_.links)
		link = make_link();
	if (weather_ == Weather::odd && random_.chance(300))
		plan_.links[random_.below(2)].deaf = true;
	make_machine();
	plan_.sacks = {random_.chance(850), random_.chance(850)};
	const unsigned count =
		long_ ? 1 : random_.one_of({1u, 1u, 1u, 2u, 2u, 2u, 3u, 4u});

	for (unsigned i = 0; i < count; i++)
		plan_.connections.push_back(make_connection());
	return std::move(plan_);
}

} // namespace

std::string_view name_of(Op op)
{
	return op_names[size_t(op)];
}

Plan make_plan(uint64_t seed)
{
	return Planner(seed).make();
}

void cut_down(Plan &plan, const Limits &limits)
{
	for (Connection &connection : plan.connections)
		for (Flow &flow : connection.flows) {
			if (limits.messages)
				std::erase_if(
					flow.messages, [&](const Message &m) {
						return !limits.messages->count(
							m.number);
					});
			/* The end of a flow shows in its last completion. */
			if (!flow.messages.empty())
				flow.messages.back().signaled = true;
		}
	for (LinkPlan &link : plan.links)
		link.deaf = link.deaf && limits.allows(Fault::deaf);
}

std::string describe(const Plan &plan)
{
	std::string text = fmt::format("seed {}\n", plan.seed);
	const auto out = std::back_inserter(text);

	for (size_t from = 0; from < plan.links.size(); from++) {
		const LinkPlan &l = plan.links[from];

		fmt::format_to(
			out,
			"link {}: delay {} jitter {} ns/KiB {} queue {} mark {} loss {} "
			"burst {}x{} corrupt {} duplicate {} reorder {} by {} cut {}..{}{}\n",
			from, l.delay, l.jitter, l.ns_per_kib, l.queue,
			l.mark_at, l.loss, l.burst, l.burst_length, l.corrupt,
			l.duplicate, l.reorder, l.reorder_by, l.cut_from,
			l.cut_until, l.deaf ? " deaf" : "");
	}
	fmt::format_to(
		out,
		"super {} single {} {} sacks {} {} quantum {} credits {} {} late {} "
		"no memory {} page out {} nested {} full backlog {}\n",
		plan.super, plan.single[0], plan.single[1], plan.sacks[0],
		plan.sacks[1], plan.quantum, plan.send_credits,
		plan.read_credits, plan.late_by, plan.no_memory, plan.page_out,
		plan.nested, plan.full_backlog);
	for (size_t i = 0; i < plan.connections.size(); i++) {
		const Connection &c = plan.connections[i];

		fmt::format_to(
			out,
			"connection {}: {} mtu {} timeout {} retries {} rnr {} {} "
			"reads {} depth {}{}{}{}\n",
			i, c.service == Service::xrc ? "XRC" : "RC", c.mtu,
			c.timeout, c.retries, c.rnr_retries, c.rnr_timer,
			c.reads, c.depth, c.ip6 ? " ip6" : "",
			c.shared_receives ? " srq" : "",
			c.on_demand ? " odp" : "");
		for (size_t f = 0; f < c.flows.size(); f++)
			for (const Message &m : c.flows[f].messages)
				fmt::format_to(
					out,
					"  flow {}: message {} {} length {} at {}{}{}{}{}\n",
					f, m.number, name_of(m.op), m.length,
					m.offset, m.signaled ? " signaled" : "",
					m.fence ? " fence" : "",
					m.inlined ? " inline" : "",
					m.wrong != Wrong::no ? " wrong" : "");
	}
	return text;
}

} // namespace sim
