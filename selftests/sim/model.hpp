/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * model.hpp - all schedules of a small network with at most so many faults.
 *
 * Of the packets under way in each direction the oldest may be the next to arrive. A fault is that
 * another one overtakes it, that a packet arrives and stays under way, that one is lost, or that a timer
 * fires while packets are under way.
 *
 * A run is a list of such steps from the beginning, and the steps alone decide on its state. So the
 * model goes back to a state by another run. It tells states apart by all that decides on the rest
 * of a run, and goes once through each.
 */
#ifndef PAVO_SIM_MODEL_HPP
#define PAVO_SIM_MODEL_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "../provider/fake_uverbs.h"
#include "workload.hpp"

namespace sim {

struct Step {
	enum class Kind { arrive, repeat, lose, fire } kind = Kind::fire;
	unsigned packet = 0; /* its place among those under way */
};
using Schedule = std::vector<Step>;

/* As "a0 l1 f": arrive, repeat (r), lose, fire. */
std::string print(const Schedule &schedule);
/* Throws std::invalid_argument. */
Schedule parse_schedule(const std::string &text);

struct Explored {
	uint64_t states = 0, steps = 0;
	uint64_t known = 0; /* steps to a state that was seen before */
	uint64_t ends = 0; /* states in which all is at rest */
	uint64_t runs = 0; /* from the beginning */
	size_t longest = 0; /* steps of a schedule */
};

/*
 * Go through all schedules of a plan. Throws Failure. @at: the present schedule, that which has failed
 * then.
 */
Explored explore(fake::Kernel &kernel, const Plan &plan, unsigned faults,
		 Schedule &at);

/* Run one schedule and print what happens. Throws Failure. */
void replay(fake::Kernel &kernel, const Plan &plan, const Schedule &schedule);

} // namespace sim

#endif /* PAVO_SIM_MODEL_HPP */
