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
	/* Objects that have to live until the completion is here. */
	std::vector<std::shared_ptr<void>> kept = {};
};

/** The status that belongs to a reason, as the module documents it. */
ibv_wc_status status_of(pavo_vendor_err vendor);

/**
 * A case that posts the WQE of @base when @spoil has changed it. @status: what the other
 * side says, for faults only it can see; else it follows from @vendor.
 */
void add_fault(Faults &faults, const std::string &name,
	       std::function<Wqe(Pair &)> base, pavo_vendor_err vendor,
	       std::function<void(Attempt &)> spoil,
	       ibv_wc_status status = IBV_WC_SUCCESS, QpSize size = {});

} // namespace faults

#endif /* PAVO_FAULTS_FAULT_H */
