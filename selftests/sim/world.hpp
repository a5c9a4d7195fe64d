/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * world.hpp - one run of a plan: the engine's adapter as both peers, with the provider and libibverbs
 * above it and the simulated network below, and the oracle beside.
 */
#ifndef PAVO_SIM_WORLD_HPP
#define PAVO_SIM_WORLD_HPP

#include <array>
#include <cstdint>

#include "../provider/fake_uverbs.h"
#include "workload.hpp"

namespace sim {

/* Counts of a run. */
struct Outcome {
	uint64_t packets = 0, events = 0,
		 time = 0; /* ns of the engine's clock */
	uint64_t messages = 0, retransmits = 0, not_ready = 0;
	unsigned failed =
		0; /* connections that ended in an error, as they had to */
	std::array<unsigned, fault_count> faults = {};
	uint64_t trace = 0; /* of all packets: equal for equal runs */
};

/* Packets that had faults, by number. It is in memory that outlives a run that crashes. */
struct Evidence {
	static constexpr size_t most = 4096;
	size_t count;
	uint64_t faulty[most];
};

/* Throws Failure, and leaves the engine in ruins then. */
Outcome run_plan(fake::Kernel &kernel, const Plan &plan, const Limits &limits,
		 Evidence &evidence);

} // namespace sim

#endif /* PAVO_SIM_WORLD_HPP */
