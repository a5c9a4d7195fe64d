/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cases.h - the lists of hostile tests, one function per file of them.
 *
 * Called by main.cpp. Each appends its cases; a case makes its own QPs on the
 * hostile devices and ends with the testimony of the witness.
 *
 * A call that only has to end with an errno is a program of callfuzz (?ERRNO in its corpus). The
 * cases here say what no program can: status and vendor code of each completion, the state of the
 * queue pair, counters, events, and bytes that were written or were not.
 */
#ifndef PAVO_FAULTS_CASES_H
#define PAVO_FAULTS_CASES_H

#include "../common/cases.h"
#include "ends.h"

namespace faults {

/** The devices as opened for misbehaving, apart from the witness's. */
struct Hostile {
	World world;
	Device a, b;

	explicit Hostile(const World &world)
		: world(world), a(world.name_a), b(world.name_b)
	{
	}
};

/** The cases of all files, with the devices that they misuse. */
struct Faults {
	Hostile &hostile;
	common::Cases cases = {};

	/** A case that calls @test with the devices and @args. */
	template <class Test, class... Args>
	void add(const std::string &name, Test test, Args... args)
	{
		cases.push_back({name, [=, &hostile = hostile] {
					 test(hostile, args...);
				 }});
	}
};

void add_wqe_faults(Faults &faults);
void add_segment_faults(Faults &faults);
void add_key_faults(Faults &faults);
void add_ring_faults(Faults &faults);
void add_chain_faults(Faults &faults);
void add_doorbell_faults(Faults &faults);
void add_direct_faults(Faults &faults);
void add_queue_faults(Faults &faults);
void add_datagram_faults(Faults &faults);
void add_xrc_faults(Faults &faults);
void add_mmap_faults(Faults &faults);
void add_fuzz(Faults &faults);

/** Fails unless counter @name of @device comes to exceed @before in time. */
void expect_counted(const Device &device, const std::string &name,
		    uint64_t before);

} // namespace faults

#endif /* PAVO_FAULTS_CASES_H */
