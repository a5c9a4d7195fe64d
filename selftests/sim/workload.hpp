/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * workload.hpp - what a seed stands for: queue pairs, their messages, and the network between them.
 *
 * Two to eight queue pairs are one to four connections. Each connection has two flows of
 * messages, one from either end; one of XRC has the first alone.
 */
#ifndef PAVO_SIM_WORKLOAD_HPP
#define PAVO_SIM_WORKLOAD_HPP

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "network.hpp"

namespace sim {

enum class Op {
	send,
	send_imm,
	write,
	write_imm,
	read,
	cmp_swap,
	fetch_add,
	atomic_write,
	ext_fetch_add,
	ext_swap,
	ext_cmp_swap,
	imm64,
};

std::string_view name_of(Op op);

/* It takes a receive WQE. */
constexpr bool receives(Op op)
{
	return op == Op::send || op == Op::send_imm || op == Op::write_imm ||
	       op == Op::imm64;
}

/* Its data goes to the receive WQE's memory. */
constexpr bool is_send(Op op)
{
	return op == Op::send || op == Op::send_imm;
}

constexpr bool is_write(Op op)
{
	return op == Op::write || op == Op::write_imm;
}

/* It has an answer with the old value of a word. */
constexpr bool returns_value(Op op)
{
	return op == Op::cmp_swap || op == Op::fetch_add ||
	       op == Op::ext_fetch_add || op == Op::ext_swap ||
	       op == Op::ext_cmp_swap;
}

constexpr bool is_atomic(Op op)
{
	return returns_value(op) || op == Op::atomic_write;
}

constexpr bool is_extended(Op op)
{
	return op == Op::ext_fetch_add || op == Op::ext_swap ||
	       op == Op::ext_cmp_swap || op == Op::imm64;
}

/* Faults of a request that the peer has to refuse. It is the last one of its flow. */
enum class Wrong { no, key, bounds, alignment, too_long };

struct Message {
	unsigned number = 0; /* in all flows of the plan */
	Op op = Op::send;
	uint32_t length = 0;
	uint32_t offset = 0; /* in the peer's memory */
	uint64_t pause = 0; /* after the one before, ns */
	uint64_t operand = 0, compare = 0, mask = 0, compare_mask = 0;
	bool signaled = true, fence = false, solicited = false, inlined = false;
	bool joined = false; /* posted with the one before in one call */
	unsigned pieces = 1; /* scatter-gather entries */
	Wrong wrong = Wrong::no;
};

struct Flow {
	std::vector<Message> messages;
	/* Receive WQEs: how many are posted at once, and how long after the last time, ns. */
	unsigned receives_at_once = 1;
	uint64_t receive_pause = 0;
};

/* Memory of a flow at its target: words for atomics, then bytes for the rest. */
constexpr uint32_t word_bytes = 64, area_bytes = 6144;

enum class Service { rc, xrc };

struct Connection {
	Service service = Service::rc;
	bool ip6 = false, shared_receives = false, on_demand = false;
	bool marked = false; /* its packets can have ECN marks */
	int mtu = 1024;
	std::array<uint32_t, 2> psn = {}; /* first one, by sender */
	uint8_t timeout = 14, retries = 7, rnr_retries = 7, rnr_timer = 12;
	uint8_t reads = 4;
	uint8_t level = 0; /* service level */
	uint32_t depth = 16, receive_size = 0;
	std::array<Flow, 2> flows;
};

struct Plan {
	uint64_t seed = 0;
	Network::Links links;
	std::array<bool, 2> single = {}; /* the peer sends no super-packets */
	bool super = false; /* the other one does */
	std::array<bool, 2> sacks = {true, true}; /* the peer understands SACKs */
	uint32_t quantum = 512, send_credits = 0, read_credits = 0;
	/* Chances of 1000 for each event, and times in ns. */
	unsigned no_memory = 0, page_out = 0, nested = 0, full_backlog = 0;
	uint64_t late_by = 0, paging_time = 0;
	std::vector<Connection> connections;
};

Plan make_plan(uint64_t seed);
/* Without the messages that @limits leaves out. */
void cut_down(Plan &plan, const Limits &limits);
std::string describe(const Plan &plan);

} // namespace sim

#endif /* PAVO_SIM_WORKLOAD_HPP */
