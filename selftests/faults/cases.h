/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cases.h - the lists of hostile tests, one function per file of them.
 *
 * Called by main.cpp. Each appends its cases; a case makes its own QPs on the
 * hostile devices and ends with the testimony of the witness.
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

using common::Cases;

void add_wqe_faults(Cases &cases, Hostile &hostile);
void add_segment_faults(Cases &cases, Hostile &hostile);
void add_key_faults(Cases &cases, Hostile &hostile);
void add_ring_faults(Cases &cases, Hostile &hostile);
void add_chain_faults(Cases &cases, Hostile &hostile);
void add_doorbell_faults(Cases &cases, Hostile &hostile);
void add_queue_faults(Cases &cases, Hostile &hostile);
void add_datagram_faults(Cases &cases, Hostile &hostile);
void add_xrc_faults(Cases &cases, Hostile &hostile);
void add_mmap_faults(Cases &cases, Hostile &hostile);
void add_fuzz(Cases &cases, Hostile &hostile);

/** Fails unless counter @name of @device comes to exceed @before in time. */
void expect_counted(const Device &device, const std::string &name,
		    uint64_t before);

} // namespace faults

#endif /* PAVO_FAULTS_CASES_H */
