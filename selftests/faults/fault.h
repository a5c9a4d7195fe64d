/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fault.h - a correct WQE, how it is spoiled, and what has to come of it.
 *
 * Used by wqe_faults.cpp and segment_faults.cpp, which are lists of these.
 */
#ifndef PAVO_FAULTS_FAULT_H
#define PAVO_FAULTS_FAULT_H

#include "cases.h"
#include "raw.h"

namespace faults {

/** A hostile post under construction. */
struct Attempt {
	Pair &pair;
	Wqe wqe;
	Doorbell doorbell;
	RawSq &sq;
	/* What has to live until the completion is here. */
	std::vector<std::shared_ptr<void>> kept = {};
};

struct Fault {
	std::string name;
	std::function<Wqe(Pair &)> base;
	std::function<void(Attempt &)> spoil;
	pavo_vendor_err vendor;
	/* What the other side says, for faults only it can see. */
	ibv_wc_status status = IBV_WC_SUCCESS;
};

/** The status that belongs to a reason, as the module documents it. */
ibv_wc_status status_of(pavo_vendor_err vendor);

/** Makes a case of @fault. */
void add_fault(Cases &cases, Hostile &hostile, Fault fault, QpSize size = {});

} // namespace faults

#endif /* PAVO_FAULTS_FAULT_H */
