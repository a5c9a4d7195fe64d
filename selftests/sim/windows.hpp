/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * windows.hpp - the engines of windows on a bad network, from one seed: exactly-once RDMA between two
 * windows, and over several paths (libpavo), on the module's own state machine of operations.
 *
 * Owns: what a seed stands for, one run, and what has to be true in it. The ends and their network are
 * those of the unit tests (../unit/rdma_world.h, striped_world.h).
 */
#ifndef PAVO_SIM_WINDOWS_HPP
#define PAVO_SIM_WINDOWS_HPP

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sim {

/* A write or read between two memories, which one end begins. */
struct WindowOperation {
	unsigned number;
	bool by_b; /* on several paths both ends begin some */
	bool write;
	bool notify; /* the other end gets its number when all is there */
	uint32_t length;
	uint32_t from, to; /* offsets in its place at source and target */
	uint32_t pause; /* steps since the one before was begun */
};

struct WindowPlan {
	uint64_t seed;
	bool striped;
	uint32_t piece; /* most bytes of a request */
	/* Of 100 packets. */
	uint32_t loss, repeats, reorder;
	uint32_t slowness; /* steps between packets of an operation */
	bool recovers; /* adapters forget all contexts now and then */
	uint32_t paths;
	/* A path dies at that step, with what is on it or before that comes late; 0: none does. */
	uint32_t death;
	bool late;
	std::vector<WindowOperation> operations;
};

WindowPlan make_window_plan(uint64_t seed);
std::string describe(const WindowPlan &plan);

/* Parts of a plan: a failure may need no more. */
struct WindowLimits {
	std::optional<std::set<unsigned>> operations; /* none other */
	std::set<std::string> without; /* loss repeats reorder recovery death */
};

/* Names that @without may have. */
const std::vector<std::string> &window_troubles();
void cut_down(WindowPlan &plan, const WindowLimits &limits);

struct WindowOutcome {
	std::string failure; /* empty: all was as it has to be */
	uint64_t operations = 0, bytes = 0, steps = 0;
	uint64_t repeated = 0; /* requests that were sent again */
	uint64_t recoveries = 0, deaths = 0;
};

/*
 * Run it. Failures of EXPECT in the ends are for the caller: testing::TestEventListener.
 */
WindowOutcome run(const WindowPlan &plan);

} // namespace sim

#endif /* PAVO_SIM_WINDOWS_HPP */
